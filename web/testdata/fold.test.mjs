import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const { walk } = await import('../model/tree.js');
const { Fold } = await import('../model/fold.js');
const { Parser } = await import('../wire/sse.js');

const here = new URL('.', import.meta.url);

/** The events of a recorded stream. */
const eventsOf = (stream) => new Parser().push(stream).map(({ id, event, data }) => ({ id, event, data: JSON.parse(data) }));

/** A fold of events, each [event, data], or { id, event, data }. */
function folded(events) {
  const fold = new Fold();
  for (const e of events) fold.add(Array.isArray(e) ? { event: e[0], data: e[1] } : e);
  return fold;
}

/** What a branch is, without what is the same everywhere. */
function shown(of) {
  const parts = of.parts.map((p) => {
    switch (p.kind) {
      case 'text': return `${p.role || (p.copy ? 'copy' : 'text')}: ${p.text}`;
      case 'thoughts': return `thoughts: ${p.text}`;
      case 'tool': return `${p.agent ? 'sub-agent' : 'tool'} ${p.call.tool_name} ${p.call.status}${p.lost ? ' lost' : ''}${p.notice ? ' explained' : ''}`;
      case 'fault': return `fault ${p.fault.error_type}`;
      case 'fork': return p.branches.map(shown);
      default: return p.kind;
    }
  });
  return { [`${of.kind} ${of.name} ${of.state}`.trim()]: parts };
}

const turnOf = (events) => shown(folded(events).turn)['turn  running'];

/** All texts of the answer. */
const answerOf = ({ turn }) => turn.parts.filter((p) => p.kind === 'text').map((p) => p.text).join('\n');

const transcripts = new URL('../../testdata/transcripts/', here);
const golden = readdirSync(transcripts).map((name) => [name, / want\.sse --\n([\s\S]*?)(?=\n-- |$)/.exec(readFileSync(new URL(name, transcripts), 'utf8'))?.[1] ?? ''])
  .filter(([, stream]) => /^event: done$/m.test(stream)).map(([name, stream]) => [name, eventsOf(`${stream}\n\n`)]);
const research = eventsOf(readFileSync(new URL('research.sse', here), 'utf8'));

const flat = (s) => s.replace(/\s+/g, ' ').trim();

test('of each golden transcript the answer is the one of its done, and each call has one part', () => {
  assert.ok(golden.length > 60, `${golden.length} transcripts`);
  for (const [name, events] of golden) {
    const fold = folded(events);
    const done = events.at(-1).data;
    fold.end(done.success ? 'done' : 'failed', done.quality);
    const messages = events.some((e) => e.event === 'channel_message');
    assert.equal(flat(answerOf(fold)), messages ? '' : flat(done.final_output), name);
    const all = [...walk(fold.turn)].flatMap((b) => b.parts);
    const calls = new Set(events.filter((e) => e.event === 'tool_call').map((e) => e.data.call_id));
    assert.equal(all.filter((p) => p.kind === 'tool').length, calls.size, `${name}: calls`);
    assert.equal(all.filter((p) => p.kind === 'message').length, events.filter((e) => e.event === 'channel_message').length, `${name}: messages`);
    assert.equal(all.filter((p) => p.kind === 'approval').length, events.filter((e) => e.event === 'approval').length, `${name}: questions`);
    for (const b of walk(fold.turn)) if (b !== fold.turn) assert.ok(!['next', 'running', 'retrying'].includes(b.state), `${name}: ${b.name} ${b.state}`);
  }
});

test('events that come twice, late, unknown or from elsewhere change nothing', () => {
  for (const [name, events] of [...golden, ['research', research]]) {
    if (new Set(events.map((e) => e.id)).size < events.length) continue; // drafts have no number
    const noisy = events.flatMap((e, i) => [e, e, events[Math.max(0, i - 3)], { ...e, id: e.id, event: 'news' },
      { id: `turn_other:${i + 1000}`, event: 'response_delta', data: { delta: 'of another turn' } }, { id: '', event: 'constructor', data: {} }, { id: '', event: 'start', data: null }]);
    assert.deepEqual(shown(folded(noisy).turn), shown(folded(events).turn), name);
  }
});

