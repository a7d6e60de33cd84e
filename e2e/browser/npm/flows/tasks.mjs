// Conversations that come back, and the tasks that a gateway keeps.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { counts, text } from '../page.mjs';

const eggs = 'Remind me to buy eggs tomorrow at 3pm';
const list = 'What is on my list?';

async function two(v) {
  await v.ask(eggs);
  await v.turn('done');
  await v.ask(list);
  await v.page.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
}

const openTasks = (v) => v.page.locator('#task-panel > summary').click();

// With a store a reload shows the conversation, and the next turn goes on with it.
export async function comesBack(v) {
  await two(v);
  await v.page.reload();
  await v.at('restored').getByText('as the gateway keeps it').waitFor();
  await counts(v.at('turn'), 2);
  assert.deepEqual(await v.page.locator('.question').allInnerTexts().then((all) => all.map((s) => s.replace('You:', '').trim())), [eggs, list]);
  assert.match(await text(v.at('answer').first()), /I've added buy eggs/);
  await v.ask('Add milk, bread and butter to my list');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(2).waitFor();
  const [first, , third] = v.bodies;
  assert.equal(third.conversation_id, first.conversation_id);
  assert.equal(third.history.length, 4);
  // What the tab has lost the gateway still has.
  await v.page.evaluate(() => sessionStorage.setItem('sluice.talk', JSON.stringify({ ...JSON.parse(sessionStorage.getItem('sluice.talk')), turns: JSON.parse(sessionStorage.getItem('sluice.talk')).turns.slice(0, 1) })));
  await v.page.reload();
  await v.at('turn').nth(2).waitFor();
  await counts(v.at('turn'), 3);
  await v.at('turn').first().getByRole('button', { name: 'Inspect' }).click();
  await v.at('task-trace').getByTestId('trace-row').first().waitFor();
}

// Without one the tab has it, and says so.
export async function comesBackWithout(v) {
  await v.at('keeps').getByText('this tab keeps its conversation').waitFor();
  await two(v);
  await v.page.reload();
  await v.at('restored').getByText('this tab does, until it is closed').waitFor();
  await counts(v.at('turn'), 2);
  assert.match(await text(v.at('answer').first()), /I've added buy eggs/);
  await v.ask(list);
  await v.page.locator('[data-testid=turn][data-state=done]').nth(2).waitFor();
  assert.equal(v.bodies.at(-1).history.length, 4);
  await v.at('new').click();
  await v.page.reload();
  await v.at('breaker').first().waitFor({ state: 'attached' });
  await counts(v.at('turn'), 0);
}

// The list, its filters, a link that opens the task elsewhere, and a file.
export async function taskList(v) {
  await two(v);
  await openTasks(v);
  await v.at('task-item').first().getByText('tokens').waitFor(); // what it cost comes behind the list
  assert.match(await text(v.at('task-item').first()), /What is on my list\?\s+completed · .* · [\d.]+ m?s · [\d,]+ tokens/s);
  await v.at('task-state').selectOption('failed');
  await v.at('task-word').getByText('There is none of this kind.').waitFor();
  await counts(v.at('task-item'), 0);
  await v.at('task-state').selectOption('completed');
  await v.at('task-item').nth(1).waitFor();
  await v.at('task-item').filter({ hasText: eggs }).getByRole('link').click();
  await v.at('task-title').getByText(eggs).waitFor();
  assert.match(new URL(v.page.url()).hash, /^#task=task_\w{26}$/);
  assert.match(await text(v.at('task-facts')), /^completed · 1 turn · [\d.]+ m?s · [\d,]+ tokens · /);
  const download = v.page.waitForEvent('download');
  await v.at('export').click();
  const { task, trace } = JSON.parse(await readFile(await (await download).path(), 'utf8'));
  assert.equal(trace.task_id, task.id);
  await v.at('copy-link').click();
  const link = await v.page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, v.page.url());
  const other = await v.context.newPage();
  await other.goto(link);
  await other.getByTestId('task-title').getByText(eggs).waitFor();
  await other.getByTestId('open-talk').click();
  await other.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await other.close();
}
taskList.options = { permissions: ['clipboard-read', 'clipboard-write'] };

// A store that goes while the list is open: what is listed stays, and is said to be old.
export async function taskStoreGone(v) {
  await two(v);
  await openTasks(v);
  await v.at('task-item').nth(1).waitFor();
  const problem = { status: 503, json: { error_type: 'store_unavailable', detail: 'The store is unavailable; try again in a moment' } };
  await v.page.route(/\/tasks[?/]/, (route) => route.fulfill(problem));
  await v.page.getByRole('button', { name: 'Read again' }).click();
  await v.at('task-word').getByText('The store does not answer at the moment. What is listed, 2 tasks, is how it was before.').waitFor();
  await counts(v.at('task-item'), 2);
  await v.at('task-item').first().getByRole('link').click();
  await v.at('task-trace').getByRole('alert').getByText('The store does not answer').waitFor();
  await v.page.unroute(/\/tasks[?/]/);
  await v.page.getByRole('button', { name: 'Ask again' }).click();
  await v.at('task-title').waitFor();
}
taskStoreGone.options = { allow: /503 \(Service Unavailable\)/ };

// A browser that refuses storage, clipboard and EventSource.
export async function refusals(v) {
  await v.context.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { get() { throw new DOMException('no', 'SecurityError'); } });
    delete globalThis.EventSource;
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError')) } });
  });
  await v.page.reload();
  await v.at('transport').waitFor({ state: 'hidden' });
  await two(v);
  await v.at('keeps').getByText('Neither the gateway nor this browser keeps anything').waitFor({ state: 'attached' });
  await v.at('turn').last().getByRole('button', { name: 'Copy answer' }).click();
  await v.at('turn').last().getByText('Not copied').waitFor();
  assert.equal(v.bodies.at(-1).history.length, 2);
}

