import assert from 'node:assert/strict';
import { test } from 'node:test';

await import('./dom.mjs');
const { abilities, examples } = await import('../model/examples.js');

const agent = (id, ...examples) => ({ id, name: id, available: true, examples });
const todo = [{ name: 'create_todo', server: 'todo' }];
const prompts = (known) => examples(known).map((e) => e.prompt);
const several = 'Add milk, bread and butter to my list';

test('todo phrases are offered with the todo server alone, and to the simulator alone', () => {
  assert.ok(prompts({ offline: true, tools: todo }).includes(several));
  assert.deepEqual(prompts({ offline: true, tools: [] }), []);
  assert.deepEqual(prompts({ offline: true, tools: [{ name: 'create_todo', server: 'mine' }] }), []);
  assert.ok(!prompts({ tools: todo }).includes(several));
});

test('agents offer their own examples, the first one of each first', () => {
  const agents = [agent('a', 'a1', 'a2', 'a3'), agent('b', 'b1'), { ...agent('c', 'c1'), available: false }, agent('d')];
  assert.deepEqual(examples({ offline: true, agents, tools: todo }).map((e) => [e.prompt, e.agent]), [['a1', 'a'], ['b1', 'b'], ['a2', 'a']]);
  assert.deepEqual(prompts({ agents }), ['a1', 'b1', 'a2'], 'and not those that fit any model');
});

test('a workflow is offered with its example, and left out without one', () => {
  const workflows = [{ name: 'refund', description: 'Pays back', examples: ['Refund order 4711'] }, { name: 'research' }];
  assert.deepEqual(examples({ offline: true, tools: todo, workflows }).filter((e) => e.workflow).map((e) => [e.workflow, e.prompt, e.about]), [['refund', 'Refund order 4711', 'Workflow refund: Pays back']]);
});

test('without tools a model is not asked for them', () => {
  assert.equal(prompts({}).length, 1);
  assert.equal(prompts({ tools: [{ name: 'x', server: 'y' }] }).length, 3);
});

test('one line names the parts of the gateway', () => {
  assert.equal(abilities({}), 'I answer your questions.');
  assert.equal(abilities({ tools: todo, workflows: [{ name: 'a' }, { name: 'b' }] }), 'I can use your todo list and 2 workflows.');
  assert.equal(abilities({ tools: ['a', 'b', 'c', 'd', 'e'].map((server) => ({ server })) }), 'I can use a, b, c and 2 more.');
});
