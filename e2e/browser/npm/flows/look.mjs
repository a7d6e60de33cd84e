// How the page looks and is used.
import assert from 'node:assert/strict';
import { counts, tabTo, text } from '../page.mjs';

// The first look: a headline, examples that are whole prompts, and in Developer the tools.
export async function welcome(v) {
  await counts(v.at('turn'), 0);
  await v.page.getByRole('heading', { name: 'What would you like to get done?' }).waitFor();
  await counts(v.at('example'), 4);
  assert.match(await text(v.at('example').first()), /^Remind me to buy eggs tomorrow at 3pm\s+Adds a todo$/);
  assert.match(await text(v.at('under')), /^Demo model: a simulator answers\./);
  await v.dev('gateway');
  assert.match(await text(v.at('tool-list')), /create_todo/);
}

// Code, mathematics, tables and footnotes: as nodes, in colours, and nothing of them from elsewhere.
export async function rich(v) {
  await v.ask('rich');
  const answer = (await v.turn('done')).getByTestId('answer');
  await answer.locator('.hl-keyword').first().waitFor();
  assert.equal(await answer.locator('pre code').first().textContent(), 'def share(t):\n    return 2 ** -t  # of the whole');
  await answer.locator('.katex').nth(1).waitFor();
  await counts(answer.locator('.math'), 2);
  assert.match(await text(answer), /costs \$5 and \$6/);
  await counts(answer.locator('.table table'), 1);
  assert.match(await text(answer.locator('.footnote')), /^1 From a book\.$/);
}

// 360 px are enough, also for code, tables and words without end.
export async function narrow(v) {
  await v.ask('markdown');
  await v.turn('done');
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 360);
}
narrow.options = { viewport: { width: 360, height: 740 }, hasTouch: true };

// The way back to the end covers nothing that is written in, however high that box is.
export async function latest(v) {
  await v.ask('markdown');
  await v.turn('done');
  await v.page.locator('#log').evaluate((n) => { n.scrollTop = 0; });
  const button = v.page.getByRole('button', { name: 'Latest' });
  await button.waitFor();
  const [above, box] = [await button.boundingBox(), await v.at('input').boundingBox()];
  assert.ok(above.y + above.height <= box.y, `${JSON.stringify(above)} covers ${JSON.stringify(box)}`);
  await button.click();
  await button.waitFor({ state: 'hidden' });
}
latest.options = { viewport: { width: 390, height: 844 } };

// Text from right to left has its markers, bars and first columns on the right, each item
// and cell by its own text.
export async function fromTheRight(v) {
  await v.ask('arabic');
  const answer = (await v.turn('done')).getByTestId('answer');
  const directions = (selector) => answer.locator(selector).evaluateAll((all) => all.map((n) => getComputedStyle(n).direction));
  assert.deepEqual(await directions('li'), ['rtl', 'ltr', 'rtl', 'rtl']);
  assert.deepEqual(await directions('blockquote, table, h5'), ['rtl', 'rtl', 'rtl']);
  const edges = await answer.locator('li').evaluateAll((all) => all.map((n) => {
    const [item, list] = [n.getBoundingClientRect(), n.parentElement.getBoundingClientRect()];
    return [item.left - list.left, list.right - item.right].map((gap) => gap > 15);
  }));
  assert.deepEqual(edges, [[false, true], [true, false], [false, true], [false, false]], 'room for markers: left, right');
}

// What is chosen can be told where the system sets the colors.
export async function forced(v) {
  await v.dev('events');
  const shown = (name) => v.at(`tab-${name}`).evaluate((n) => getComputedStyle(n).outlineStyle);
  assert.notEqual(await shown('events'), await shown('trace'));
}
forced.options = { forcedColors: 'active' };

// Dark if the system is, unless the visitor has chosen; the choice is kept.
export async function dark(v) {
  const light = () => v.page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
    return (r + g + b) / 3;
  });
  await v.ask('markdown');
  await v.turn('done');
  assert.ok(await light() < 64, 'dark with the system');
  await v.theme('light');
  assert.ok(await light() > 192, 'light by choice');
  await v.page.reload();
  assert.ok(await light() > 192, 'light after a reload');
  await v.theme('dark');
  await v.ask('markdown');
  await v.turn('done');
}
dark.options = { colorScheme: 'dark' };

// Nothing moves for who does not want it, also while a turn runs.
export async function still(v) {
  const moving = () => v.page.evaluate(() => document.getAnimations().filter((a) => a.playState === 'running').length);
  await v.stalls('stalls-still');
  assert.equal(await moving(), 0, 'running animations');
  await v.page.keyboard.press('Escape');
  await v.turn('stopped');
}
still.options = { reducedMotion: 'reduce' };

// All by keyboard, and it can be seen where one is.
export async function keyboard(v) {
  const { page } = v;
  await tabTo(page, '.skip', 'Shift+Tab'); // the box has the focus at first
  await page.keyboard.press('Enter');
  await page.keyboard.type('thinks');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('aloud');
  await page.keyboard.press('Enter');
  const turn = await v.turn('done');
  await page.evaluate(() => document.activeElement.blur());

  await tabTo(page, '[data-testid=steps]');
  await page.keyboard.press('Enter');
  await tabTo(page, '[data-testid=thoughts] > summary');
  await page.keyboard.press('Enter');
  assert.notEqual(await turn.getByTestId('thoughts').getAttribute('open'), null);

  await page.keyboard.press('Control+.');
  await v.at('tab-trace').waitFor();
  await tabTo(page, '[role=tab][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  await tabTo(page, '[data-testid=event-row] > summary');
  await page.keyboard.press('Enter');
  await v.at('event-row').first().getByText('request_id').waitFor();
  await page.keyboard.press('Control+.');
  await v.at('panel').waitFor({ state: 'hidden' });

  await v.at('input').focus();
  await page.keyboard.type('stalls-keyboard\n');
  await v.at('answer').getByText('One', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await v.turn('stopped');
}

// A model that means ill: nothing of it is run, fetched or hidden.
export async function hostile(v) {
  await v.ask('hostile');
  const answer = (await v.turn('done')).getByTestId('answer');
  await counts(answer.locator('script, img, iframe, style, svg, object, [onclick], [onerror], [style]'), 0);
  await counts(answer.locator('a:not([href^="https://"])'), 0);
  const link = answer.locator('a[href^="https://evil.example/"]').first();
  assert.match(await link.getAttribute('rel'), /noopener/);
  assert.match(await link.getAttribute('rel'), /noreferrer/);
  assert.match(await text(answer), /evil\.example/, 'where a link leads can be read');
  assert.match(await text(answer), /<script>/, 'raw HTML is text');
  assert.equal(await v.page.evaluate(() => globalThis.pwned), undefined);
}

// Markdown that takes a reader long, or nests without end, does not hold the page up.
export async function endless(v) {
  await v.ask('endless');
  const answer = (await v.turn('done')).getByTestId('answer');
  assert.equal(await text(answer.locator('strong')), 'The end');
  assert.match(await text(answer), /deep/);
}
