// Work at the same time: rows that do not mix, and a workflow as a graph.
import assert from 'node:assert/strict';
import { counts, tabTo, text } from '../page.mjs';

const node = (v, id) => v.page.locator(`[data-testid=graph-node][data-id=${id}]`);
const block = (v, id) => v.page.locator('details.branch', { has: v.page.locator(':scope > summary > b', { hasText: new RegExp(`^${id}$`) }) });
const inState = (locator, state) => locator.and(locator.page().locator(`[data-state=${state}]`));

async function research(v) {
  await v.who('workflow:research');
  await v.ask('How do tides work?');
}

// Three branches, each with a sub-agent, which stay at work: a row each with its own text, and the
// graph with them. A person who stops them has not made them fail.
export async function branches(v) {
  await v.who('workflow:trio');
  await v.ask('begin');
  await working(v);
  await v.shot('workflow-three-branches');
  await counts(inState(v.at('graph-node'), 'running'), 3);
  await counts(v.page.locator('.edge[data-way=taken]'), 3);
  await v.prepare();
  await v.look('graph');
  await v.at('nodes').first().waitFor();

  await v.at('stop').click();
  const turn = await v.turn('stopped');
  await counts(inState(v.at('graph-node'), 'stopped'), 3);
  await counts(turn.locator('[data-state=failed], [data-status=failed], [data-testid=error], .note.bad'), 0);
  await v.dev();
  await v.at('trace-row').filter({ hasText: 'Node facts' }).waitFor();
}

// inside is the row of a branch within another one.
const inside = (of, name) => of.locator('details.branch', { has: of.page().locator(':scope > summary > b', { hasText: name }) });

// working waits until each of the three branches has its text, and that of its sub-agent.
async function working(v) {
  for (const id of ['facts', 'doubts', 'costs']) {
    await block(v, id).locator('.prose').getByText(`I look at ${id}.`).waitFor();
    if (await inside(block(v, id), 'librarian').getAttribute('open') === null) await inside(block(v, id), 'librarian').locator('summary').first().click();
    await block(v, id).getByText('A source for it.').first().waitFor();
    assert.match(await block(v, id).evaluate((b) => b.textContent), new RegExp(`librarian.*Asked: source-${id}.*A source for it\\..*I look at ${id}\\.`), id);
  }
}

// The same on a small screen: the blocks one above the other, and the box to write in leaves room.
export async function branchesNarrow(v) {
  await v.who('workflow:trio');
  await v.ask('begin');
  await working(v);
  await v.shot('workflow-three-branches-narrow');
  const part = () => v.page.evaluate(() => document.getElementById('ask').getBoundingClientRect().height / innerHeight);
  assert.ok(await part() <= 0.22, `the box to write in has ${await part()} of the height`);
  await v.at('input').fill('A message of many lines.\n'.repeat(20));
  assert.ok(await part() <= 0.25, `with a long message it has ${await part()}`);
  const below = await v.page.evaluate(() => innerHeight - document.getElementById('ask').getBoundingClientRect().bottom);
  assert.ok(Math.abs(below) < 2, `${below} px below the box`);
  await v.at('input').fill('');
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 360);
  await v.at('stop').click();
  await v.turn('stopped');
  await v.page.locator('.turn').first().scrollIntoViewIfNeeded();
  await v.shot('workflow-graph-narrow');
}
branchesNarrow.options = { viewport: { width: 360, height: 740 }, hasTouch: true };

// The same with colours of the system, at 200 %, and for those who want nothing to move.
export async function branchesForced(v) {
  await v.who('workflow:trio');
  await v.ask('begin');
  await working(v);
  assert.equal(await v.page.evaluate(() => document.getAnimations().filter((a) => a.playState === 'running').length), 0, 'running animations');
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 640);
  const stroke = (id) => node(v, id).locator('.shape').evaluate((n) => getComputedStyle(n).stroke);
  assert.notEqual(await stroke('facts'), await node(v, 'facts').locator('.shape').evaluate((n) => getComputedStyle(n).fill));
  for (const [id, seen] of [['question', /✓ (agent )?done$/], ['facts', /● (agent )?works$/], ['report', /researcher$/]]) assert.match(await node(v, id).textContent(), seen, id);
  await v.shot('workflow-forced-colours');
  await v.at('stop').click();
  await v.turn('stopped');
}
branchesForced.options = { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2, forcedColors: 'active', reducedMotion: 'reduce' };

