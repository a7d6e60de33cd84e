import assert from 'node:assert/strict';
import { test } from 'node:test';

import './dom.mjs';

const { attribute, el } = await import('../view/dom.js');
const { Parser } = await import('../wire/sse.js');
const { TurnRecord } = await import('../model/record.js');
const { historyOf } = await import('../model/history.js');
const { traceOf } = await import('../model/steps.js');
const { askForKey, call: requested, door, isWanted, useKey } = await import('../wire/credential.js');
const { body, listen, newKey, post } = await import('../wire/transport.js');
const { Turn } = await import('../model/turn.js');
const { notesOf } = await import('../model/notes.js');
const { Session } = await import('../model/session.js');
const { marked } = await import('../view/whatsapp.js');
const { quoted, duration, ending } = await import('../words.js');

document.baseURI = 'https://sluice.example/app/';
const ask = { input: 'hi', conversation_id: 'conv_1' };

test('attributes that act cannot be set', () => {
  const node = el('p');
  for (const name of ['onclick', 'ONCLICK', 'style', 'href', 'src', 'srcdoc', 'formaction', 'xlink:href', 'action', 'target', 'data-', 'aria-']) {
    assert.throws(() => attribute(node, name, 'x'), name);
  }
  attribute(node, 'aria-label', 'x');
  attribute(node, 'aria-label', null);
  assert.deepEqual(node.attributes, {});
});

test('frames, however they are cut and whatever ends their lines', () => {
  const stream = 'retry: 5\nid: r:1\nevent: start\ndata: {"a":1}\n\n: ping\n\nid: r:2\nevent: done\ndata: one\ndata:two\nother: x\ndata\n\ndata: cut';
  const want = [{ id: 'r:1', event: 'start', data: '{"a":1}' }, { id: 'r:2', event: 'done', data: 'one\ntwo\n' }];
  for (const end of ['\n', '\r\n', '\r']) {
    for (const step of [1, 2, 5, 1000]) {
      const text = stream.replaceAll('\n', end);
      const parser = new Parser();
      const frames = [];
      for (let i = 0; i < text.length; i += step) frames.push(...parser.push(text.slice(i, i + step)));
      assert.deepEqual(frames, want, `${JSON.stringify(end)} in pieces of ${step}`);
      assert.equal(parser.comments, 1);
    }
  }
});

test('an event without data is none, and one without a name is a message', () => {
  assert.deepEqual(new Parser().push('event: done\n\ndata: x\n\n'), [{ id: '', event: 'message', data: 'x' }]);
});

test('a word of the shell', () => {
  assert.equal(quoted("it's $HOME `x` \"y\"\n!"), "'it'\\''s $HOME `x` \"y\"\n!'");
});

test('curl asks the same, without a key', () => {
  assert.equal(new TurnRecord({ ...ask, input: "it's" }, 'fetch').curl(),
    `curl -N 'https://sluice.example/app/chat/stream' -H 'Content-Type: application/json' -d '{"input":"it'\\''s","conversation_id":"conv_1","accumulated":false}'`);
  assert.equal(new TurnRecord({ ...ask, history: said('one', 'two'), input: "it's & more" }, 'eventsource').curl(),
    `curl -N 'https://sluice.example/app/chat/stream' -H 'Content-Type: application/json' -d '{"input":"it'\\''s & more","conversation_id":"conv_1","accumulated":false}'`);
});

/** The Authorization headers of requests that are answered with these statuses. */
function asked(...statuses) {
  const sent = [];
  globalThis.fetch = async (url, init) => {
    sent.push([url.pathname, init.headers.Authorization]);
    return new Response(null, { status: statuses.shift() ?? 200 });
  };
  return sent;
}