test('a run of a workflow is a graph, and a block for each node and sub-agent, whole', () => {
  const { turn } = folded(research);
  const [graph, ...parts] = turn.parts;
  assert.equal(graph.kind, 'graph');
  assert.deepEqual(parts.map((p) => (p.kind === 'fork' ? p.branches.map((b) => `${b.name} ${b.state}`) : p.kind)),
    [['question done'], ['facts done', 'doubts done', 'todos done'], ['report done'], 'text']);
  for (const b of walk(turn)) {
    if (b.kind === 'delegate') assert.equal(b.name, 'librarian');
    if (b.kind === 'delegate') assert.match(b.parts[0].text, /^The demo has no library\. On “.*” one would take a textbook and a recent survey\.$/);
    if (b.kind === 'delegate') assert.match(b.task, /^Which sources are there on this: .*/);
    if (b.name === 'facts' || b.name === 'doubts') {
      assert.deepEqual(b.parts.map((p) => p.kind), ['tool', 'fork', 'text']);
      assert.equal(b.parts[0].agent, true);
      assert.match(b.parts[2].text, new RegExp(`^Notes on “What is ${b.name === 'facts' ? 'known' : 'unsure'} about.*recent survey\\.$`, 's'));
    }
    if (b.name === 'todos') assert.deepEqual(b.parts.map((p) => [p.kind, p.whole]), [['tool', '{"todos":[],"count":0,"more":false}']]); // and no thought
  }
  const report = parts[2].branches[0].parts;
  assert.deepEqual(report.map((p) => p.role), ['earlier', '']);
  assert.equal(report[1].cuts, 1, 'what shows it begins again');
  assert.match(report[0].text, /^here is what we found/);
  assert.match(report[1].text, /^Hello,/);
});

test('branches do not mix, however their events arrive', () => {
  const started = ['a', 'b', 'c'].map((node_id) => ['node', { node_id, type: 'agent', status: 'started', attempt: 1 }]);
  const own = ['a', 'b', 'c'].map((node_id) => [
    ['thinking', { node_id, content: `I am ${node_id}.` }],
    ['tool_call', { node_id, call_id: node_id, tool_name: 'delegate_to_x', arguments: { task: `for ${node_id}` }, status: 'in_progress' }],
    ['agent', { agent_id: 'x', role: 'delegate', session_id: `s-${node_id}`, call_id: node_id, status: 'started', attempt: 1 }],
    ...['One ', 'two ', node_id].map((delta) => ['inner_delta', { agent_id: 'x', session_id: `s-${node_id}`, delta }]),
    ['agent', { agent_id: 'x', role: 'delegate', session_id: `s-${node_id}`, call_id: node_id, status: 'completed', attempt: 1 }],
    ['tool_call', { node_id, call_id: node_id, tool_name: 'delegate_to_x', arguments: { task: `for ${node_id}` }, status: 'completed', result: 'One two' }],
    ...['Three ', node_id].map((delta) => ['inner_delta', { node_id, delta }]),
    ['node', { node_id, type: 'agent', status: 'completed', attempt: 1 }],
  ]);
  const want = ['a', 'b', 'c'].map((id) => ({
    [`node ${id} done`]: [`thoughts: I am ${id}.`, 'sub-agent delegate_to_x completed', [{ 'delegate x done': [`text: One two ${id}`] }], `text: Three ${id}`],
  }));
  let seed = 7;
  const random = (n) => (seed = (seed * 16807) % 2147483647) % n;
  for (let round = 0; round < 50; round++) {
    const left = own.map((l) => [...l]);
    const mixed = [];
    for (let lists = left; lists.length > 0; lists = lists.filter((l) => l.length > 0)) mixed.push(lists[random(lists.length)].shift());
    assert.deepEqual(turnOf([...started, ...mixed]), ['graph', want], `round ${round}`);
  }
});

