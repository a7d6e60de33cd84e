import assert from 'node:assert/strict';
import { test } from 'node:test';

import { elements, root } from './dom.mjs';

document.baseURI = 'https://sluice.example/';
const { render } = await import('../vendor/preact.js');
const { TurnRecord } = await import('../model/record.js');
const { Turn } = await import('../model/turn.js');
const { newest, summary } = await import('../model/line.js');
const { doubtOf, notesOf } = await import('../model/notes.js');
const { headOf, Question, spokenOf } = await import('../model/question.js');
const { Versions } = await import('../model/versions.js');
const { h } = await import('../view/h.js');
const { Steps } = await import('../view/steps.js');

/** A turn of these events. */
function told(...events) {
  const turn = new Turn(new TurnRecord({ input: 'hi', conversation_id: 'c' }, 'fetch'));
  for (const [event, data] of events) {
    turn.record.take({ id: '', event, data: JSON.stringify(data) });
    turn.show(event, data);
  }
  return turn;
}

const end = (turn, outcome = { how: 'done' }) => (turn.end(outcome), turn);
const agent = (agent_id, status, more) => ['agent', { agent_id, status, attempt: 1, ...more }];
const route = (agent_id, ...additional_agents) => ['route', { decision: 'route', agent_id, additional_agents, confidence: 1, method: 'rule' }];
const call = (tool_name, status, more) => ['tool_call', { call_id: tool_name, tool_name, server: 's', arguments: {}, status, ...more }];
const done = (more = {}) => ['done', { success: true, finish_reason: 'stop', usage: { input_tokens: 3000, output_tokens: 100, thinking_tokens: 20 }, timings: { total_ms: 2100, model_ms: [], tools: [] }, ...more }];
const fault = (error_type, more) => ['error', { error_type, message: 'why', recoverable: true, fatal: true, ...more }];
const tools = [{ name: 'list', annotations: { readOnlyHint: true } }, { name: 'create', annotations: { readOnlyHint: false } }];

test('the newest thing of a turn that runs, and all of it at its end', () => {
  const line = (...events) => newest(told(...events).fold.turn, events.length > 0);
  assert.equal(line(), 'Sending');
  assert.equal(line(['start', {}]), 'Thinking');
  assert.equal(line(call('list', 'in_progress')), 'Using list');
  assert.equal(line(call('list', 'in_progress'), call('list', 'completed'), ['response_delta', { delta: 'x' }]), 'Writing');
  assert.equal(line(['node', { node_id: 'report', type: 'agent', status: 'started', attempt: 1 }], ['inner_delta', { node_id: 'report', delta: 'x' }]), 'report is writing');
  assert.equal(line(['quality', { phase: 'validating', attempt: 1, elapsed_ms: 1 }]), 'Checking the answer');
  const all = (workflow, ...events) => summary(end(told(...events)).fold.turn, workflow);
  assert.equal(all('', ['thinking', { content: 'Hm' }], call('list', 'completed'), call('create', 'completed'), call('list', 'completed')), 'Thought, then used list and create');
  assert.equal(all('', route('a', 'b'), agent('a', 'started'), agent('b', 'started')), 'Asked a and b');
  assert.equal(all('flow', ...['x', 'y'].flatMap((node_id) => [['node', { node_id, status: 'started', attempt: 1 }], ['node', { node_id, status: 'completed', attempt: 1 }]])), 'Workflow flow: 2 steps');
});

test('a note says the fact, its effect, and one thing to do', () => {
  const notes = (turn) => notesOf(turn, tools).map((n) => [n.title, n.text, n.acts.map((a) => a.kind).join()].join(' | '));
  assert.deepEqual(notes(end(told(fault('model_unavailable', { retry_after_ms: 54_000 })))), ['The model did not answer. | Nothing was changed. | retry']);
  assert.deepEqual(notes(end(told(call('create', 'completed'), fault('model_unavailable')))), ['The model did not answer. | create is done. | retry']);
  assert.deepEqual(notes(end(told(call('list', 'completed'), fault('model_blocked', { recoverable: false })))), ['The model refused to answer this. | Nothing was changed. | edit']);
  assert.deepEqual(notes(end(told(call('create', 'unknown'), done()))), ['It is not known whether create was done. |  | ']);
  assert.deepEqual(notes(end(told(), { how: 'stopped' })), ['Stopped. What tools did stays done. |  | retry']);
  assert.deepEqual(notes(end(told(['response_delta', { delta: 'x' }]), { how: 'lost', sent: true })).map((n) => n.split(' | ')[2]), ['retry']);
  const refused = { status: 422, error_type: 'validation_error', detail: 'The message is too long', errors: [] };
  assert.deepEqual(notes(end(told(), { how: 'refused', problem: refused })), ['The message is too long | Nothing was run. | edit']);
  assert.deepEqual(notes(end(told(done()))), []);
});