test('a credential goes into one header, and is asked for when it is wanted', async () => {
  const sent = asked(200, 401, 200, 401);
  await requested('readyz');
  assert.deepEqual(door.value, { wanted: false, refused: false });
  await requested('tools');
  assert.deepEqual([door.value, isWanted()], [{ wanted: true, refused: false }, true]);
  await requested('readyz');
  assert.equal(isWanted(), true, 'that is answered to everybody');
  assert.equal(useKey(' slk_1 \n'), 'used');
  assert.deepEqual([door.value, isWanted()], [{ wanted: false, refused: false }, false]);
  await requested('tools');
  assert.deepEqual(door.value, { wanted: true, refused: true });
  await requested('readyz');
  assert.equal(useKey('slk_\u00e9'), 'odd');
  assert.equal(useKey('slk_1'), 'used', 'the same one again, after a refusal alone');
  await requested('tools');
  await requested('readyz');
  assert.deepEqual(sent.map(([, header]) => header), [undefined, undefined, undefined, 'Bearer slk_1', undefined, 'Bearer slk_1', 'Bearer slk_1']);
  assert.equal(useKey('slk_1'), 'same');
  askForKey();
  assert.equal(door.value.wanted, false, 'there is one');
  assert.ok(new TurnRecord(ask, 'fetch').curl().includes(` -H "Authorization: Bearer $SLUICE_KEY" -H`));
  assert.ok(sent.every(([path]) => path.startsWith('/app/')));
  useKey('');
  assert.ok(!new TurnRecord(ask, 'fetch').curl().includes('SLUICE_KEY'));
});

test('a credential leaves the other headers as they are', async () => {
  useKey('slk_1');
  let head;
  globalThis.fetch = async (_, { method, headers }) => { head = [method, headers]; return new Response(null); };
  await requested('tools', { method: 'POST', headers: { 'Last-Event-ID': 'turn_1:2' } });
  assert.deepEqual(head, ['POST', { 'Last-Event-ID': 'turn_1:2', Authorization: 'Bearer slk_1' }]);
  useKey('');
});

test('a reply to the credential before says nothing of the one in use', async () => {
  let reply;
  globalThis.fetch = () => new Promise((resolve) => { reply = resolve; });
  useKey('old');
  const late = requested('tools');
  useKey('new');
  reply(new Response(null, { status: 401 }));
  await late;
  assert.equal(isWanted(), false);
  useKey('');
});

test('an EventSource opens a ticket, behind the prefix of the page, and its refusal can be read', async () => {
  const opened = [];
  globalThis.EventSource = class {
    constructor(url) {
      opened.push(String(url));
      this.on = {};
      queueMicrotask(() => this.on.done(Object.assign(new MessageEvent('done', { data: '{}', lastEventId: 'turn_1:1' }))));
    }

    addEventListener(name, does) { this.on[name] = does; }
    close() {}
  };
  const posted = [];
  const replies = [Response.json({ ticket: 'slt1.x', url: '/chat/stream?ticket=slt1.x' }, { status: 201 }), Response.json({ error_type: 'validation_error', detail: 'no', errors: [] }, { status: 422 })];
  globalThis.fetch = async (url, { body: text }) => {
    posted.push([url.href, JSON.parse(text)]);
    return replies.shift();
  };
  const listener = { frame() {} };
  const { signal } = new AbortController();
  assert.deepEqual(await listen({ ...ask, history: said('one', 'two') }, listener, signal, 'key-0123'), { how: 'done' });
  assert.deepEqual(opened, ['https://sluice.example/app/chat/stream?ticket=slt1.x']);
  assert.deepEqual(posted, [['https://sluice.example/app/chat/tickets', { ...ask, accumulated: false, idempotency_key: 'key-0123' }]]);
  const { how, problem } = await listen(ask, listener, signal, 'key-0123');
  assert.deepEqual([how, problem.error_type, problem.status, opened.length], ['refused', 'validation_error', 422, 1]);
  assert.deepEqual(await listen(ask, listener, signal, 'key-0123'), { how: 'lost', sent: false });
  delete globalThis.EventSource;
});

test('keys are new and well formed', () => {
  assert.match(newKey(), /^[0-9a-f]{32}$/);
  assert.notEqual(newKey(), newKey());
});

/** What a fetch turn comes to, with a reply that stands in for the gateway's. */
async function posted(reply) {
  const [ids, frames] = [[], []];
  globalThis.fetch = async () => reply;
  const listener = { opened: (id) => ids.push(id), frame: (f) => frames.push(f.event), comments() {} };
  return { outcome: await post(ask, listener, new AbortController().signal), ids, frames };
}

const head = { 'Content-Type': 'text/event-stream', 'X-Request-ID': 'req_7' };

test('a turn whose events were lost on the way has an id', async () => {
  const broken = new ReadableStream({ start: (c) => c.error(new Error('broken')) });
  assert.deepEqual(await posted(new Response(broken, { headers: head })), { outcome: { how: 'lost', sent: true }, ids: ['req_7'], frames: [] });
});