test('delegates of delegates lie within one another, and what comes of an unknown one stays apart', () => {
  const call = (id, more) => ['tool_call', { call_id: id, tool_name: `t-${id}`, arguments: { task: `task ${id}` }, status: 'in_progress', ...more }];
  const run = (session_id, call_id, status = 'started') => ['agent', { agent_id: `agent-${session_id}`, role: 'delegate', session_id, call_id, status, attempt: 1 }];
  const say = (session_id, delta) => ['inner_delta', { session_id, agent_id: `agent-${session_id}`, delta }];
  assert.deepEqual(turnOf([
    ['route', { decision: 'route', agent_id: 'boss', additional_agents: [], confidence: 1, method: 'rule' }], ['agent', { agent_id: 'boss', status: 'started', attempt: 1 }],
    call('1', { agent_id: 'boss' }), run('s1', '1'), call('2', { agent_id: 'agent-s1', session_id: 's1' }), run('s2', '2'), say('s2', 'deep '), say('s1', 'mid '), say('s2', 'down'), say('s1', 'way'),
    say('lost', 'whose?'), run('s2', '2', 'completed'), run('late', 'nobody-has-called'),
  ]), ['route', [{ 'agent boss running': ['sub-agent t-1 in_progress',
    [{ 'delegate agent-s1 running': ['sub-agent t-2 in_progress', [{ 'delegate agent-s2 done': ['text: deep down'] }], 'text: mid way'] }]] }],
  [{ 'delegate agent-lost running': ['text: whose?'] }, { 'delegate agent-late running': [] }]]);
});

test('members of a team are there from the route on, and the answer is whole', () => {
  const [, events] = golden.find(([name]) => name === 'team_joined.txtar');
  assert.deepEqual(turnOf(events.slice(0, 2)), ['route', [{ 'agent light-agent next': [] }, { 'agent music-agent next': [] }]]);
  assert.deepEqual(turnOf(events), ['route', [{ 'agent light-agent done': ['copy: The lights are low'] }, { 'agent music-agent done': ['copy: Jazz is on.'] }], 'text: The lights are low. Jazz is on.']);
});

test('an agent that joins while another one speaks stands above the answer', () => {
  const agent = (agent_id, status) => ['agent', { agent_id, status, attempt: 1 }];
  assert.deepEqual(turnOf([agent('a', 'started'), ['response_delta', { agent_id: 'a', delta: 'One' }], agent('a', 'completed'), agent('b', 'started'),
    ['tool_call', { agent_id: 'b', call_id: '1', tool_name: 't', status: 'in_progress' }], ['response_delta', { agent_id: 'a', delta: ' two' }]]),
  [[{ 'agent a done': ['copy: One', 'copy:  two'] }], [{ 'agent b running': ['tool t in_progress'] }], 'text: One two']);
});

test('drafts are branches: the one before is struck, the one that is sent goes', () => {
  const quality = (phase, attempt, more) => ['quality', { phase, attempt, elapsed_ms: 1, ...more }];
  const draft = (attempt, delta) => ['inner_delta', { attempt, delta }];
  const events = [quality('composing', 1), draft(1, 'I guess '), draft(1, '7'), quality('validating', 1, { passed: ['a'], failed: ['numbers'] }), quality('refining', 2), draft(2, 'It is '), draft(2, '3')];
  const fold = folded(events);
  assert.deepEqual(shown(fold.turn)['turn  running'], ['checks', [{ 'draft Draft 1 struck': ['text: I guess 7'] }, { 'draft Draft 2 running': ['text: It is 3'] }]]);
  assert.equal(fold.turn.parts[1].branches[0].note, 'written again: numbers failed');
  fold.add({ event: 'response_delta', data: { delta: 'It is 3.' } });
  assert.deepEqual(shown(fold.turn)['turn  running'], ['checks', [{ 'draft Draft 1 struck': ['text: I guess 7'] }], 'text: It is 3.']);
  const alone = folded([draft(1, 'x'), ['response_delta', { delta: 'x' }]]);
  assert.deepEqual(shown(alone.turn)['turn  running'], ['text: x']);
});

