// Opens pages in Chromium that try to make it run turns, and pages that may. Reads
// {chromium, attacks: [{name, page, target, policy}], typed: [url], settled,
// uses: [{name, page, target}]} from stdin. A target is the URL of a turn, to which the
// name of the vehicle is added. When all attacks are under way it asks for settled, and
// goes on when that is answered. It writes {name, how, done} for each use and each way
// to ask: whether the turn was told to the end.
import { text } from 'node:stream/consumers';
import { launch } from './browser.mjs';

const { chromium, attacks, typed, settled, uses } = JSON.parse(await text(process.stdin));
const browser = await launch(chromium, '--ignore-certificate-errors', '--host-resolver-rules=MAP *.test 127.0.0.1');
const context = await browser.newContext({ ignoreHTTPSErrors: true });

async function open(url) {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

// load has a page load the turn in every way that there is beside a navigation. It
// runs in the page, as do the ways below.
function load({ target, policy }) {
  const url = (vehicle) => `${target}-${vehicle}`;
  const add = (tag, attributes, parent = document.body) => {
    const el = document.createElement(tag);
    if (policy) el.setAttribute('referrerpolicy', policy);
    for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
    parent.append(el);
    return el;
  };
  const form = (vehicle, method, enctype) => {
    add('iframe', { name: vehicle });
    const el = add('form', { action: url(vehicle), method, enctype, target: vehicle });
    for (const [name, value] of new URL(url(vehicle)).searchParams) add('input', { name, value }, el);
    el.submit();
  };
  add('img', { src: url('img') });
  add('img', { src: url('crossorigin'), crossorigin: 'anonymous' });
  add('link', { rel: 'stylesheet', href: url('stylesheet') });
  add('link', { rel: 'prefetch', href: url('prefetch') });
  add('link', { rel: 'preload', as: 'fetch', href: url('preload') });
  add('iframe', { src: url('iframe') });
  add('script', { src: url('script') });
  add('script', { src: url('module'), type: 'module' });
  add('object', { data: url('object') });
  add('embed', { src: url('embed') });
  add('video', { src: url('video') });
  add('div', { style: `background-image: url("${url('background')}")` }).textContent = 'x';
  form('form', 'get', 'application/x-www-form-urlencoded');
  form('form-post', 'post', 'application/x-www-form-urlencoded');
  form('form-text', 'post', 'text/plain');
  navigator.sendBeacon(url('beacon'), '{"input":"hi"}');
  add('a', { href: '#', ping: url('ping') }).click();
  for (const [vehicle, init] of Object.entries({
    fetch: {},
    'no-cors': { mode: 'no-cors' },
    'no-cors-stream': { mode: 'no-cors', headers: { Accept: 'text/event-stream' } },
    'no-cors-keepalive': { mode: 'no-cors', keepalive: true, credentials: 'include' },
    'no-cors-post': { mode: 'no-cors', method: 'POST', body: '{"input":"hi"}' },
  })) fetch(url(vehicle), init).catch(() => {});
  new EventSource(url('eventsource'));
}

const navigations = {
  location: (url) => { location.href = url; },
  link: (url) => {
    const a = document.createElement('a');
    a.href = url;
    document.body.append(a);
    a.click();
  },
};

async function attack({ page: url, target, policy }) {
  await (await open(url)).evaluate(load, { target, policy });
  const page = await context.newPage();
  for (const [vehicle, go] of Object.entries(navigations)) {
    await page.goto(url);
    const gone = page.waitForURL((there) => there.pathname === '/chat/stream', { waitUntil: 'commit' });
    // The page may be gone before it can say so.
    await page.evaluate(go, `${target}-${vehicle}`).catch(() => {});
    await gone;
  }
}

const ways = {
  eventsource: (url) => new Promise((resolve) => {
    const es = new EventSource(url);
    es.addEventListener('done', () => { es.close(); resolve(true); });
    es.addEventListener('error', (e) => { if (typeof e.data !== 'string') { es.close(); resolve(false); } });
  }),
  get: async (url) => /^event: done$/m.test(await (await fetch(url)).text()),
  post: async (url) => {
    const { origin, pathname, searchParams } = new URL(url);
    const reply = await fetch(origin + pathname + '?user_id=' + searchParams.get('user_id'), {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(Object.fromEntries(searchParams)),
    });
    return /^event: done$/m.test(await reply.text());
  },
};

await Promise.all([
  ...attacks.map(attack),
  ...typed.map(async (url) => { await (await context.newPage()).goto(url); }),
]);
await fetch(settled);
await Promise.all(uses.map(async ({ name, page, target }) => {
  const visit = await open(page);
  for (const [how, go] of Object.entries(ways)) {
    console.log(JSON.stringify({ name, how, done: await visit.evaluate(go, `${target}-${how}`).catch(() => false) }));
  }
}));
await browser.close();
