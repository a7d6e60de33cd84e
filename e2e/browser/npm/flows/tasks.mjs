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

// With a store a reload shows the conversation, and the next turn goes on with it.
export async function comesBack(v) {
  await two(v);
  await v.page.reload();
  await v.at('turn').nth(1).waitFor();
  await counts(v.at('turn'), 2);
  assert.deepEqual(await v.at('question').allInnerTexts().then((all) => all.map((s) => s.replace('You:', '').trim())), [eggs, list]);
  await v.at('answer').first().getByText("I've added buy eggs").waitFor();
  await v.ask('Add milk, bread and butter to my list');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(2).waitFor();
  const [first, , third] = v.bodies;
  assert.equal(third.conversation_id, first.conversation_id);
  assert.equal(third.history.length, 4);
  // The gateway still has the turns that the tab has lost.
  await v.page.evaluate(() => {
    const name = Object.keys(sessionStorage).find((n) => n.startsWith('sluice.talk.'));
    sessionStorage.setItem(name, JSON.stringify(JSON.parse(sessionStorage.getItem(name)).slice(0, 1)));
  });
  await v.page.reload();
  await v.at('turn').nth(2).waitFor();
  await counts(v.at('turn'), 3);
  await v.at('turn').first().hover();
  await v.at('turn').first().getByTestId('figures').click();
  await v.at('trace-row').first().waitFor();
}

// Without one the tab has it. A conversation that is nowhere is not in the list.
export async function comesBackWithout(v) {
  await two(v);
  await v.page.reload();
  await v.at('turn').nth(1).waitFor();
  await counts(v.at('turn'), 2);
  await v.at('answer').first().getByText("I've added buy eggs").waitFor();
  await v.ask(list);
  await v.page.locator('[data-testid=turn][data-state=done]').nth(2).waitFor();
  assert.equal(v.bodies.at(-1).history.length, 4);
  await v.fresh();
  await v.page.reload();
  await v.known();
  await counts(v.at('turn'), 0);
  await counts(v.at('talk'), 1);
  await v.page.evaluate(() => sessionStorage.clear());
  await v.page.reload();
  await v.known();
  await counts(v.at('talk'), 0);
}

// The list of conversations: open, search, rename, delete and undo, back and forward; a second tab
// learns of it, and a deletion reaches the gateway.
export async function conversations(v) {
  await v.ask(eggs);
  await v.turn('done');
  await v.at('new').click();
  await v.ask(list);
  await v.turn('done');
  assert.deepEqual(await v.at('talk').allInnerTexts().then((all) => all.map((s) => s.trim())), [list, eggs]);
  assert.equal(await v.page.title(), `${list} - Sluice`);
  await v.at('talk').nth(1).getByRole('link').click();
  await v.at('question').getByText(eggs).waitFor();
  assert.match(new URL(v.page.url()).hash, /^#c=conv_/);
  await v.page.goBack();
  await v.at('question').getByText(list).waitFor();

  await v.page.keyboard.press('Control+k');
  await v.page.keyboard.type('eggs');
  await counts(v.at('talk'), 1);
  await v.at('search').fill('');

  const second = v.at('talk').nth(1);
  await second.hover();
  await second.getByTestId('more').click();
  await v.at('rename').click();
  await v.at('title-field').fill('Eggs and milk');
  await v.page.keyboard.press('Enter');
  await v.at('talk').getByText('Eggs and milk').waitFor();

  for (const undone of [true, false]) {
    await second.hover();
    await second.getByTestId('more').click();
    await v.at('ask-delete').click();
    await v.page.getByText('Delete this conversation? Its tasks and logs go too.').waitFor();
    const deleted = undone ? null : v.page.waitForRequest((r) => r.method() === 'DELETE');
    await v.at('delete').click();
    await v.at('undo').waitFor();
    await counts(v.at('talk'), 1);
    if (!undone) {
      assert.match((await deleted).url(), /\/conversations\/conv_/);
      continue;
    }
    await v.at('undo').click();
    await v.at('talk').nth(1).waitFor();
  }
  await v.at('undo').waitFor({ state: 'detached' });
  await v.at('talk').first().getByRole('link').click();
}

// Developer, Tasks: filters, a link that opens the task elsewhere, and a file.
export async function taskList(v) {
  await two(v);
  await v.dev('tasks');
  await v.at('task-item').first().getByText('tokens').waitFor(); // its effort comes behind the list
  assert.match(await text(v.at('task-item').first()), /What is on my list\?\s+completed · .* · [\d.]+ m?s · [\d,]+ tokens/s);
  await v.at('task-state').selectOption('failed');
  await v.at('task-word').getByText('There is none of this kind.').waitFor();
  await counts(v.at('task-item'), 0);
  await v.at('task-state').selectOption('completed');
  await v.at('task-item').nth(1).waitFor();
  await v.at('task-item').filter({ hasText: eggs }).getByRole('button').click();
  await v.at('task-title').getByText(eggs).waitFor();
  assert.match(await text(v.at('task-facts')), /^completed · 1 turn · [\d.]+ m?s · [\d,]+ tokens · /);
  const download = v.page.waitForEvent('download');
  await v.at('export').click();
  const { task, trace } = JSON.parse(await readFile(await (await download).path(), 'utf8'));
  assert.equal(trace.task_id, task.id);
  await v.at('copy-task-link').click();
  await v.at('copy-task-link').and(v.page.locator('[data-copied=true]')).waitFor();
  const link = await v.page.evaluate(() => navigator.clipboard.readText());
  assert.equal(new URL(link).searchParams.get('task'), task.id);
  const other = await v.context.newPage();
  await other.goto(link);
  await other.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  assert.match(new URL(other.url()).hash, /^#c=conv_/);
  await other.close();
}
taskList.options = { permissions: ['clipboard-read', 'clipboard-write'] };

// A store that goes while the list is open: what is listed stays, and is said to be old.
export async function taskStoreGone(v) {
  await two(v);
  await v.dev('tasks');
  await v.at('task-item').nth(1).waitFor();
  const problem = { status: 503, json: { error_type: 'store_unavailable', detail: 'The store is unavailable; try again in a moment' } };
  await v.page.route(/\/tasks[?/]/, (route) => route.fulfill(problem));
  await v.page.getByRole('button', { name: 'Read again' }).click();
  await v.at('task-word').getByText('The store does not answer at the moment. The list below, 2 tasks, is older.').waitFor();
  await counts(v.at('task-item'), 2);
  await v.at('task-item').first().getByRole('button').click();
  await v.at('panel').getByRole('alert').getByText('The store does not answer').waitFor();
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
  await v.known();
  await v.dev('request');
  assert.ok(await v.at('eventsource').isDisabled());
  await two(v);
  await counts(v.at('talk'), 1); // as long as the page is open
  await v.at('turn').last().getByTestId('copy-answer').click();
  await v.at('copy-answer').and(v.page.locator('[data-copied=false]')).waitFor();
  assert.equal(v.bodies.at(-1).history.length, 2);
}

// A conversation of 500 turns: the last ones are drawn, and the rest when it is asked for.
export async function fiveHundred(v) {
  await v.page.evaluate(() => {
    sessionStorage.setItem('sluice.talk.conv_500', JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ input: `Question ${i + 1}`, answer: `Answer **${i + 1}**\n\n${'Some words of it. '.repeat(20)}`, line: '', state: 'done', task: '', turn: '', at: 1000 + i }))));
    location.hash = 'c=conv_500';
  });
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