// A run that ends: rows that are done are folded and whole, and no result of a tool is a thought.
export async function graph(v) {
  await research(v);
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('steps')), 'Workflow research: 6 steps');
  await v.steps(turn);
  await counts(turn.getByTestId('thoughts'), 0);
  await counts(turn.locator('details.branch[open]'), 0);
  for (const [id, side] of [['facts', 'known'], ['doubts', 'unsure']]) {
    await block(v, id).locator('summary').first().click();
    await inside(block(v, id), 'librarian').locator('summary').first().click();
    await block(v, id).getByText('The demo has no library.').first().waitFor();
    const all = await block(v, id).evaluate((b) => b.textContent);
    assert.match(all, new RegExp(`Notes on “What is ${side} about: How do tides work”: the demo model knows no facts, so these are its steps\\..*a recent survey\\.`), id);
    assert.match(all, /librarian.*Asked: Which sources.*The demo has no library\. On “/);
  }
  await block(v, 'todos').locator('summary').first().click();
  assert.equal(await block(v, 'todos').getByTestId('tool-card').getAttribute('data-status'), 'completed');
  await counts(turn.locator('.edge[data-way=taken]'), 7);
  await counts(inState(turn.getByTestId('graph-node'), 'done'), 6);
  assert.match(await text(turn.getByTestId('answer')), /^Hello,/);
  await block(v, 'draft').locator('summary').first().click();
  assert.match(await block(v, 'draft').evaluate((b) => b.textContent), /Earlier drafts.*here is what we found/);
}

// The graph and the blocks by keyboard alone, and as a table.
export async function graphKeyboard(v) {
  const { page } = v;
  await tabTo(page, '[data-testid=who]');
  await page.keyboard.press('Enter');
  await page.keyboard.type('research');
  await page.locator('[data-testid=who-option].at[data-value="workflow:research"], [data-testid=who-option].at').first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await v.at('who').getByText('Workflow: research').waitFor();
  await tabTo(page, '#input', 'Shift+Tab');
  await page.keyboard.type('How do tides work?\n');
  await v.turn('done');
  await v.at('graph-node').first().waitFor();
  await tabTo(page, '[data-testid=graph-node]', 'Shift+Tab');
  const at = () => v.page.evaluate(() => document.activeElement.dataset.id ?? document.activeElement.textContent);
  for (const [key, id] of [['ArrowRight', 'doubts'], ['ArrowUp', 'facts'], ['ArrowLeft', 'question'], ['End', 'report'], ['ArrowRight', 'report'], ['Home', 'question']]) {
    await v.page.keyboard.press(key);
    assert.equal(await at(), id, key);
  }
  await counts(v.page.locator('[data-testid=graph-node][tabindex="0"]'), 1);
  await v.page.keyboard.press('ArrowRight');
  await v.page.keyboard.press('Enter');
  assert.notEqual(await block(v, 'doubts').getAttribute('open'), null);
  assert.match(await at(), /^doubts/);
  await page.keyboard.press('Enter');
  assert.equal(await block(v, 'doubts').getAttribute('open'), null);
  await tabTo(page, '.as-table > summary', 'Shift+Tab');
  await page.keyboard.press('Enter');
  assert.match(await text(v.at('graph-table')), /doubts\s+agent researcher\s+done after .*\s+draft/);
  assert.match(await node(v, 'facts').getAttribute('aria-label'), /^facts done, agent researcher$/);
}

