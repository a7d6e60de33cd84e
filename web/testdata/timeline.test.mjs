import assert from 'node:assert/strict';
import { test } from 'node:test';

import { elements, root } from './dom.mjs';

const { rowsOf, scaleOf, withGaps } = await import('../model/timeline.js');
const { render } = await import('../vendor/preact.js');
const { h } = await import('../view/h.js');
const { TraceView } = await import('../dev/trace.js');
const { span } = await import('../words.js');

const step = (id, parent_id, from, ms, more = {}) => ({
  id, parent_id, step_name: 'node', node_id: id, message: '', status: 'info', timestamp: '2026-01-02T03:04:05Z', started_ms: from, duration_ms: ms, ...more,
});
const trace = (...steps) => ({ task_id: 't', steps, sub_agent_sessions: {} });
const lines = (rows) => rows.map((r) => `${r.level} ${r.name} ${r.lane}/${r.lanes} ${r.word}`.trim());

test('who works at the same time has a lane each', () => {
  const rows = rowsOf(trace(step('a', '', 0, 100), step('b', '', 50, 100), step('c', '', 100, 10), step('m', '', 120, 0), step('d', '', 150, 10), step('e', '', 150, undefined)));
  assert.deepEqual(lines(rows), ['1 Node a 1/2', '1 Node b 2/2', '1 Node c 1/2', '1 Node m 0/0', '1 Node d 1/2', '1 Node e 2/2']);
  assert.ok(rows[5].open);
});

test('steps are below what they are a part of, calls below their step, and circles end', () => {
  const rows = rowsOf(trace(
    step('a', 'gone', 0, 100, { step_name: 'turn' }),
    step('b', 'a', 1, 9, { step_name: 'step', node_id: '', model: 'm', tool_calls: [{ call_id: '1', server: 's', tool: 't', outcome: 'running' }, { call_id: '2', server: 's', tool: 'u', outcome: 'cached', started_ms: 2, duration_ms: 1 }] }),
    step('c', 'b', 2, 3, { step_name: 'agent', agent: 'x', session_id: 's1' }),
    step('x', 'y', 0, 1), step('y', 'x', 0, 1), step('a', '', 0, 1)));
  assert.deepEqual(lines(rows), ['1 Turn 1 0/0', '2 Model 0/0', '3 t 0/0 cut', '3 u 0/0 from the cache', '3 Sub-agent x 0/0']);
});

test('the text of several agents together is no call of a model', () => {
  const model = { step_name: 'step', node_id: '', model: 'm' };
  const rows = rowsOf(trace(step('t', '', 0, 100, { step_name: 'turn' }), step('a', 't', 1, 50, { ...model, agent: 'lights' }), step('b', 't', 60, 1, { step_name: 'text', node_id: '' }), step('c', 't', 70, 1, model)));
  assert.deepEqual(rows.map((r) => r.name), ['Turn 1', 'Model', 'Text', 'Model']);
});

test('calls of models have words, and a stop is no failure', () => {
  const t = trace(step('t', '', 0, 100, { step_name: 'turn', message: 'cancelled: The turn was cancelled' }),
    step('p', 't', 0, 10, { step_name: 'planner', node_id: '', status: 'warning' }), step('j', 't', 0, 10, { step_name: 'judge', node_id: '' }));
  assert.deepEqual(lines(rowsOf(t)), ['1 Turn 1 0/0 stopped', '2 Model, as planner 0/0 failed', '2 Model, as judge 0/0']);
  const nodes = rowsOf(trace(step('n', '', 0, 9, { step_name: 'node', message: 'cancelled', status: 'warning' }), step('o', '', 10, 9, { step_name: 'node', message: 'timeout', status: 'warning' })));
  assert.deepEqual(nodes.map((r) => [r.word, r.status]), [['stopped', ''], ['failed', 'warning']]);
});

/** The texts of the rows that are drawn. */
function drawn(trace, inputs = {}) {
  const into = root();
  render(h(TraceView, { trace, inputs }), into);
  return [...elements(into)].filter((e) => e.attributes.role === 'treeitem').map((e) => e.textContent);
}

test('turns are called as they were asked, those of which that is not known by their number', () => {
  const t = trace(step('turn_a:0', '', 0, 100, { step_name: 'turn' }), step('turn_b:0', '', 200, 1, { step_name: 'turn' }), step('turn_c:0', '', 300, 1, { step_name: 'turn' }));
  const rows = drawn(t, { turn_a: ' What is new?\nSay it', turn_b: ' ' });
  assert.deepEqual(rows.map((r) => r.split(',')[0]), ['What is new?', 'Turn 2', 'Turn 3']);
});

test('a row of a model has what it cost, its first token and why it ended; the table too', () => {
  const usage = { input_tokens: 1200, output_tokens: 80, thinking_tokens: 0, cached_tokens: 900 };
  const t = trace(step('t:0', '', 0, 1000, { step_name: 'turn' }), step('t:1', 't:0', 0, 900, { step_name: 'judge', node_id: '', model: 'm1', usage, first_token_ms: 340, finish_reason: 'stop' }));
  assert.match(drawn(t)[1], /m1 · 1,200 in \(900 cached\), 80 out · first 340 ms · stop$/);
});

