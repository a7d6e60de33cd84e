import assert from 'node:assert/strict';
import { test } from 'node:test';

const { arrow, fitting, nextBox, plan, way } = await import('../model/layout.js');

const nodes = (...ids) => ids.map((id) => ({ id, type: 'agent' }));
const edges = (...pairs) => pairs.map((pair) => ({ from: pair[0], to: pair[1], match: pair[2] }));
const fork = { name: 'w', nodes: nodes('a', 'b', 'c', 'd', 'e'), edges: edges(['a', 'b'], ['a', 'c'], ['a', 'd'], ['b', 'e'], ['c', 'e'], ['d', 'e']) };

test('ranks follow the edges, branches the order of the file, and nothing overlaps', () => {
  const { boxes, lines, width, height } = plan(fork, 'LR');
  const at = Object.fromEntries(boxes.map((b) => [b.id, b]));
  assert.ok(at.a.x < at.b.x && at.b.x === at.c.x && at.c.x === at.d.x && at.d.x < at.e.x);
  assert.ok(at.b.y < at.c.y && at.c.y < at.d.y);
  for (const one of boxes) {
    assert.ok(one.x - one.width / 2 >= 0 && one.x + one.width / 2 <= width && one.y - one.height / 2 >= 0 && one.y + one.height / 2 <= height, one.id);
    for (const other of boxes) {
      if (one === other) continue;
      assert.ok(Math.abs(one.x - other.x) >= one.width || Math.abs(one.y - other.y) >= one.height, `${one.id} on ${other.id}`);
    }
  }
  assert.equal(lines.length, 6);
});

test('it goes down where there is no room across, and then with small nodes', () => {
  assert.ok(fitting(fork, 700).boxes[0].x < fitting(fork, 700).boxes[4].x);
  const narrow = fitting(fork, 310);
  assert.ok(narrow.boxes[0].y < narrow.boxes[4].y);
  assert.ok(narrow.width < plan(fork, 'TB').width);
});

test('two edges between the same nodes are two, and one to nowhere is none', () => {
  const { lines } = plan({ name: 'w', nodes: nodes('a', 'b'), edges: edges(['a', 'b', 'yes'], ['a', 'b', 'a value that is longer than there is room'], ['a', 'gone']) }, 'LR');
  assert.deepEqual(lines.map((l) => l.label), ['yes', 'a value that is l…']);
  assert.notDeepEqual(lines[0].points, lines[1].points);
});

test('the arrow keys go to what lies there', () => {
  const { boxes } = plan(fork, 'LR');
  const [right, left, down] = [{ x: 1, y: 0 }, { x: -1, y: 0 }, { x: 0, y: 1 }];
  assert.equal(nextBox(boxes, 'a', right).id, 'c');
  assert.equal(nextBox(boxes, 'c', down).id, 'd');
  assert.equal(nextBox(boxes, 'd', left).id, 'a');
  assert.equal(nextBox(boxes, 'e', right), null);
  assert.equal(nextBox(boxes, 'gone', right), null);
});

test('the way that a run went', () => {
  const refund = {
    nodes: [...nodes('triage', 'ask', 'pay', 'answer'), { id: 'route', type: 'condition' }],
    edges: [...edges(['triage', 'route'], ['route', 'ask', 'refund'], ['route', 'answer', 'default']), { from: 'ask', to: 'pay', condition: 'yes' }, { from: 'ask', to: 'answer', condition: 'no' }, ...edges(['pay', 'answer'])],
  };
  const went = (states) => [...way(refund, (id) => states[id])].map((e) => `${e.from} ${e.to}`).join(', ');
  const done = { triage: 'done', route: 'done' };
  assert.equal(went({}), '');
  assert.equal(went({ triage: 'running' }), '');
  assert.equal(went({ ...done, ask: 'waiting' }), 'triage route, route ask');
  assert.equal(went({ ...done, ask: 'done', pay: 'done', answer: 'running' }), 'triage route, route ask, ask pay, pay answer');
  assert.equal(went({ ...done, ask: 'skipped', pay: 'skipped', answer: 'done' }), 'triage route, route answer');
  assert.equal(went({ ...done, ask: 'done', pay: 'skipped', answer: 'done' }), 'triage route, route ask, ask answer');
  assert.equal(went({ ...done, ask: 'done', pay: 'failed', answer: 'done' }), 'triage route, route ask, ask pay, pay answer');
  const both = (id) => ({ a: 'done', b: 'done', c: 'running', d: 'stopped', e: undefined })[id];
  assert.equal(way(fork, both).size, 3);
});

test('an arrow ends where its line does', () => {
  for (const points of [[{ x: 0, y: 0 }, { x: 40, y: 0 }], [{ x: 0, y: 0 }, { x: 20, y: 0 }, { x: 40, y: 0 }], [{ x: 0, y: 9 }, { x: 10, y: 5 }, { x: 20, y: 0 }, { x: 40, y: 0 }]]) {
    const { line, head } = arrow(points);
    assert.match(line, /^M0 \d.*34 0$/);
    assert.equal(head, 'M32 4L40 0L32 -4Z');
  }
});

test('a workflow without nodes, with a loop, or with names of any kind breaks nothing', () => {
  assert.deepEqual(plan({ name: 'w', nodes: [], edges: [] }, 'TB').boxes, []);
  for (const name of ['__proto__', 'constructor', '', '\u0000', '<b>']) {
    assert.equal(plan({ name: 'w', nodes: nodes(name, 'z'), edges: edges([name, 'z'], ['z', name], [name, name]) }, 'LR').boxes.length, 2, name);
  }
});
