// The way of a task: as the gateway tells it, and as one that had everything in it.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// The words of rows for people who do not see them.
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
  await v.dev();
  await v.at('trace-task').waitFor(); // the gateway's own trace has come
  const all = await rows(v);
  assert.match(all[0], /^Remind me to buy eggs tomorrow at 3pm, from 0 ms on, /);
  assert.equal(all.filter((r) => r.startsWith('Model, ')).length, 2);
  assert.ok(all.filter((r) => r.startsWith('Model, ')).every((r) => / in.*, .* out(, 61 thinking)? · first .* · stop$/.test(r)), all.join('\n'));
  assert.equal(all.filter((r) => r.startsWith('create_todo, ')).length, 1);
  await v.at('trace-row').filter({ hasText: 'create_todo' }).click();
  assert.match(await text(v.at('trace-detail')), /todo\s.*Sent\s+title\s+buy eggs.*Came back\s/s);
  await v.at('trace-row').filter({ hasText: 'Model' }).last().click();
  assert.match(await text(v.at('trace-detail')), /Sent\s.*what 1 call gave:\s+create_todo: .*Came back\s/s);
}

// A run that waited for a person: two turns, one line of time; and by its id on a page that
// knows nothing of it.
export async function traceRun(v) {
  await v.who('workflow:refund');
  await v.ask('I want a refund of 30 EUR');
  const asked = await v.turn('done');
  await v.page.waitForTimeout(1500); // a person takes their time
  await asked.getByTestId('approve').click();
  await v.page.getByTestId('turn').nth(1).waitFor();
  await v.turn('done');
  await v.dev();
  const turns = v.page.locator('[data-testid=trace-row][data-kind=turn]');
  await turns.nth(1).waitFor();
  await v.at('trace-row').filter({ hasText: 'as critic' }).first().waitFor(); // the store's trace has come: the stream says nothing of a critic
  const all = await rows(v);
  const at = (start) => all.findIndex((r) => r.startsWith(start));
  const [asks, answers] = (await turns.evaluateAll(said)).map((row) => all.indexOf(row));
  assert.match(all[asks], /^I want a refund of 30 EUR, from 0 ms on, /);
  assert.match(all[answers], /^You approved: /);
  assert.ok(asks < at('Question to a person') && at('Question to a person') < at('Waited for a person, ') && at('Waited for a person, ') < answers, all.join('\n'));
  for (const node of ['triage', 'route', 'ask', 'pay', 'draft', 'answer']) assert.ok(at(`Node ${node}, `) > 0, node);
  assert.ok(at('refund, ') > at('Node pay, '), 'the call is below its node');
  const task = await text(v.at('trace-task'));
  await v.page.goto(new URL(`?task=${task}`, v.page.url()).href.replace(/#.*/, ''));
  await v.at('turn').nth(1).waitFor();
  await v.dev('tasks');
  await v.at('task-item').first().getByRole('button').click();
  await v.at('task-trace').getByTestId('trace-row').first().waitFor();
  const again = await rows(v, v.at('task-trace'));
  assert.match(again[asks], /^I want a refund of 30 EUR, from 0 ms on, /);
  assert.deepEqual(again.toSpliced(answers, 1), all.toSpliced(answers, 1)); // the store does not have the words of an answer to a question
}

// The trace is drawn while the turn runs, and grows.
export async function traceLive(v) {
  await v.dev();
  await v.who('workflow:research');
  await v.ask('How do tides work?');
  await v.at('trace-row').filter({ hasText: 'Node question' }).waitFor();
  await v.page.locator('[data-testid=trace-row] .live').first().waitFor();
  await v.shot('trace-live');
  assert.match(await text(v.at('waterfall')), /^Running for/);
  await v.turn('done');
  await v.at('waterfall').getByText('Total', { exact: true }).waitFor(); // it is drawn four times a second
}

// Twenty turns without a store: one agent never works at the same time as itself.
export async function traceTruth(v) {
  await v.dev();
  for (let i = 0; i < 20; i++) {
    await v.ask('What is on my list?');
    await v.page.locator('[data-testid=turn][data-state=done]').nth(Math.min(i, 19)).waitFor();
    await v.page.waitForFunction((n) => document.querySelectorAll('[data-testid=turn]').length === n, i + 1);
    await v.at('waterfall').getByText('Total').waitFor();
    await v.page.locator('[data-testid=trace-row][data-kind=step]').nth(1).waitFor();
    const summary = await text(v.at('trace-summary'));
    assert.doesNotMatch(summary, /at the same time/, `turn ${i + 1}: ${summary}`);
    await counts(v.page.locator('[data-testid=trace-row][data-lane]'), 0);
    await counts(v.page.locator('[data-testid=trace-row][data-kind=step]'), 2);
  }
}

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
  await v.dev();
  await v.at('trace-row').filter({ hasText: 'Waited for a person' }).waitFor();
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
  const levels = await v.at('trace-row').evaluateAll((list) => Object.fromEntries(list.map((r) => [r.querySelector('.words').textContent, Number(r.getAttribute('aria-level'))])));
  assert.ok(levels['Sub-agent reader'] > levels['Sub-agent writer'], 'a session lies in the session that began it');

  // An hour's wait does not flatten the rest.
  const width = (start) => v.at('trace-row').filter({ hasText: start }).first().locator('rect:not(.gap):not(.silent)').last().evaluate((r) => r.getBoundingClientRect().width / r.ownerSVGElement.getBoundingClientRect().width);
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

  const drawn = await v.at('trace-row').count();
  await v.at('trace-table').focus();
  await keyboard.press('Enter');
  const table = v.at('trace').locator('table');
  await table.waitFor();
  assert.equal(await table.locator('tbody tr').count(), drawn);
  assert.match(await text(table.locator('tr', { hasText: 'Waited for a person' })), /1 h 0 min/);
  await v.prepare();
  await v.look('trace');
}

const step = (id, parent, name, from, ms, more = {}) => ({ id, ...(parent ? { parent_id: parent } : {}), step_name: name, message: '', status: 'info', timestamp: new Date(Date.UTC(2026, 0, 2) + from).toISOString(), started_ms: from, duration_ms: ms, ...more });

// crowd is a trace of so many branches at the same time, each with so many calls of a model that
// each asks for a tool.
function crowd(branches, calls) {
  const steps = [step('t:0', '', 'turn', 0, calls * 1000 + 500, { message: 'stop', usage: { input_tokens: 90_000, output_tokens: 4000, thinking_tokens: 0, cached_tokens: 60_000 } })];
  for (let b = 0; b < branches; b++) {
    steps.push(step(`n${b}`, 't:0', 'node', b * 40, calls * 1000, { node_id: `branch ${b + 1}`, attempt: 1, message: 'Done.' }));
    for (let c = 0; c < calls; c++) {
      const from = b * 40 + c * 1000;
      const usage = { input_tokens: 1000 + c * 300, output_tokens: 40 + b, thinking_tokens: 0, ...(c > 0 ? { cached_tokens: 800 } : {}) };
      steps.push(step(`m${b}.${c}`, `n${b}`, 'step', from, 600, {
        agent: 'researcher', node_id: `branch ${b + 1}`, model: 'model-large-2026', usage, first_token_ms: 120 + b * 3, finish_reason: 'stop', message: 'I look that up.',
        tool_calls: [{ call_id: `c${b}.${c}`, server: 'library', tool: 'search', arguments: { query: `point ${c + 1}` }, result: { text: '{"hits":[1,2]}' }, started_ms: from + 610, duration_ms: 300, outcome: 'completed' }],
      }));
    }
  }
  return { task_id: 'task_0', steps, sub_agent_sessions: {} };
}

async function crowded(v, ...size) {
  await v.page.route('**/tasks/*/trace*', (route) => route.fulfill({ json: crowd(...size) }));
  await v.ask('Remind me to buy eggs tomorrow at 3pm');
  await v.turn('done');
  await v.dev();
  await v.at('trace-row').filter({ hasText: 'branch 1' }).first().waitFor();
}

// Three branches at the same time, each row with what it cost: 40 rows.
export async function traceForty(v) {
  await crowded(v, 3, 6);
  await counts(v.at('trace-row'), 40);
  const bars = await v.page.locator('[data-testid=trace-row][data-kind=node] rect.bar-node').evaluateAll((all) => all.map((r) => r.getBoundingClientRect().left));
  assert.ok(Math.max(...bars) - Math.min(...bars) < 10, 'branches are drawn beside each other, not one behind the other');
}

// A thousand rows are scrolled without a frame that is seen to be late.
export async function traceThousand(v) {
  await crowded(v, 20, 48);
  const rows = await v.at('trace-row').count();
  assert.ok(rows >= 960, `${rows} rows`);
  await v.page.evaluate(() => {
    globalThis.frames = [];
    let before = 0;
    const frame = (now) => {
      if (before) globalThis.frames.push(now - before);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  // What a frame takes of the processor is the page's doing; when it comes is the machine's, too.
  const cdp = await v.context.newCDPSession(v.page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const work = async () => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
  const panel = v.page.locator('#pane');
  await panel.hover();
  const height = await panel.evaluate((n) => n.scrollHeight);
  const used = [];
  let before = await work();
  for (let y = 0; y < height; y += 400) {
    await v.page.mouse.wheel(0, 400);
    await v.page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    const now = await work();
    used.push(now - before);
    before = now;
  }
  assert.ok(await panel.evaluate((n) => n.scrollTop) > height / 2, 'it was scrolled');
  const frames = (await v.page.evaluate(() => globalThis.frames)).sort((a, b) => a - b);
  used.sort((a, b) => a - b);
  return { figures: { rows, frames: frames.length, median_ms: frames[Math.floor(frames.length / 2)], p99_ms: frames[Math.floor(frames.length * 0.99)], longest_ms: frames.at(-1), work_ms: used[Math.floor(used.length / 2)], longest_work_ms: used.at(-1) } };
}
