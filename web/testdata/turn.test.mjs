import assert from 'node:assert/strict';
import { test } from 'node:test';

import { elements } from './dom.mjs';

document.baseURI = 'https://sluice.example/';
const { TurnRecord } = await import('../model/record.js');
const { TurnView } = await import('../view/turn.js');

/** A view of events that were drawn one by one. */
function drawn(...events) {
  const view = new TurnView(new TurnRecord({ input: 'hi', conversation_id: 'c' }, 'fetch'), {});
  for (const [event, data] of events) {
    view.show(event, data);
    view.draw();
  }
  return view;
}

const agent = (agent_id, status, more) => ['agent', { agent_id, status, attempt: 1, ...more }];
const route = (agent_id, ...additional_agents) => ['route', { decision: 'route', agent_id, additional_agents, confidence: 1, method: 'rule' }];
const say = (agent_id, delta) => ['response_delta', { agent_id, delta }];
const branches = (view) => [...elements(view.node)].filter((e) => e.className === 'branch');
const isOpen = (node) => 'open' in node.attributes;
const find = (node, className) => [...elements(node)].find((e) => e.className === className);

test('a name of any length and kind is a short text', () => {
  const name = `<b>\u202e${'x'.repeat(10_240)}`;
  const [block] = branches(drawn(route(name, 'b')));
  const [strong] = [...elements(block)].filter((e) => e.tag === 'strong');
  assert.match(strong.textContent, /^<b>\[U\+202E\]x+…$/);
  assert.ok(strong.textContent.length < 100);
  for (const e of elements(block)) for (const value of Object.values(e.attributes)) assert.ok(!String(value).includes('\u202e') && String(value).length <= 1100, value);
});

test('what works is open, what is done folds, and what has failed stays open', () => {
  const view = drawn(route('a', 'b', 'c'), agent('a', 'started'), agent('b', 'started'));
  assert.deepEqual(branches(view).map(isOpen), [true, true, false]);
  for (const event of [agent('a', 'completed', { execution_time_ms: 12 }), agent('b', 'failed', { error_message: 'no' })]) view.show(...event);
  view.draw();
  assert.deepEqual(branches(view).map((b) => [isOpen(b), b.attributes['data-state'], find(b, 'state').textContent]),
    [[false, 'done', 'completed · 12 ms'], [true, 'failed', 'failed: no'], [false, 'next', 'is next']]);
});

test('a block that somebody is in stays as it is, and one without others is not folded', () => {
  const view = drawn(route('a', 'b'), agent('a', 'started'));
  [document.activeElement] = [...elements(branches(view)[0])];
  view.show(...agent('a', 'completed'));
  view.draw();
  assert.ok(isOpen(branches(view)[0]));
  document.activeElement = null;
  assert.ok(isOpen(branches(drawn(route('a'), agent('a', 'started'), agent('a', 'completed')))[0]));
});

test('the parts of a turn keep their order, and what is drawn stays', () => {
  const view = drawn(route('a', 'b'), agent('a', 'started'), say('a', 'One '));
  const items = find(view.node, 'items');
  const answer = items.lastChild;
  for (const event of [agent('late', 'started'), ['thinking', { agent_id: 'b', content: 'Hm' }], say('b', 'two')]) view.show(...event);
  view.draw();
  assert.equal(items.lastChild, answer, 'the same node');
  assert.equal(answer.textContent.trim(), 'One two');
  assert.deepEqual(items.children.map((c) => c.className), ['route', 'fork', 'prose answer']);
  assert.equal(branches(view).length, 3);
});

test('a call of a sub-agent is its block, and its result is not shown twice', () => {
  const call = (status, more) => ['tool_call', { call_id: '1', tool_name: 'delegate_to_x', agent_id: 'a', arguments: { task: 'Find it' }, status, ...more }];
  const run = (status) => agent('x', status, { session_id: 's', call_id: '1', role: 'delegate' });
  const view = drawn(route('a'), agent('a', 'started'), call('in_progress'), run('started'), ['inner_delta', { session_id: 's', agent_id: 'x', delta: 'Found' }], run('completed'), call('completed', { result: 'Found' }));
  const card = find(view.node, 'tool');
  assert.ok('hidden' in card.attributes);
  assert.match(branches(view)[1].textContent, /Asked: Find itFound$/);
});
