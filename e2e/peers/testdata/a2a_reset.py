"""Reads turns whose text is taken back, with a2a-sdk, as a client would. Prints what held, a line each.

    a2a_reset.py BASE CARD_PATH BINDING VERSION KEPT INPUT...

The SDK itself puts the pieces of the artifact together. What it has in the end must be what the
turn's own end says, what the task says later (where it is KEPT, yes or no), and what a client has that joined in the middle.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.server.tasks.task_manager import append_artifact_to_task
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors

BASE, PATH, BINDING, VERSION, KEPT = sys.argv[1:6]
INPUTS = sys.argv[6:]
EXTENSION = 'urn:sluice:events:v1'


def message(text):
    return pb.SendMessageRequest(message=pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)]))


def text_of(task):
    return ''.join(p.text for a in task.artifacts for p in a.parts)


async def client(http, card, **more):
    chosen = pb.AgentCard()
    chosen.CopyFrom(card)
    del chosen.supported_interfaces[:]
    chosen.supported_interfaces.extend(
        i for i in card.supported_interfaces if i.protocol_binding == BINDING and i.protocol_version == VERSION)
    return ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING], **more)).create(chosen)


class Read:
    """What a stream has come to."""

    def __init__(self):
        self.task, self.longest, self.begun, self.final = None, 0, 0, None

    def take(self, ev):
        kind = ev.WhichOneof('payload')
        if kind == 'task':
            self.task = ev.task
        elif kind == 'artifact_update':
            self.begun += not ev.artifact_update.append
            append_artifact_to_task(self.task, ev.artifact_update)
        else:
            self.task.status.CopyFrom(ev.status_update.status)
            for event in ([ev.status_update.metadata[EXTENSION]] if EXTENSION in ev.status_update.metadata else []):
                if event['event'] == 'done':
                    self.final = event['data']['final_output']
        self.longest = max(self.longest, len(text_of(self.task)))


async def read(events, meanwhile=None):
    """Reads a stream to its end; meanwhile begins something else once it has text."""
    seen, begun = Read(), None
    async for ev in events:
        seen.take(ev)
        if meanwhile and seen.longest and not begun:
            begun = asyncio.create_task(meanwhile(seen.task.id))
    return await begun if begun else seen


async def followed(streaming, text):
    """Joins a turn in its middle. On a busy machine it may have ended before: then another one."""
    for _ in range(20):
        try:
            return await read(streaming.send_message(message(text)), lambda task: read(streaming.subscribe(pb.SubscribeToTaskRequest(id=task))))
        except (errors.TaskNotFoundError, errors.UnsupportedOperationError):
            continue
    raise AssertionError('no task was still running')


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, BASE, agent_card_path=PATH).get_agent_card()
        plain, streaming = await client(http, card, streaming=False), await client(http, card)
        context = ClientCallContext(service_parameters={'A2A-Extensions': EXTENSION, 'X-A2A-Extensions': EXTENSION})
        for text in INPUTS:
            told = await read(streaming.send_message(message(text), context=context))
            assert told.task.status.state == pb.TASK_STATE_COMPLETED, told.task
            assert told.begun >= 2, f'{text}: nothing was taken back'
            assert told.final and text_of(told.task) == told.final, (text_of(told.task), told.final)
            if KEPT == 'yes':
                got = await plain.get_task(pb.GetTaskRequest(id=told.task.id))
                assert text_of(got) == told.final, got
            sent = await read(plain.send_message(message(text)))
            assert text_of(sent.task) == told.final, sent.task
            rest = await followed(streaming, text)
            assert rest.task.status.state == pb.TASK_STATE_COMPLETED and text_of(rest.task) == told.final, rest.task
            print(told.final, flush=True)


asyncio.run(main())
