import assert from 'node:assert/strict';
import { test } from 'node:test';

await import('./dom.mjs');
const { examples } = await import('../model/examples.js');

const agent = (id, ...examples) => ({ id, name: id, available: true, examples });
const todo = [{ name: 'create_todo', server: 'todo' }];
const titles = (known) => examples(known).map((e) => e.title);

test('todo phrases are offered with the todo server alone, and to the simulator alone', () => {
  assert.ok(titles({ offline: true, tools: todo }).includes('Several calls at once'));
  assert.deepEqual(titles({ offline: true, tools: [] }), []);
  assert.deepEqual(titles({ offline: true, tools: [{ name: 'create_todo', server: 'mine' }] }), []);
  assert.ok(!titles({ tools: todo }).includes('Several calls at once'));
});

test('agents offer what they say of themselves, one of each first', () => {
  const agents = [agent('a', 'a1', 'a2', 'a3'), agent('b', 'b1'), { ...agent('c', 'c1'), available: false }, agent('d')];
  assert.deepEqual(examples({ offline: true, agents, tools: todo }).map((e) => e.prompt), ['a1', 'b1', 'a2']);
  assert.deepEqual(examples({ agents }).map((e) => e.prompt), ['a1', 'b1', 'a2'], 'and not what is good for any');
});

test('workflows and channels are offered where there are some', () => {
  const workflows = [{ name: 'refund', description: 'Pays back' }, { name: 'research' }];
  const list = examples({ offline: true, tools: todo, workflows, channels: [{ name: 'web' }, { name: 'sms' }] });
  assert.deepEqual(list.filter((e) => e.workflow).map((e) => [e.workflow, e.about]), [['refund', 'Pays back'], ['research', 'Write what it is to work on']]);
  assert.deepEqual(list.filter((e) => e.channel).map((e) => [e.channel, e.prompt]), [['sms', 'Remind me to buy eggs tomorrow at 3pm']]);
  assert.ok(list.length <= 6);
  assert.deepEqual(titles({ offline: true, channels: [{ name: 'web' }] }), []);
});

test('without tools a model is not asked for them', () => {
  assert.deepEqual(titles({}), ['Long text']);
  assert.deepEqual(titles({ tools: todo }), ['What is here', 'Use a tool', 'Long text']);
});