test('of a trace of many rows those are drawn that are not folded', () => {
  const steps = [step('t:0', '', 0, 9000, { step_name: 'turn' })];
  for (let i = 0; i < 50; i++) {
    steps.push(step(`n${i}`, 't:0', i * 10, 9), step(`s${i}`, `n${i}`, i * 10, 9));
    for (let j = 0; j < 5; j++) steps.push(step(`d${i}.${j}`, `s${i}`, i * 10, 9));
  }
  assert.equal(drawn(trace(...steps)).length, 101);
  assert.equal(drawn(trace(...steps.slice(0, 190))).length, 190, 'few rows are all drawn');
  const crowd = Array.from({ length: 3000 }, (_, i) => step(`x${i}`, 't:0', i, 1));
  assert.equal(drawn(trace(steps[0], ...crowd)).length, 1);
});

test('an hour of waiting takes little room, and a model that thinks is no wait', () => {
  const hour = 3_600_000;
  const rows = rowsOf(trace(
    step('t', '', 0, 3000, { step_name: 'turn' }), step('a', 't', 2500, 400), step('q', 't', 3000, 0, { step_name: 'approval' }),
    step('u', '', hour, 2000, { step_name: 'turn' }), step('b', 'u', hour, 1000)));
  const scale = scaleOf(rows);
  assert.deepEqual(scale.gaps, [{ from: 3000, to: hour, inside: false }]);
  assert.equal(scale.at(0), 0);
  assert.equal(scale.at(hour + 2000), 100);
  const width = scale.at(hour) - scale.at(3000);
  assert.ok(width > 5 && width < 10, `${width}`);
  let last = -1;
  for (let ms = 0; ms < hour + 2000; ms += 100) {
    const x = scale.at(ms);
    assert.ok(x >= last, `time goes back at ${ms}`);
    last = x;
  }
  const all = withGaps(rows, scale);
  assert.deepEqual(lines(all.filter((r) => r.level === 1)), ['1 Turn 1 0/0', '1 Waited for a person 0/0', '1 Turn 2 0/0']);
});

test('many waits leave room for the rest', () => {
  const steps = Array.from({ length: 100 }, (_, i) => step(`t${i}`, '', i * 100_000, 1000, { step_name: 'turn' }));
  const scale = scaleOf(rowsOf(trace(...steps)));
  assert.equal(scale.gaps.length, 99);
  const busy = steps.reduce((sum, s) => sum + scale.at(s.started_ms + 1000) - scale.at(s.started_ms), 0);
  assert.ok(busy > 65, `${busy} of 100`);
});

test('traces without steps, and with nothing but moments, are drawn', () => {
  for (const t of [trace(), trace(step('a', '', 0, 0)), { task_id: 't' }]) {
    const rows = rowsOf(t);
    assert.equal(rows.length, t.steps?.length ?? 0);
    assert.equal(scaleOf(rows).gaps.length, 0);
    if (t.steps) assert.equal(drawn(t).length, t.steps.length);
  }
});

test('one agent never works at the same time as itself, whatever the clocks say', () => {
  const model = { step_name: 'step', node_id: '', model: 'm' };
  const call = (id, from, ms) => ({ call_id: id, server: 's', tool: id, outcome: 'completed', started_ms: from, duration_ms: ms });
  const rows = rowsOf(trace(step('t', '', 0, 500, { step_name: 'turn' }), step('a', 't', 0, 260, { ...model, tool_calls: [call('x', 250, 9), call('y', 252, 9)] }), step('b', 't', 255, 245, model)));
  assert.deepEqual(lines(rows), ['1 Turn 1 0/0', '2 Model 0/0', '3 x 1/2', '3 y 2/2', '2 Model 0/0'], 'calls of one answer may');
  const two = rowsOf(trace(step('t', '', 0, 500, { step_name: 'turn' }), step('a', 't', 0, 260, { ...model, agent: 'one' }), step('b', 't', 200, 245, { ...model, agent: 'two' })));
  assert.deepEqual(lines(two), ['1 Turn 1 0/0', '2 Model 1/2', '2 Model 2/2'], 'two agents may');
});

test('calls that a person has allowed are no call of a model', () => {
  const allowed = step('t:1', 't:0', 10, 1, { step_name: 'allowed', node_id: '', tool_calls: [{ call_id: '1', server: 's', tool: 'x', outcome: 'completed', started_ms: 10, duration_ms: 1 }] });
  const rows = rowsOf(trace(step('t:0', '', 0, 200, { step_name: 'turn' }), allowed, step('t:2', 't:0', 11, 150, { step_name: 'step', node_id: '', model: 'm' })));
  assert.deepEqual(rows.map((r) => [r.name, r.ms]), [['Turn 1', 200], ['Tools allowed', 1], ['x', 1], ['Model', 150]]);
});

test('long times in words', () => {
  assert.deepEqual([0, 59_000, 3_600_000, 90_000_000].map(span), ['0 ms', '59.00 s', '1 h 0 min', '1 d 1 h']);
});
