// Visits streams with EventSource, as different engines have it, and never closes
// one; or with fetch-event-source, which tries three times. Reads {chromium, origin,
// visits: [{name, engine, url}]} from stdin, makes all visits at once, Chromium's from
// a page of the origin, and writes {name, seen} for each when its engine has given up.
import { text } from 'node:stream/consumers';
import { EventSource as NpmEventSource } from 'eventsource';
import { EventSource as UndiciEventSource } from 'undici';
import { launch } from './browser.mjs';

const { chromium: executablePath, origin, visits } = JSON.parse(await text(process.stdin));

// watch also runs in pages, so it stands on its own.
function watch(url, EventSource = globalThis.EventSource) {
  return new Promise((resolve) => {
    const seen = [];
    const es = new EventSource(url);
    let errors = 0;
    const note = (e) => {
      seen.push({ type: e.type, data: typeof e.data === 'string', state: es.readyState });
      if (e.type !== 'error' || typeof e.data === 'string') return;
      if (es.readyState !== EventSource.CLOSED && ++errors < 4) return;
      es.close(); // for the case that it is never told to
      resolve(seen);
    };
    for (const type of ['open', 'message', 'start', 'thinking', 'tool_call', 'response_delta', 'error', 'done']) {
      es.addEventListener(type, note);
    }
  });
}

// post makes a POST of the query.
async function post(url) {
  globalThis.window = globalThis; // all of a browser that it uses
  globalThis.document = { removeEventListener() {} };
  const { fetchEventSource } = await import('@microsoft/fetch-event-source');
  const { origin, pathname, searchParams } = new URL(url);
  const { idempotency_key: key, ...body } = Object.fromEntries(searchParams);
  let errors = 0;
  await fetchEventSource(origin + pathname, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(body),
    openWhenHidden: true,
    onerror(e) { if (++errors === 3) throw e; },
  }).catch(() => {});
  return []; // what it has asked for is of interest, not what it has seen
}

let page; // one for all visits: an EventSource of it is to any origin
async function openPage() {
  const browser = await launch(executablePath);
  const page = await browser.newPage();
  await page.goto(origin);
  return page;
}

const engines = {
  eventsource: (url) => watch(url, NpmEventSource),
  undici: (url) => watch(url, UndiciEventSource),
  'fetch-event-source': post,
  async chromium(url) {
    page ??= openPage();
    return (await page).evaluate(watch, url);
  },
};

await Promise.all(visits.map(async ({ name, engine, url }) => {
  console.log(JSON.stringify({ name, seen: await engines[engine](url) }));
}));
await (await page)?.context().browser().close();