test('a turn is tried again without a question only where nothing may be done twice', () => {
  assert.equal(doubtOf([end(told(call('list', 'completed'), done()))], tools), '');
  assert.equal(doubtOf([end(told(call('create', 'completed'), done()))], tools), 'This used create. Trying again may do it twice.');
  assert.match(doubtOf([end(told(), { how: 'lost', sent: true })], tools), /may have run/);
});

test('figures are two, and text that was taken back is struck for a moment', () => {
  assert.equal(end(told(done())).figures, '2.1 s · 3,120 tokens');
  const turn = told(['response_delta', { delta: 'Half a lie' }]);
  turn.record.answer = '';
  turn.show('response_reset', { accumulated: '' });
  assert.equal(turn.struck.value, 'Half a lie');
});

test('versions of a turn stand beside each other, and a path has one of each', () => {
  const [a, b, c, b2, d] = ['a', 'b', 'c', 'b2', 'd'].map((name) => ({ name }));
  const all = new Versions();
  all.add(a, null).add(b, a).add(c, b).add(b2, a).add(d, b2);
  const names = (list) => list.map((t) => t.name).join(' ');
  assert.equal(names(all.path), 'a b2 d');
  assert.equal(names(all.siblings(b)), 'b b2');
  all.choose(b);
  assert.equal(names(all.path), 'a b c');
  assert.equal(names(all.upTo(c)), 'a b c');
  assert.equal(all.above(a), null);
});

test('a question has its words by its kind, and an answer its line', () => {
  const pending = { call_id: '1', tool_name: 'create', server: 'todo', arguments: {}, reason: 'writes' };
  assert.deepEqual(headOf({ kind: 'tool', calls: [pending], prompt: '' }, tools, ''), { icon: 'shield-alert', tone: 'warn', title: 'Allow create?', text: 'This writes data on todo.' });
  assert.equal(headOf({ kind: 'tool', calls: [{ ...pending, reason: 'destructive' }], prompt: '' }, tools, '').text, 'This deletes data on todo and cannot be undone.');
  assert.equal(headOf({ kind: 'outcome', calls: [pending], prompt: '' }, tools, '').title, 'Was create done?');
  assert.equal(headOf({ kind: 'human', prompt: 'Refund?' }, tools, 'refund').text, 'Workflow refund goes on with your answer.');
  assert.equal(spokenOf({ calls: [{ call_id: '1', action: 'reject' }] }, { calls: [pending], prompt: '' }), 'You denied create');
  const question = new Question({ approval_id: 'x', calls: [pending], prompt: '' });
  question.refuse(422, 'bad');
  assert.equal(question.status.value, 'open');
  question.refuse(410, '');
  assert.deepEqual([question.status.value, question.line.value], ['closed', 'It came too late']);
});

/** The opened steps of a turn. */
function drawn(turn) {
  const into = root();
  turn.fold.turn.parts.unshift({ kind: 'graph' }); // so that they open by themselves
  render(h(Steps, { turn, workflow: '' }), into);
  return into;
}

test('a name of any length and kind is a short text', () => {
  const name = `<b>\u202e${'x'.repeat(10_240)}`;
  const into = drawn(told(route(name, 'b'), agent(name, 'started')));
  const [strong] = [...elements(into)].filter((e) => e.tag === 'b');
  assert.match(strong.textContent, /^<b>\[U\+202E\]x+…$/);
  for (const e of elements(into)) for (const value of Object.values(e.attributes)) assert.ok(!String(value).includes('\u202e') && String(value).length <= 11_000, value);
});

test('a call of a sub-agent is its block, and its result is not shown twice', () => {
  const task = (status, more) => ['tool_call', { call_id: '1', tool_name: 'delegate_to_x', agent_id: 'a', arguments: { task: 'Find it' }, status, ...more }];
  const run = (status) => agent('x', status, { session_id: 's', call_id: '1', role: 'delegate' });
  const into = drawn(told(route('a'), agent('a', 'started'), task('in_progress'), run('started'), ['inner_delta', { session_id: 's', agent_id: 'x', delta: 'Found' }]));
  assert.equal([...elements(into)].filter((e) => e.className === 'call').length, 0);
  assert.match(into.textContent, /Asked: Find it/);
});
