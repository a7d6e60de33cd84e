// The way of a task: as the gateway tells it, and as one that had everything in it.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// What is said of the rows to those who do not see them.
const said = (all) => [all].flat().map((row) => {
  const copy = row.cloneNode(true);
  for (const hidden of copy.querySelectorAll('[aria-hidden=true]')) hidden.remove();
  return copy.textContent;
});
const rows = (v, root = v.page) => root.getByTestId('trace-row').evaluateAll(said);
const focused = async (v) => (await v.page.locator(':focus').evaluateAll(said))[0];

// A plain turn of a gateway that keeps turns.
export async function tracePlain(v) {
  await v.ask('Remind me to buy eggs tomorrow at 3pm');
  await v.turn('done');
  await v.at('trace-row').first().waitFor();
  const all = await rows(v);
  assert.match(all[0], /^Remind me to buy eggs tomorrow at 3pm, from 0 ms on, /);
  assert.equal(all.filter((r) => r.startsWith('Model, ')).length, 2);
  assert.equal(all.filter((r) => r.startsWith('create_todo, ')).length, 1);
  await v.at('trace-row').filter({ hasText: 'create_todo' }).click();
  assert.match(await text(v.at('trace-detail')), /todo\s+.*\n.*title\s+buy eggs/s);
}

// A run that waited for a person: two turns, one line of time; and by its id on a page that
// knows nothing of it.
export async function traceRun(v) {
  await v.at('workflow').selectOption('refund');
  await v.ask('I want a refund of 30 EUR');
  const asked = await v.turn('done');
  await v.page.waitForTimeout(1500); // a person takes their time
  await asked.getByTestId('approve').click();
  await v.page.getByTestId('turn').nth(1).waitFor();
  await v.turn('done');
  await v.at('trace-row').filter({ hasText: 'Turn 2' }).waitFor();
  await v.at('trace-row').filter({ hasText: 'as critic' }).first().waitFor(); // the store's trace has come: the stream says nothing of a critic
  const all = await rows(v);
  const at = (start) => all.findIndex((r) => r.startsWith(start));
  assert.ok(at('Turn 1') < at('Question to a person') && at('Question to a person') < at('Waited for a person, ') && at('Waited for a person, ') < at('Turn 2'), all.join('\n'));
  for (const node of ['triage', 'route', 'ask', 'pay', 'answer']) assert.ok(at(`Node ${node}, `) > 0, node);
  assert.ok(at('refund, ') > at('Node pay, '), 'the call is below its node');
  const task = await v.at('waterfall').locator('code').last().innerText();
  await v.page.reload();
  const panel = v.page.locator('#task-panel');
  await panel.locator('summary').first().click();
  await v.at('task').fill(task);
  await v.page.keyboard.press('Enter');
  await v.at('task-trace').getByTestId('trace-row').first().waitFor();
  assert.deepEqual(await rows(v, v.at('task-trace')), all);
  await v.at('task').fill('task_none');
  await v.page.keyboard.press('Enter');
  await v.at('task-trace').getByRole('alert').waitFor();
  await v.at('task').fill(task);
  await v.page.keyboard.press('Enter');
  await v.at('task-trace').getByTestId('trace-row').first().waitFor();
}
traceRun.options = { allow: /404 \(Not Found\)/ };

const evil = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>\u202Eevil" onfocus="globalThis.pwned=1';