test('a stream is read up to its done', async () => {
  const stream = 'event: start\ndata: {}\n\nevent: done\ndata: {}\n\nevent: more\ndata: {}\n\n';
  assert.deepEqual(await posted(new Response(stream, { headers: head })), { outcome: { how: 'done' }, ids: ['req_7'], frames: ['start', 'done'] });
});

/** The titles of the notes of a turn that ended so. */
function titles(outcome) {
  const turn = new Turn(new TurnRecord(ask, 'fetch'));
  turn.end(outcome);
  return notesOf(turn, []).map((n) => n.title);
}

test('a turn that was sent before was not refused', () => {
  const problem = (error_type, status) => ({ how: 'refused', problem: { error_type, status, detail: 'It is too long', errors: [] } });
  assert.deepEqual(titles(problem('duplicate_request', 409)), ['This message was sent before, and may have run.']);
  assert.deepEqual(titles(problem('validation_error', 422)), ['It is too long']);
});

test('a stream that broke before its first event is a lost connection', () => {
  assert.deepEqual(titles({ how: 'lost', sent: true }), ['The connection was lost. It cannot go on.']);
  assert.deepEqual(titles({ how: 'lost', sent: false }), ['The gateway could not be reached.']);
});

/** A record whose events came at given times. */
function recorded(...events) {
  const record = new TurnRecord(ask, 'fetch');
  for (const [at, event, data] of events) {
    record.now = () => at;
    record.take({ id: 'x', event, data: typeof data === 'string' ? data : JSON.stringify({ request_id: 'r', ...data }) });
  }
  record.end('done');
  return record;
}

const done = { success: true, finish_reason: 'stop', tools_called: [], usage: { input_tokens: 1, output_tokens: 1, thinking_tokens: 1 } };
const call = (id, status, duration_ms) => ({ call_id: id, tool_name: id, server: 's', arguments: {}, status, duration_ms });

/** The steps of a record: name, whose, begin, length and first token. */
const steps = (record) => traceOf(record).steps.slice(1).map((s) => [s.step_name, s.node_id ?? s.agent ?? '', s.started_ms, s.duration_ms, s.first_token_ms]);

test('a model is asked when the calls before have ended', () => {
  const record = recorded([10, 'start', { model: 'm' }], [110, 'tool_call', call('a', 'in_progress')], [110, 'tool_call', call('b', 'in_progress')],
    [150, 'tool_call', call('b', 'completed', 39)], [210, 'tool_call', call('a', 'failed', 98)], [300, 'response_delta', { delta: 'x' }], [400, 'response_delta', { delta: 'y' }],
    [410, 'done', { ...done, timings: { total_ms: 400, first_event_ms: 0, first_delta_ms: 290, model_ms: [99, 190], tools: [{ tool_name: 'b', ms: 39 }, { tool_name: 'a', ms: 98 }], write_blocked_ms: 0 } }]);
  assert.deepEqual(steps(record), [['step', '', 11, 99, 99], ['step', '', 210, 190, 90]]);
  const [turn, first, second] = traceOf(record).steps;
  assert.deepEqual(first.tool_calls.map((c) => [c.tool, c.started_ms, c.duration_ms, c.outcome]), [['a', 110, 98, 'failed'], ['b', 110, 39, 'completed']]);
  assert.deepEqual([first.status, second.message, second.model, turn.message, turn.usage], ['warning', 'xy', 'm', 'stop', done.usage]);
  assert.equal(second.parent_id, turn.id);
});

test('text that comes while a call runs is of the model that asked for it, and makes its time no longer', () => {
  const record = recorded([0, 'start', { model: 'm' }], [50, 'tool_call', call('a', 'in_progress')], [70, 'response_delta', { delta: 'x' }], [90, 'tool_call', call('a', 'completed', 40)]);
  assert.deepEqual(steps(record).map((s) => s.slice(2, 4)), [[0, 50]]);
});