test('drafts have no number of their own, and come all the same', () => {
  const [, events] = golden.find(([name]) => name === 'quality_refined.txtar');
  const drafts = events.filter((e) => e.event === 'inner_delta');
  assert.equal(new Set(drafts.map((e) => e.id)).size, 2);
  const before = folded(events.filter((e) => e.event !== 'response_delta'));
  assert.deepEqual(before.turn.parts.at(-1).branches.map((b) => b.parts[0].text), ['I guess you have 1237 open todos.', 'I guess you have 1 open todos.']);
  const [start, twice] = [{ id: 't:1', event: 'start', data: {} }, { id: 't:2', event: 'inner_delta', data: { session_id: 's', delta: 'ha' } }];
  const loose = { id: 't:1', event: 'inner_delta', data: { session_id: 's', delta: 'ha' } };
  for (const [events, want] of [[[start, twice, twice], 'ha'], [[start, loose, loose], 'haha'], [[start, twice, { ...twice, data: { session_id: 's', delta: '!' } }], 'ha!'], [[start, twice, loose], 'ha']]) {
    assert.deepEqual(turnOf(events), [[{ 'delegate Sub-agent running': [`text: ${want}`] }]]);
  }
});

test('a text that is taken back goes, wherever it is shown, and what was lost on the way comes', () => {
  const agent = (agent_id) => ['agent', { agent_id, status: 'started', attempt: 1 }];
  const say = (delta, agent_id) => ['response_delta', { delta, agent_id }];
  const back = (accumulated) => ['response_reset', { accumulated, reason: 'fallback' }];
  for (const [name, events, want] of [
    ['of one of two', [say('One ', 'a'), say('two', 'b'), back('One '), say('2', 'b')], [['a', 'One '], ['b', '2'], ['', 'One 2']]],
    ['of two in turns', [say('One ', 'a'), say('two ', 'b'), say('three', 'a'), back('One two ')], [['a', 'One '], ['b', 'two '], ['', 'One two ']]],
    ['in the middle of a piece', [say('One two', 'a'), back('One '), say('2', 'a')], [['a', 'One 2'], ['b', undefined], ['', 'One 2']]],
    ['all', [say('One ', 'a'), say('two', 'b'), back('')], [['a', undefined], ['b', undefined]]],
    ['more than came', [say('One', 'a'), back('One two')], [['a', 'One'], ['b', undefined], ['', 'One two']]],
  ]) {
    const { turn } = folded([agent('a'), agent('b'), ...events]);
    const [fork, ...texts] = turn.parts;
    assert.deepEqual([...fork.branches.map((b) => [b.id, b.parts[0]?.text]), ...texts.map((p) => ['', p.text])], want, name);
  }
});

test('a call that has ended does not begin again, and its fault stands in its place', () => {
  const call = (status, more) => ['tool_call', { call_id: '1', tool_name: 't', arguments: {}, status, ...more }];
  const fault = ['error', { error_type: 'tool_execution_failed', message: 'no', fatal: false }];
  assert.deepEqual(turnOf([call('in_progress'), call('failed', { error: 'no' }), call('progress'), call('in_progress'), fault, fault]), ['tool t failed explained', 'fault tool_execution_failed']);
  assert.deepEqual(turnOf([call('failed', { error: 'no' }), ['error', { ...fault[1], fatal: true }]]), ['tool t failed', 'fault tool_execution_failed'], 'what ends the turn is said of it');
  assert.deepEqual(turnOf([call('completed'), ['error', { fatal: false }]]), ['tool t completed', 'fault undefined']);
  assert.deepEqual(turnOf([['error', { error_type: 'cancelled', fatal: true }]]), []);
  const fold = folded([call('in_progress')]);
  fold.end('stopped');
  assert.deepEqual(shown(fold.turn)['turn  running'], ['tool t in_progress lost']);
});

test('how branches end with their turn', () => {
  for (const [state, want] of [['stopped', ['stopped', 'stopped']], ['failed', ['stopped', 'stopped']], ['dropped', ['lost', 'stopped']]]) {
    const fold = folded([['route', { decision: 'route', agent_id: 'a', additional_agents: ['b'] }], ['agent', { agent_id: 'a', status: 'started', attempt: 1 }]]);
    fold.end(state);
    assert.deepEqual(fold.turn.parts[1].branches.map((b) => b.state), want, state);
  }
  const node = (status, error_type) => ['node', { node_id: 'n', type: 'agent', status, attempt: 1, error_type }];
  assert.equal(folded([node('started'), node('failed', 'cancelled')]).turn.parts[1].branches[0].state, 'stopped');
  assert.equal(folded([node('started'), node('failed', 'timeout')]).turn.parts[1].branches[0].note, 'timeout');
  const later = (status, attempt) => ['node', { node_id: 'n', type: 'agent', status, attempt }];
  assert.equal(folded([later('started', 1), later('started', 2), later('failed', 1)]).turn.parts[1].branches[0].state, 'running', 'the end of an attempt before');
  assert.equal(folded([later('started', 1), later('failed', 1), later('started', 2)]).turn.parts[1].branches[0].state, 'running', 'another attempt');
  assert.equal(folded([node('started'), node('failed'), node('started')]).turn.parts[1].branches[0].state, 'failed', 'a late start');
});