// A run that waits for a person: the graph says so, and in the stream that goes on it knows what
// was before.
export async function graphWaits(v) {
  await v.who('workflow:refund');
  await v.ask('I want a refund of 30 EUR');
  const asked = await v.turn('done');
  await v.steps(asked);
  await inState(node(v, 'ask'), 'waiting').waitFor();
  await inState(node(v, 'triage'), 'done').waitFor();
  assert.match(await node(v, 'ask').textContent(), /waits/);
  const card = asked.getByTestId('approval');
  await card.scrollIntoViewIfNeeded();
  await v.shot('waiting-person');
  await card.getByTestId('approve').click();
  await v.page.getByTestId('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  await v.steps(turn);
  await turn.getByTestId('graph').waitFor();
  for (const id of ['triage', 'route', 'ask', 'pay', 'draft', 'answer']) await inState(turn.locator(`[data-testid=graph-node][data-id=${id}]`), 'done').waitFor();
  await counts(turn.locator('.edge[data-way=taken]'), 5); // and not the two that it might have gone
}

// An agent that calls an agent that calls one: each within the one that asked it.
export async function delegates(v) {
  await v.ask('leads');
  const turn = await v.turn('done');
  await v.steps(turn);
  const boss = inside(turn, 'boss').first();
  const open = async (branch) => { if (await branch.getAttribute('open') === null) await branch.locator('summary').first().click(); };
  await open(boss);
  await open(inside(boss, 'researcher').first());
  const writer = inside(inside(boss, 'researcher').first(), 'writer').first();
  await open(writer);
  await writer.getByText('I note it.').first().waitFor();
  assert.match(await writer.evaluate((b) => b.textContent), /Asked: notes.*I note it\./);
  assert.match(await text(turn.getByTestId('answer')), /^We have it\.$/);
  await counts(turn.locator('.call'), 0);
}

// A request that fails changes the gateway's state at once.
export async function unreachable(v) {
  assert.equal(await v.at('health').getAttribute('data-health'), 'ok');
  await v.context.route('**/*', (route) => route.abort());
  const begun = Date.now();
  await v.ask('Hello');
  await v.page.locator('[data-testid=health][data-health=unreachable]').waitFor();
  assert.ok(Date.now() - begun < 10_000, 'it waited for the next look at the gateway');
  await v.turn('dropped');
  await v.context.unroute('**/*');
}
unreachable.options = { allow: /net::ERR_FAILED/ };

// 2,000 deltas into branches whose names are of any length and kind: how long the page's script works
// on each. It is measured five times, and the shortest counts: the others have what the machine did meanwhile.
export async function deltas(v) {
  const runs = [];
  for (let i = 0; i < 5; i++) runs.push(await v.page.evaluate(stream));
  for (const { whole } of runs) assert.ok(whole, 'the text is not whole');
  const times = runs[0].times.map((_, i) => Math.min(...runs.map((r) => r.times[i]))).sort((a, b) => a - b);
  const at = (share) => times[Math.floor(times.length * share)].toFixed(2);
  const said = `2,000 deltas into branches: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${times.at(-1).toFixed(2)} ms of script each`;
  assert.ok(Number(at(0.99)) < 2 * 10, said);
  return { note: said };
}

// stream runs in the page. It draws a turn as the page does, once a delta.
async function stream() {
  const [{ h }, { render }, { TurnRecord }, { Turn }, { TurnView }] = await Promise.all([import('/view/h.js'), import('/vendor/preact.js'), import('/model/record.js'), import('/model/turn.js'), import('/view/turn.js')]);
  const turn = new Turn(new TurnRecord({ input: 'Deltas', conversation_id: 'c' }, 'fetch'));
  const root = document.getElementById('app').parentNode.appendChild(document.createElement('div'));
  root.className = 'col';
  render(h(TurnView, { turn, isLast: true, goesOn: false }), root);
  const name = `<b>\u202e${'long '.repeat(2000)}`;
  turn.show('route', { decision: 'route', agent_id: name, additional_agents: ['two'], confidence: 1, method: 'rule' });
  for (const agent_id of [name, 'two']) turn.show('agent', { agent_id, status: 'started', attempt: 1 });
  turn.version.value++;
  await new Promise(requestAnimationFrame);
  root.querySelector('[data-testid=steps]').click();
  const words = ['Some ', '*words* ', 'and `code`, ', 'then more. ', '\n\n', '- one\n', '- two\n', '\n'];
  const times = [];
  let want = 0;
  for (let i = 0; i < 2000; i++) {
    const begun = performance.now();
    turn.show('response_delta', { agent_id: i % 2 ? name : 'two', delta: words[i % words.length] });
    turn.version.value++;
    await Promise.resolve(); // preact draws behind the task
    await Promise.resolve();
    times.push(performance.now() - begun);
    want += words[i % words.length].length;
    if (i % 20 === 0) await new Promise(requestAnimationFrame);
  }
  if (document.documentElement.scrollWidth > innerWidth) throw new Error('a long name makes the page wide');
  turn.end({ how: 'stopped' });
  render(null, root);
  root.remove();
  return { times, whole: turn.fold.turn.parts.filter((p) => p.kind === 'text').reduce((n, p) => n + p.text.length, 0) === want };
}