// Two tabs on one conversation: each shows the other's turns when it is looked at.
export async function twoTabs(v) {
  await v.ask(eggs);
  await v.turn('done');
  const other = await v.context.newPage();
  await other.goto(v.page.url());
  await other.getByTestId('question').getByText(eggs).waitFor();
  await other.getByTestId('input').fill(list);
  await other.getByTestId('send').click();
  await other.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await other.close();
  await v.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await v.at('turn').nth(1).waitFor();
  await counts(v.at('turn'), 2);
  assert.match(await text(v.at('turn').last()), /What is on my list/);
}

// Nothing of the page works without JavaScript, and it says what does.
export async function noScript(v) {
  assert.match(await text(v.page.locator('.noscript')), /This page needs JavaScript, and the gateway does not\..*curl -N http.*chat\/stream/s);
  await counts(v.at('input'), 0);
}
noScript.options = { javaScriptEnabled: false };

// On a narrow screen Developer is a sheet and the list a drawer: each opens and closes by keyboard, and
// lets nothing behind it be reached.
export async function sheet(v) {
  await two(v);
  const panel = v.at('panel');
  await counts(panel, 0);
  await v.at('developer').focus();
  await v.page.keyboard.press('Enter');
  await panel.waitFor();
  await v.page.waitForFunction(() => document.activeElement.id === 'panel');
  assert.ok(await v.at('input').evaluate((n) => n.closest('[inert]') !== null));
  for (let i = 0; i < 12; i++) {
    await v.page.keyboard.press('Tab');
    assert.ok(await v.page.evaluate(() => document.activeElement === document.body || !document.activeElement.closest('main')), 'the focus is not behind the sheet');
  }
  await v.dev('tasks');
  await v.at('task-item').nth(1).waitFor();
  await v.at('task-item').first().getByRole('button').click();
  await v.at('task-title').waitFor();
  await v.prepare();
  await v.look('task-trace');
  await v.at('task-title').focus();
  await v.page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await v.page.waitForFunction(() => document.activeElement.id === 'open-developer');
  await v.at('turn').last().getByTestId('figures').click();
  await panel.waitFor();
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 360);
  await v.at('close-developer').click();

  await v.at('open-list').focus();
  await v.page.keyboard.press('Enter');
  await v.at('talk').first().waitFor();
  assert.ok(await v.at('input').evaluate((n) => n.closest('[inert]') !== null));
  await v.shot('drawer');
  await v.at('new').focus();
  await v.page.keyboard.press('Escape');
  await v.at('talk').first().waitFor({ state: 'hidden' });
  await v.at('developer').click(); // for the judges of the page
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
    await v.known();
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
