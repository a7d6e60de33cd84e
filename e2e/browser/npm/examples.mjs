// Uses the example clients in Chromium. Reads {chromium, origin, visits: [{name, client,
// gateway, input}]} from stdin, makes all visits at once from pages of the origin, and
// writes {name, answer, end} for each: what the client shows, and what it says of the
// turn's end.
import { text } from 'node:stream/consumers';
import { launch } from './browser.mjs';

const { chromium, origin, visits } = JSON.parse(await text(process.stdin));
const browser = await launch(chromium);
const context = await browser.newContext({ baseURL: origin });
const errors = []; // that nobody has caught

async function open(path) {
  const page = await context.newPage();
  page.on('pageerror', (e) => errors.push(e));
  await page.goto(path);
  return page;
}

let modules;

const clients = {
  async eventsource({ gateway, input }) {
    const page = await open('eventsource/?gateway=' + encodeURIComponent(gateway));
    await page.getByLabel('Message').fill(input);
    await page.getByRole('button', { name: 'Send' }).click();
    const status = page.getByRole('status');
    if (input === 'stalls') {
      await page.locator('#answer', { hasText: 'One' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
    }
    await status.filter({ hasText: /done|model_error|lost|refused|stopped/ }).waitFor();
    return { answer: await page.locator('#answer').textContent(), end: await status.textContent() };
  },

  // The module in a page of the same files, one for all visits.
  async fetch({ gateway, input }) {
    modules ??= open('fetch/');
    return (await modules).evaluate(async ({ gateway, input }) => {
      const { ask } = await import('./client.mjs');
      const stop = new AbortController();
      let answer = '', end;
      try {
        for await (const { event, data } of ask(gateway, input, { signal: stop.signal })) {
          if (event === 'response_delta') answer += data.delta;
          if (event === 'response_reset') answer = data.accumulated;
          if (event === 'error') end = data.error_type;
          if (event === 'done' && data.success) end = 'done';
          if (input === 'stalls' && answer) stop.abort();
        }
      } catch (e) {
        end = stop.signal.aborted ? 'stopped' : e.constructor.name;
      }
      return { answer, end };
    }, { gateway, input });
  },
};

await Promise.all(visits.map(async (visit) => {
  console.log(JSON.stringify({ name: visit.name, ...await clients[visit.client](visit) }));
}));
if (errors.length) throw new Error(errors.join('\n'));
await browser.close();