test('branches overlap as they did, each with its own calls and models', () => {
  const of = (node_id, agent_id, more) => ({ node_id, agent_id, ...more });
  const record = recorded([0, 'start', { model: 'm' }],
    [10, 'node', of('left', undefined, { type: 'agent', status: 'started', attempt: 1 })], [12, 'node', of('right', undefined, { type: 'agent', status: 'started', attempt: 1 })],
    [50, 'inner_delta', of('left', 'a', { delta: 'l' })], [60, 'tool_call', of('right', 'a', call('c', 'in_progress'))], [90, 'inner_delta', of('left', 'a', { delta: 'm' })],
    [100, 'node', of('left', undefined, { status: 'completed', output: 'lm' })], [120, 'tool_call', of('right', 'a', call('c', 'completed', 60))], [140, 'inner_delta', of('right', 'a', { delta: 'r' })],
    [150, 'node', of('right', undefined, { status: 'failed', error_type: 'timeout' })], [151, 'node', of('last', undefined, { status: 'skipped' })],
    [160, 'done', { ...done, timings: { total_ms: 160, first_event_ms: 0, model_ms: [80, 40, 40], tools: [], write_blocked_ms: 0 } }]);
  assert.deepEqual(steps(record), [['node', 'left', 10, 90, undefined], ['node', 'right', 12, 138, undefined], ['step', 'left', 10, 80, 40], ['step', 'right', 12, 48, 48], ['step', 'right', 120, 20, 20], ['node', 'last', 151, 0, undefined]]);
  const all = traceOf(record).steps;
  assert.equal(all[3].parent_id, all[1].id);
  assert.deepEqual([all[1].message, all[2].message, all[2].status], ['lm', 'timeout', 'warning']);
});

test('a phase is no row: the receipt says which models were asked, and for how long', () => {
  const phase = (name) => ({ phase: name, attempt: 1 });
  const events = [[0, 'start', { model: 'm' }], [10, 'quality', phase('planning')], [40, 'quality', phase('composing')], [60, 'quality', phase('validating')], [80, 'quality', phase('validating')], [90, 'quality', phase('sending')]];
  const timings = { total_ms: 95, first_event_ms: 0, model_ms: [30, 15, 20], tools: [], write_blocked_ms: 0 };
  const ends = (judge) => [[95, 'response_delta', { delta: 'x' }], [99, 'done', { ...done, timings, quality: { ms: { plan: 30, judge, refine: 0 } } }]];
  assert.deepEqual(steps(recorded(...events, ...ends(20))).map((s) => s.slice(0, 4)), [['step', '', 40, 20], ['planner', '', 10, 30], ['judge', '', 80, 20]]);
  assert.deepEqual(steps(recorded(...events, ...ends(0))).map((s) => s[0]), ['step', 'planner']);
  assert.deepEqual(steps(recorded(...events)).map((s) => s[0]), [], 'without a receipt nobody knows');
});

test('a call that a person has allowed asks no model, and the model after it reads its result', () => {
  const record = recorded([0, 'start', { model: 'm' }], [5, 'tool_call', call('a', 'in_progress')], [8, 'tool_call', call('a', 'completed', 2)], [150, 'response_delta', { delta: 'x' }],
    [160, 'done', { ...done, timings: { total_ms: 160, first_event_ms: 0, model_ms: [150], tools: [], write_blocked_ms: 0 } }]);
  record.ask = { ...ask, approval: { action: 'approve' } };
  const [, allowed, model] = traceOf(record).steps;
  assert.deepEqual([allowed.step_name, allowed.model, allowed.duration_ms, allowed.tool_calls.length], ['allowed', undefined, 2, 1]);
  assert.deepEqual([model.model, model.duration_ms], ['m', 150]);
  assert.ok(model.started_ms >= 7, `${model.started_ms}`);
});

test('of a turn that runs the steps under way have no end', () => {
  const record = recorded([0, 'start', { model: 'm' }], [10, 'thinking', { content: 'Hm' }], [50, 'tool_call', call('a', 'in_progress')]);
  record.state = 'running';
  const [turn, model] = traceOf(record).steps;
  assert.deepEqual([turn.duration_ms, model.duration_ms, model.tool_calls[0].runs], [undefined, 50, true]);
});

test('model calls of which nothing was told are drawn end to end', () => {
  const record = recorded([0, 'start', { model: 'm' }], [500, 'done', { ...done, timings: { total_ms: 500, first_event_ms: 0, model_ms: [100, 300], tools: [], write_blocked_ms: 0 } }]);
  assert.deepEqual(steps(record).map((s) => s.slice(2, 4)), [[0, 100], [100, 300]]);
});

test('a record survives what is no event of ours', () => {
  const record = recorded([0, 'start', 'not JSON'], [1, 'other', { x: 1 }], [2, 'tool_call', call('z', 'completed')], [3, 'message', '7']);
  assert.equal(record.events.length, 4);
  assert.ok(record.transcript().includes('event: start\ndata: not JSON\n\n'));
});