// everything is a trace with an hour's wait, three branches, a second attempt, a session
// in a session, what a crash has cut, and names that would rather be markup.
function everything() {
  const hour = 3_600_000;
  const at = (ms) => new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + ms).toISOString();
  const step = (id, parent, name, from, ms, more = {}) => ({ id, ...(parent ? { parent_id: parent } : {}), step_name: name, message: '', status: 'info', timestamp: at(from), started_ms: from, duration_ms: ms, ...more });
  const call = (tool, from, ms, outcome, more = {}) => ({ call_id: `c${from}`, server: 'home', tool, arguments: { room: 'kitchen', [evil]: evil }, started_ms: from, ...(ms === null ? {} : { duration_ms: ms }), outcome, ...more });
  const back = hour + 2200;
  return {
    task_id: 'task_0', created_at: at(0), updated_at: at(back + 31_000), steps: [
      step('a', '', 'turn', 0, 2200, { message: 'approval_required', usage: { input_tokens: 1200, output_tokens: 80, thinking_tokens: 9 } }),
      step('a1', 'a', 'route', 10, 300, { message: 'They ask for three things.', agent: 'lights' }),
      step('a2', 'a', 'node', 320, 700, { node_id: 'question', attempt: 1, message: 'Which rooms?' }),
      step('a3', 'a', 'node', 1030, 900, { node_id: 'facts', attempt: 1, message: 'Known.' }),
      step('a4', 'a3', 'step', 1040, 880, { agent: 'researcher', node_id: 'facts', message: 'It is known that…', tool_calls: [call('search', 1100, 400, 'completed', { result: { text: '{"hits":[1,2]}' } }), call('search', 1120, 500, 'failed', { error: evil })], status: 'warning' }),
      step('a5', 'a', 'node', 1030, 600, { node_id: 'doubts', attempt: 1, message: 'model_unavailable', status: 'warning' }),
      step('a6', 'a', 'node', 1640, 300, { node_id: 'doubts', attempt: 2, message: 'Unsure.' }),
      step('a7', 'a', 'node', 1030, 1000, { node_id: evil, attempt: 1, message: evil }),
      step('a8', 'a', 'node', 2050, 0, { node_id: 'pay', attempt: 1, message: 'waiting' }),
      step('a9', 'a', 'approval', 2100, 0, { message: `Refund 30 EUR? ${evil}`, tool_calls: [call('refund', 2100, null, 'waiting')] }),
      step('b', '', 'turn', back, 31_000, { message: 'turn_lost: The gateway is gone', status: 'error' }),
      step('b1', 'b', 'node', back + 20, 30_900, { node_id: 'report', attempt: 1, message: 'agent', status: 'warning' }),
      step('b2', 'b1', 'step', back + 100, 30_800, { agent: 'boss', node_id: 'report', message: '', status: 'warning', tool_calls: [call('delegate_to_writer', back + 200, 1500, 'completed'), call('refund', back + 30_100, null, 'running')] }),
      step('b3', 'b2', 'agent', back + 210, 1450, { agent: 'writer', session_id: 's1', attempt: 1, message: 'delegate', usage: { input_tokens: 10, output_tokens: 5, thinking_tokens: 0 } }),
      step('b4', 'b3', 'step', back + 230, 1400, { agent: 'writer', session_id: 's1', message: 'I ask the reader.', tool_calls: [call('delegate_to_reader', back + 300, 900, 'completed')] }),
      step('b5', 'b4', 'agent', back + 320, 850, { agent: 'reader', session_id: 's2', attempt: 1, message: 'delegate' }),
      step('b6', 'b', 'model', back + 1800, 0, { message: 'default: unavailable; now spare', status: 'warning' }),
    ],
    sub_agent_sessions: { s1: { session_id: 's1', agent: 'writer', message_count: 3, status: 'completed' }, s2: { session_id: 's2', agent: 'reader', message_count: 1, status: 'completed' } },
  };
}

async function told(v) {
  await v.page.route('**/tasks/*/trace*', (route) => route.fulfill({ json: everything() }));
  await v.ask('Remind me to buy eggs tomorrow at 3pm');
  await v.turn('done');
  await v.at('trace-row').first().waitFor();
}

