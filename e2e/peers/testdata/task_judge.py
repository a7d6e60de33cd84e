"""Reads a task from Redis as another program would, and writes one, without a line of ours.

    task_judge.py SOCKET PREFIX TASK

Python's standard library is all that it uses. It checks the members that are documented,
and prints the id of a task that it has written by hand, in the form of a program that names
members in its own case and writes numbers as strings.
"""

import json
import re
import socket
import sys

SOCKET, PREFIX, TASK = sys.argv[1:4]


class Redis:
    """As much of the protocol as is needed here."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile('rb')

    def __call__(self, *words):
        out = b'*%d\r\n' % len(words)
        for word in words:
            word = word.encode() if isinstance(word, str) else word
            out += b'$%d\r\n%s\r\n' % (len(word), word)
        self.socket.sendall(out)
        return self.read()

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind in b'+:':
            return rest.decode()
        if kind == b'$':
            return None if rest == b'-1' else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b'*':
            return [self.read() for _ in range(int(rest))]
        raise RuntimeError(line)


redis = Redis(SOCKET)
task = json.loads(redis('GET', f'{PREFIX}task:{TASK}'))
assert task['id'] == TASK and re.fullmatch('task_[0-9a-z]{26}', TASK), task
assert task['sessionId'] == task['contextId'] == 'conv_1', task
STAMP = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z'
assert task['status']['state'] == 'completed' and re.fullmatch(STAMP, task['status']['timestamp']), task['status']
user, assistant = task['history']
assert user['role'] == 'user' and user['content'] == 'Play some jazz' and user['messageId'], user
assert assistant['role'] == 'assistant' and assistant['content'] and assistant['agentId'] == 'music-agent', assistant
assert all(re.fullmatch(STAMP, m['timestamp']) for m in task['history']), task['history']
def text(part, name):
    """A text that a message has as well stands there alone, and elsewhere names it."""
    there = part.get('elsewhere', {}).get('message')
    return part[name] if there is None else next(m['content'] for m in task['history'] if m['messageId'] == there)


[artifact] = task['artifacts']
assert artifact['artifactId'] and [text(p, 'text') for p in artifact['parts']] == [assistant['content']], artifact
meta = task['metadata']
assert meta['agentSelections'] == ['music-agent'] and 0 <= meta['routingConfidence'] <= 1, meta
assert meta['routing']['agentId'] == 'music-agent' and meta['routing']['confidence'] == meta['routingConfidence'] and meta['routing']['reasoning'], meta
[response] = meta['agentResponses']
assert response['agentId'] == 'music-agent' and text(response, 'content') == assistant['content'], response
assert response['success'] is True and response['executionTimeMs'] >= 0, response
assert meta['room'] == 'kitchen' and len(meta['turns']) == 1, meta
assert 'null' not in json.dumps(task), task
assert 0 < int(redis('PTTL', f'{PREFIX}task:{TASK}')) <= 24 * 3600 * 1000
owner = redis('HMGET', f'{PREFIX}sluice:task:{TASK}', 'owner', 'state', 'user', 'conversation', 'turn', 'version')
assert owner[:4] == ['', 'completed', 'ann', 'conv_1'] and owner[4] == meta['turns'][0] and int(owner[5]) >= 2, owner
entries = redis('XRANGE', f'{PREFIX}sluice:log:{owner[4]}', '-', '+')
assert entries and all(re.fullmatch(r'\d+-0', e[0]) for e in entries), entries

HAND = 'task_' + 'a' * 26
redis('SET', f'{PREFIX}task:{HAND}', json.dumps({
    'Id': HAND, 'SessionId': 'session-7', 'ContextId': None,
    'Status': {'State': 'completed', 'Message': None, 'Timestamp': '2026-01-02T03:04:05Z'},
    'History': [{'Role': 'user', 'Content': 'Dim the lights', 'Timestamp': '2026-01-02T03:04:00Z'}, {'Role': 'assistant', 'Content': 'Done.', 'AgentId': 'light-agent'}],
    'Artifacts': [{'ArtifactId': 'a1', 'Name': 'answer', 'Parts': [{'Text': 'Done.'}]}],
    'Metadata': {'AgentSelections': ['light-agent'], 'RoutingConfidence': '0.85', 'AgentResponses': [
        {'AgentId': 'light-agent', 'Content': 'Done.', 'Success': True, 'ErrorMessage': None, 'ExecutionTimeMs': '120'}], 'Tier': 'gold'},
}))
print(HAND)