test('which fork a branch is of', () => {
  const node = (node_id, status) => ['node', { node_id, type: 'agent', status, attempt: 1 }];
  const forks = (...events) => folded(events).turn.parts.filter((p) => p.kind === 'fork').map((p) => p.branches.map((b) => b.id).join());
  assert.deepEqual(forks(node('a', 'started'), node('b', 'started'), node('a', 'completed'), node('b', 'completed'), node('c', 'started')), ['a,b', 'c']);
  assert.deepEqual(forks(node('a', 'started'), node('a', 'completed'), node('b', 'skipped'), node('c', 'skipped'), node('d', 'started')), ['a', 'b,c', 'd']);
  const route = (decision) => ['route', { decision, agent_id: 'a', additional_agents: [] }];
  assert.deepEqual(forks(route('route')), ['a']);
  assert.deepEqual(forks(route('clarify')), []);
  assert.deepEqual(turnOf([['tool_call', { agent_id: 'a', call_id: '1', tool_name: 't', status: 'in_progress' }]]), ['tool t in_progress'], 'without a team an agent is the turn');
});

test('of a text that was written again only what counts is the last', () => {
  const node = (status, more) => ['node', { node_id: 'n', type: 'agent', status, attempt: 1, ...more }];
  const said = (delta) => ['inner_delta', { node_id: 'n', delta }];
  for (const [iteration, output, want] of [[2, 'Two', ['earlier: One', 'text: Two']], [1, 'Two', ['text: OneTwo']], [2, 'OneTwo', ['text: OneTwo']], [2, 'Three', ['text: OneTwo']], [2, '', ['text: OneTwo']]]) {
    assert.deepEqual(turnOf([node('started'), said('One'), said('Two'), node('completed', { iteration, output })]), ['graph', [{ 'node n done': want }]], `${iteration} ${output}`);
  }
});

test('what becomes of a draft that is not sent', () => {
  const draft = ['inner_delta', { attempt: 1, delta: 'x' }];
  const note = (fold) => fold.turn.parts.find((p) => p.kind === 'fork').branches[0].note;
  assert.equal(note(folded([draft, ['quality', { phase: 'failed', attempt: 1, elapsed_ms: 1 }]])), 'withheld');
  const fold = folded([draft]);
  fold.end('failed');
  assert.equal(note(fold), 'not sent');
});

test('names and texts of any kind are kept as they are, and what has no name breaks nothing', () => {
  const names = ['<script>alert(1)</script>', '\u202eevil', 'x'.repeat(10_240), '__proto__', 'constructor', '🥚', ''];
  for (const name of names) {
    const { turn } = folded([['node', { node_id: name, type: name, status: 'started', attempt: 1 }], ['inner_delta', { node_id: name, delta: name }],
      ['tool_call', { call_id: name, tool_name: name, node_id: name, status: 'in_progress' }], ['agent', { agent_id: name, session_id: name, call_id: name, status: 'started', attempt: 1 }], ['thinking', { session_id: name, content: name }]]);
    assert.equal(turn.parts.find((p) => p.kind === 'fork').branches[0].name, name);
  }
  for (const event of ['start', 'route', 'agent', 'node', 'inner_delta', 'thinking', 'tool_call', 'response_delta', 'response_reset', 'quality', 'channel_message', 'error', 'approval', 'model', 'done']) {
    for (const data of [{}, [], { delta: 7, content: {}, accumulated: null, additional_agents: 'x', passed: 1, status: {}, attempt: 'x', node_id: 5, arguments: 'x' }]) {
      const fold = folded([[event, data], [event, data]]);
      fold.end('done');
      assert.ok(fold.turn.parts.length <= 4, event);
    }
  }
});
