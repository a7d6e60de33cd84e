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

  // options are those of browser.newContext; allow is what the console may say, and first a part of
  // the page that is there when the gateway's state is known.
  static async open(browser, base, { allow, first, ...options } = {}) {
    const visit = new Visit();
    visit.context = await browser.newContext({ viewport: sizes.wide, ...options });
    await visit.context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (e) => console.error(`content policy: ${e.violatedDirective} ${e.blockedURI}`));
    });
    visit.page = await visit.context.newPage();
    visit.#watch(new URL(base).origin, allow);
    visit.page.setDefaultTimeout(20_000);
    await visit.page.goto(base);
    if (options.javaScriptEnabled !== false) await visit.known(first);
    return visit;
  }

  // known waits until the page has asked the gateway for its state.
  async known(first) {
    if (first) await this.at(first).first().waitFor();
    else await this.page.locator('[data-testid=health]:not([data-health=unknown])').waitFor({ state: 'attached' });
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

  // dev opens a tab of Developer.
  async dev(tab = 'trace') {
    if (!(await this.at('panel').isVisible())) await this.at('developer').click();
    await this.at(`tab-${tab}`).click();
  }

  // steps opens the line of steps of a turn.
  async steps(turn) {
    const line = turn.getByTestId('steps').first();
    await line.waitFor();
    if (await line.getAttribute('aria-expanded') !== 'true') await line.click();
    return turn.locator('.trail').first();
  }

  // events lists the events of the turn in sight, as Developer shows them.
  async events() {
    await this.dev('events');
    const rows = this.at('inspector').getByTestId('event-row');
    await rows.first().waitFor();
    return rows.evaluateAll((all) => all.map((r) => r.dataset.event));
  }

  // byEventSource has the next turn sent by EventSource.
  async byEventSource() {
    await this.dev('request');
    await this.at('eventsource').check();
  }

  // via chooses how the next turn is sent.
  async via(transport) { if (transport === 'eventsource') await this.byEventSource(); }

  // who chooses who answers.
  async who(value) {
    await this.at('who').click();
    await this.page.locator(`[data-testid=who-option][data-value="${value}"]`).click();
  }

  // channel chooses the form of the answer.
  async channel(name) {
    await this.at('plus').click();
    await this.page.locator(`[data-testid=channel][data-channel=${name}]`).click();
  }

  // drafts has drafts shown.
  async drafts() {
    await this.at('plus').click();
    await this.at('drafts').click();
  }

  // sure answers the question whether something may be done twice with yes.
  async sure() { await this.at('sure').click(); }

  // settings opens the settings.
  async settings() {
    if (!(await this.at('settings').isVisible())) await this.at('open-list').click();
    await this.at('settings').click();
  }

  async theme(name) {
    await this.settings();
    await this.at('theme').selectOption(name);
    await this.page.keyboard.press('Escape');
  }

  // fresh begins another conversation.
  async fresh() {
    if (await this.at('new').isVisible()) return this.at('new').click();
    return this.at('new-narrow').click();
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
    .map((fault) => ({ ...fault, nodes: fault.nodes.filter(({ html }) => fault.id !== 'heading-order' || !/^<h\d dir=/.test(html)) })) // the order of an answer's headings is its author's
    .filter(({ nodes }) => nodes.length > 0)
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