// All that a trace can have, by eye and by ear.
export async function traceEverything(v) {
  await told(v);
  const all = await rows(v);
  const of = (start) => all.find((r) => r.startsWith(start)) ?? assert.fail(`no ${start} in\n${all.join('\n')}`);
  assert.match(of('Waited for a person'), /, from 2\.20 s on, 1 h 0 min$/);
  assert.match(of('Node facts'), /lane 1 of 3/);
  assert.match(of('Node doubts, attempt'), /attempt #2, lane 2 of 3, from 1\.64 s on/);
  assert.match(of('Node pay'), /waits/);
  assert.match(of('Node report'), /cut/);
  assert.match(of('Turn 2'), /failed/);
  assert.ok(all.some((r) => r.startsWith('refund, cut, ')), all.join('\n'));
  const levels = await v.at('trace-row').evaluateAll((list) => Object.fromEntries(list.map((r) => [r.querySelector('.name').textContent, Number(r.getAttribute('aria-level'))])));
  assert.ok(levels['Sub-agent reader'] > levels['Sub-agent writer'], 'a session lies in the session that began it');

  // An hour's wait does not flatten the rest.
  const width = (start) => v.at('trace-row').filter({ hasText: start }).first().locator('rect').last().evaluate((r) => r.getBoundingClientRect().width / r.ownerSVGElement.getBoundingClientRect().width);
  assert.ok(await width('Node facts') > 0.05, 'the branches can be seen');
  assert.ok(await width('Waited for a person') < 0.15, 'the wait is short');

  await counts(v.at('trace').locator('img, script, [onfocus], [style]'), 0);
  assert.equal(await v.page.evaluate(() => globalThis.pwned), undefined);
  assert.ok(!(await v.at('trace').innerHTML()).includes('\u202E'), 'nothing turns the direction of a text');

  await v.at('trace-row').filter({ hasText: 'Sub-agent writer' }).click();
  assert.match(await text(v.at('trace-detail')), /s1, completed, 3 messages/);
  const failed = v.at('trace-row').filter({ hasText: 'search' }).last();
  await failed.click();
  assert.match(await text(v.at('trace-detail')), /<img src=x/, 'markup is text');
}

// The arrow keys walk in it, fold and open; and it is a table for who wants one.
export async function traceKeyboard(v) {
  await told(v);
  const { keyboard } = v.page;
  await v.at('trace-table').focus();
  await keyboard.press('Tab');
  assert.match(await focused(v), /^Turn 1/);
  await counts(v.page.locator('[role=tree] [tabindex="0"]'), 1);
  await keyboard.press('ArrowDown');
  assert.match(await focused(v), /^Routing/);
  await keyboard.press('End');
  assert.match(await focused(v), /^Nothing happened, from 1 h 0 min on, 28\.30 s/);
  await keyboard.press('ArrowLeft'); // to what it is a part of
  assert.match(await focused(v), /^Turn 2/);
  const seen = () => v.at('trace-row').and(v.page.locator(':visible')).count();
  const before = await seen();
  await keyboard.press('ArrowLeft');
  assert.equal(await v.page.evaluate(() => document.activeElement.getAttribute('aria-expanded')), 'false');
  assert.ok(await seen() < before);
  await keyboard.press('ArrowUp');
  assert.match(await focused(v), /^Waited/);
  await keyboard.press('ArrowDown');
  await keyboard.press('ArrowRight');
  assert.equal(await seen(), before);
  await keyboard.press('ArrowRight');
  assert.match(await focused(v), /^Node report/);
  await keyboard.press('Home');
  assert.match(await focused(v), /^Turn 1/);
  assert.match(await text(v.at('trace-detail')), /Turn 1/);
  const shows = await v.page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(shows, 'none', 'it can be seen where one is');

  await v.at('trace-table').focus();
  await keyboard.press('Enter');
  const table = v.at('trace').locator('table');
  await table.waitFor();
  assert.equal(await table.locator('tbody tr').count(), await v.at('trace-row').count());
  assert.match(await text(table.locator('tr', { hasText: 'Waited for a person' })), /1 h 0 min/);
  await v.prepare();
  await v.look('trace');
}
