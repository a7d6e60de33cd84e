// A visit to the gateway's page: what everyone looks at who drives it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 360, height: 740 } };

// Visit opens the page in a context of its own and notes what must not happen: an
// error in the console, a request to another origin, a breach of the content policy.
export class Visit {
  faults = [];
  requests = []; // for streams
  bodies = []; // of those that were posted

  // options are those of browser.newContext; allow is what the console may say, and first what is
  // there when the gateway's state is known.
  static async open(browser, base, { allow, first = 'breaker', ...options } = {}) {
    const visit = new Visit();
    visit.context = await browser.newContext({ viewport: sizes.wide, ...options });
    await visit.context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (e) => console.error(`content policy: ${e.violatedDirective} ${e.blockedURI}`));
    });
    visit.page = await visit.context.newPage();
    visit.#watch(new URL(base).origin, allow);
    visit.page.setDefaultTimeout(20_000);
    await visit.page.goto(base);
    if (options.javaScriptEnabled !== false) await visit.at(first).first().waitFor({ state: first === 'breaker' ? 'attached' : 'visible' });
    return visit;
  }

  #watch(origin, allow) {
    this.page.on('console', (m) => {
      if (['error', 'warning'].includes(m.type()) && !allow?.test(m.text())) this.faults.push(`console: ${m.text()}`);
    });
    this.page.on('pageerror', (e) => this.faults.push(`uncaught: ${e.message}`));
    this.context.on('request', (r) => {
      const url = new URL(r.url());
      if (url.origin !== origin) this.faults.push(`request to ${r.url()}`);
      if (url.pathname !== '/chat/stream') return;
      this.requests.push(r.method());
      if (r.method() === 'POST') this.bodies.push(r.postDataJSON());
    });
  }

  at(testid) { return this.page.getByTestId(testid); }

  async ask(text) {
    await this.at('input').fill(text);
    await this.at('send').click();
  }

  // turn waits until the last turn is in a state, and returns it.
  async turn(state) {
    const turn = this.page.locator('[data-testid=turn]').last();
    await turn.and(this.page.locator(`[data-state=${state}]`)).waitFor();
    return turn;
  }

  // stalls asks what is answered with "One" and then with nothing more.
  async stalls(text) {
    await this.ask(text);
    await this.at('answer').getByText('One', { exact: true }).waitFor();
  }

  async screenshot(folder, name) {
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }

  // shot is a screenshot of what is seen now, which will soon be something else.
  async shot(name) { await this.page.screenshot({ path: join(this.folder, `${name}.png`) }); }

  async prepare() { await this.page.evaluate(axe); }

  // audit lets axe look at the page as it is now, in both themes and widths.
  async audit() {
    await this.prepare();
    for (const [colorScheme, width] of [['light', 'wide'], ['dark', 'narrow']]) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.setViewportSize(sizes[width]);
      for (const fault of await this.page.evaluate(judge)) this.faults.push(`${colorScheme} and ${width}: ${fault}`);
    }
  }

  // look lets axe look at what will soon be something else: at one element, at once.
  async look(testid) {
    for (const fault of await this.page.evaluate(judge, `[data-testid=${testid}]`)) this.faults.push(fault);
  }

  async close() { await this.context.close(); }
}

// judge runs in the page, and looks at all of it or at one element.
async function judge(selector) {
  const { violations } = await globalThis.axe.run(selector ?? document, { resultTypes: ['violations'] });
  const faults = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `axe: ${id}: ${nodes.map((n) => n.target.join(' ')).slice(0, 3).join(', ')}`);
  const hidden = document.documentElement.scrollWidth - innerWidth;
  if (hidden > 0) faults.push(`${hidden} px must be scrolled sideways`);
  return faults;
}

// text returns what a locator shows.
export const text = async (locator) => (await locator.innerText()).trim();

export const counts = async (locator, want) => assert.equal(await locator.count(), want, `number of ${locator}`);

// tabTo presses Tab, or another key, until an element has the focus, and looks at the way there.
export async function tabTo(page, selector, key = 'Tab') {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press(key);
    const at = await page.evaluate((selector) => {
      const e = document.activeElement;
      const seen = (e) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(e);
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
      };
      // A radio button may be drawn by the label around it.
      return { there: e.matches(selector), seen: e === document.body || seen(e) || [...e.parentElement.children, e.parentElement].some(seen), html: e.outerHTML.slice(0, 100) };
    }, selector);
    assert.ok(at.seen, `nothing shows that the focus is on ${at.html}`);
    if (at.there) return;
  }
  assert.fail(`Tab does not reach ${selector}`);
}