// A conversation of 500 turns: the last ones are drawn, and the rest when it is asked for.
export async function fiveHundred(v) {
  await v.page.evaluate(() => sessionStorage.setItem('sluice.talk', JSON.stringify({
    conversation: 'conv_500',
    turns: Array.from({ length: 500 }, (_, i) => ({ input: `Question ${i + 1}`, answer: `Answer **${i + 1}**\n\n${'Some words of it. '.repeat(20)}`, line: 'Answered.', state: 'done', task: '', turn: '', at: 1000 + i })),
  })));
  await v.page.reload();
  await v.at('turn').last().getByText('Question 500').waitFor();
  await counts(v.at('turn'), 20);
  for (let i = 0; i < 24; i++) await v.at('earlier').click();
  await counts(v.at('turn'), 500);
  await v.at('earlier').waitFor({ state: 'hidden' });
  const begun = Date.now();
  await v.at('input').fill('Does it still work?');
  await v.page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
  const typed = Date.now() - begun;
  await v.ask(list);
  await v.page.locator('[data-testid=turn][data-state=done]').nth(500).waitFor();
  assert.ok(v.bodies[0].history.length <= 52);
  await v.page.reload(); // the judges of the page look at what is drawn
  await v.at('earlier').waitFor();
  await counts(v.at('turn'), 20);
  return { figures: { typed_ms: typed } };
}

// Two tabs on one conversation: each learns of the other's turns when it is looked at.
export async function twoTabs(v) {
  await v.ask(eggs);
  await v.turn('done');
  const kept = await v.page.evaluate(() => sessionStorage.getItem('sluice.talk'));
  const other = await v.context.newPage();
  await other.goto(v.page.url());
  await other.evaluate((s) => sessionStorage.setItem('sluice.talk', s), kept);
  await other.reload();
  await other.getByTestId('restored').waitFor();
  await other.getByTestId('input').fill(list);
  await other.getByTestId('send').click();
  await other.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await other.close();
  await v.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await v.at('elsewhere-show').click();
  await v.at('turn').nth(1).waitFor();
  await counts(v.at('turn'), 2);
  assert.match(await text(v.at('turn').last()), /What is on my list/);
}

// Nothing of the page works without JavaScript, and it says what does.
export async function noScript(v) {
  assert.match(await text(v.page.locator('.noscript')), /This page needs JavaScript, and the gateway does not\..*curl -N http.*chat\/stream/s);
  assert.ok(!(await v.at('input').isVisible()));
}
noScript.options = { javaScriptEnabled: false };

// On a narrow screen the panel is a sheet: it opens and closes by keyboard, says what is in it, and
// lets nothing behind it be reached.
export async function sheet(v) {
  await two(v);
  const panel = v.page.locator('#panel');
  await panel.waitFor({ state: 'hidden' });
  await v.at('sheet').focus();
  await v.page.keyboard.press('Enter');
  await panel.waitFor();
  assert.equal(await v.page.evaluate(() => document.activeElement.id), 'panel');
  assert.ok(await v.at('input').evaluate((n) => n.closest('[inert]') !== null));
  for (let i = 0; i < 12; i++) {
    await v.page.keyboard.press('Tab');
    assert.ok(await v.page.evaluate(() => document.activeElement === document.body || !document.activeElement.closest('main')), 'the focus is not behind the sheet');
  }
  await openTasks(v);
  await v.at('task-item').nth(1).waitFor();
  await v.at('task-item').first().getByRole('link').click();
  await v.at('task-title').waitFor();
  await v.prepare();
  await v.look('task-trace');
  await v.at('task-title').focus();
  await v.page.keyboard.press('Escape');
  await panel.waitFor({ state: 'hidden' });
  assert.equal(await v.page.evaluate(() => document.activeElement.id), 'sheet');
  await v.at('turn').last().getByRole('button', { name: 'Inspect' }).click();
  await panel.waitFor();
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 360);
}
sheet.options = { viewport: { width: 360, height: 740 }, hasTouch: true };

// The first picture comes soon, from a cache that is cold; with a warm one no script is sent again.
export async function firstPaint(v) {
  const cdp = await v.context.newCDPSession(v.page);
  await cdp.send('Network.enable');
  let sent = 0;
  const scripts = new Set();
  cdp.on('Network.responseReceived', ({ requestId, response }) => { if (response.url.endsWith('.js')) scripts.add(requestId); });
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => { if (scripts.has(requestId)) sent += encodedDataLength; });
  const load = async (cold) => {
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: cold });
    sent = 0;
    await v.page.reload();
    await v.at('breaker').first().waitFor({ state: 'attached' });
    return v.page.evaluate(() => new Promise((resolve) => { // it may be reported later than it was
      new PerformanceObserver((list) => {
        const [paint] = list.getEntriesByName('first-contentful-paint');
        if (paint) resolve(paint.startTime);
      }).observe({ type: 'paint', buffered: true });
    }));
  };
  const times = [await load(true), await load(true), await load(true)];
  const cold = sent;
  await load(false);
  await load(false);
  return { figures: { paint_ms: Math.round(Math.min(...times)), longest_ms: Math.round(Math.max(...times)), cold_bytes: cold, warm_bytes: sent } };
}