test('words', () => {
  assert.deepEqual([5, 999, 1500, 61_000].map(duration), ['5 ms', '999 ms', '1.50 s', '1 min 1 s']);
  assert.equal(ending('stop'), 'Answered');
  assert.equal(ending('new_reason'), 'new_reason');
});

const said = (question, answer) => [{ role: 'user', content: question }, { role: 'assistant', content: answer }];
const pair = (input, answer) => ({ input, answer });

test('a conversation is what was asked and answered', () => {
  assert.deepEqual(historyOf([]), []);
  assert.deepEqual(historyOf([pair('one', 'two'), pair('no answer', ' \n'), pair('three', 'four')]), [...said('one', 'two'), ...said('three', 'four')]);
});

test('a conversation is bounded to one exchange more than a model is shown', () => {
  const turns = Array.from({ length: 60 }, (_, i) => pair(`q${i}`, `a${i}`));
  assert.equal(historyOf(turns).length, 52);
  assert.deepEqual(historyOf(turns).slice(-2), said('q59', 'a59'));
  turns.push(pair('long', '😀'.repeat(40_000)));
  assert.equal(historyOf(turns).at(-1).content, '😀'.repeat(32_001));
  assert.equal(historyOf(turns).length, 52, 'code points count, not halves of surrogate pairs');
  for (let i = 0; i < 4; i++) turns.push(pair('long', `x${'😀'.repeat(40_000)}`));
  assert.equal(historyOf(turns).length, 4);
  assert.ok(historyOf(turns).at(-1).content.isWellFormed());
});

test('a history is posted', () => {
  const turn = { ...ask, history: said('one', 'two') };
  assert.deepEqual(JSON.parse(body(turn)), { ...turn, accumulated: false });
});

test('a record knows as much of the answer as has come', () => {
  const record = new TurnRecord(ask, 'fetch');
  for (const delta of ['Half ', 'an answer']) record.take({ id: '', event: 'response_delta', data: JSON.stringify({ delta }) });
  record.take({ id: '', event: 'response_delta', data: '{}' });
  assert.equal(record.answer, 'Half an answer');
});

test('a record forgets what was taken back of the answer', () => {
  const record = new TurnRecord(ask, 'fetch');
  const take = (event, data) => record.take({ id: '', event, data: JSON.stringify(data) });
  take('response_delta', { delta: 'I look. It is h' });
  take('response_reset', { accumulated: 'I look. ', reason: 'fallback' });
  assert.equal(record.answer, 'I look. ');
  take('response_delta', { delta: 'Eggs.' });
  assert.equal(record.answer, 'I look. Eggs.');
  take('response_reset', { accumulated: '', reason: 'taken_over' });
  assert.equal(record.answer, '');
});

/** The parts of a turn: texts, and thoughts as a mark. */
function shownOf(...events) {
  const turn = new Turn(new TurnRecord(ask, 'fetch'));
  for (const [event, data] of events) turn.show(event, data);
  turn.end({ how: 'done' });
  return turn.fold.turn.parts.map((p) => (p.kind === 'text' ? p.text.trim() : p.kind === 'change' ? `${p.model} (${p.key}) answers in place of ${p.previous}: ${p.reason}` : p.kind === 'thoughts' ? 'Thought:' : p.kind));
}

test('what was taken back of an answer is not shown, and what stays is shown once', () => {
  const say = (delta) => ['response_delta', { delta }];
  const back = (accumulated) => ['response_reset', { accumulated, reason: 'fallback' }];
  const other = ['model', { key: 'spare', model: 'n', previous: 'm', reason: 'unavailable' }];
  const change = 'n (spare) answers in place of m: unavailable';
  const rest = ['thinking', { content: 'Hm' }];
  const thought = 'Thought:'; // it stays
  for (const [name, events, want] of [
    ['all of it', [say('Half a '), say('lie'), other, back(''), say('The truth.')], [change, 'The truth.']],
    ['a step of two', [say('I look.'), rest, say('\n\n'), say('Half'), other, back('I look.\n\n'), say('Eggs.')], ['I look.', thought, change, 'Eggs.']],
    ['several steps', [say('I look.'), rest, say(' Half'), rest, say(' a lie'), other, back(''), say('Eggs.')], [thought, thought, change, 'Eggs.']],
    ['the end of a part', [say('One two'), rest, say(' three'), back('One '), say('and only.')], ['One and only.', thought]],
    ['twice', [say('One'), back('On'), say('ly'), back(''), say('Two')], ['Two']],
    ['of a part behind one that was cut', [say('One two'), back('One '), rest, say('and three'), back('One and '), say('four')], ['One', thought, 'and four']],
    ['behind a character of two units', [say('🥚🥚'), back('🥚'), say('!')], ['🥚!']],
    ['where the part that is open stays', [say('One'), other, say(' two'), back('One'), say('.')], ['One', change, '.']],
    ['and nothing comes after it', [say('One'), back('')], []],
  ]) assert.deepEqual(shownOf(...events), want, name);
});

/** A session whose fetch waits until reply is called, and what its view was told. */
function session() {
  const told = [];
  let reply;
  globalThis.fetch = (_, { signal }) => new Promise((resolve, reject) => {
    reply = resolve;
    signal.addEventListener('abort', () => reject(new Error('aborted')));
  });
  const visit = new Session((record) => ({
    show: (event) => told.push(event),
    changed: () => told.push(record.requestId),
    end: ({ how }) => told.push(how),
  }), () => false);
  const run = (input) => visit.run({ input, conversation_id: 'conv_1' }, 'fetch');
  return { visit, told, run, reply: (r) => reply(r) };
}

test('a session runs one turn at a time', async () => {
  const { told, run, reply } = session();
  const first = run('a');
  assert.equal(await run('b'), false);
  reply(new Response('event: start\ndata: {"request_id":"req_7","model":"m"}\n\nevent: other\ndata: cut\n\nevent: done\ndata: {}\n\n', { headers: head }));
  assert.equal(await first, true);
  assert.deepEqual(told, ['req_7', 'start', 'req_7', 'req_7', 'done', 'req_7', 'done']);
  const next = run('c');
  reply(new Response('event: done\ndata: {}\n\n', { headers: head }));
  assert.equal(await next, true);
});

test('a turn that is stopped ends, one that the page is left in does not', async () => {
  for (const [leaving, want] of [[false, ['stopped']], [true, []]]) {
    const { visit, told, run } = session();
    assert.equal(visit.stop(), false);
    const turn = run('a');
    visit.leave(leaving);
    assert.equal(visit.stop(), true);
    await turn;
    assert.deepEqual(told, want);
  }
});

test('a turn is sent with what was said before it, in the same conversation', async () => {
  const { Conversation } = await import('../model/conversation.js');
  const sent = [];
  globalThis.fetch = async (address, { body: asked }) => {
    if (asked) sent.push(JSON.parse(asked));
    return asked ? new Response('event: response_delta\ndata: {"delta":"b"}\n\nevent: done\ndata: {"success":true,"finish_reason":"stop","usage":{"input_tokens":1,"output_tokens":1,"thinking_tokens":0},"timings":{"total_ms":1}}\n\n', { headers: head }) : new Response('', { status: 500 });
  };
  const talk = new Conversation({ begun() {}, ended() {} });
  await talk.send('a', {});
  await talk.send('c', { agent: 'lights' });
  await talk.again(talk.last, 'd');
  assert.deepEqual(sent.map((s) => s.history), [undefined, said('a', 'b'), said('a', 'b')]);
  assert.deepEqual(sent.map((s) => s.agent), [undefined, 'lights', 'lights']);
  assert.deepEqual([...new Set(sent.map((s) => s.conversation_id))], [talk.id]);
  assert.deepEqual(talk.siblings(talk.last).map((t) => t.input), ['c', 'd']);
});

test('what WhatsApp marks', () => {
  const shown = (message) => marked(message).map((n) => (n.tag ? `<${n.tag}>${n.textContent}</${n.tag}>` : n.data)).join('');
  const all = {
    'a *b* _c_ ~d~ `e*f*`.': 'a <strong>b</strong> <em>c</em> <del>d</del> <code>e*f*</code>.',
    '*a _b_*': '<strong>a b</strong>',
    '2*3*4 snake_case_name * a *': '2*3*4 snake_case_name * a *', // in a word, or beside a space
    '*\u2060a*\u2060 *b*': '*\u2060a*\u2060 <strong>b</strong>', // guarded
    '*a\nb*': '*a\nb*', // a mark ends on its line
    'x\n```\na *b*\n```\n> c *d*\n> e\nf': 'x\n<code>a *b*</code><blockquote>c d\ne</blockquote>f',
  };
  for (const [message, want] of Object.entries(all)) assert.equal(shown(message), want, message);
});
