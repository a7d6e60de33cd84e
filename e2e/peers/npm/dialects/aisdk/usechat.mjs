// Talks to pages of examples/usechat, bundled by bundle.mjs, in jsdom or in Chromium.
//
// Reads {"pages": [{"react", "chat"}], "dir", "origin", "plain", "asking", "release", "chromium"} from
// stdin: where the bundles are, the gateways that the pages use, of which one has calls confirmed,
// and what ends the story of a chat; without a path of chromium it is jsdom. Writes {react: {"talk",
// "asked", "resumed", "faults"}}: what the pages show after each step, and their complaints.
import { readFile } from 'node:fs/promises';
import { json } from 'node:stream/consumers';

const job = await json(process.stdin);
const patience = setTimeout(() => { console.error('nothing happens any more'); process.exit(1); }, 180_000);

// talk is run by the page: it says something, stops the answer or answers a question, and reports
// what is shown when the page is at rest, or what it waits for is.
async function talk(steps) {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const until = (there) => new Promise((resolve) => {
    const observer = new MutationObserver(() => look());
    const look = () => { if (there()) { observer.disconnect(); resolve(); } };
    observer.observe(document, { subtree: true, childList: true, characterData: true });
    look();
  });
  const button = (name) => all('button').find((b) => b.textContent === name);
  const report = [];
  await until(() => all('form').length);
  for (const { say, shows, press, fails } of steps) {
    const status = () => all('output')[0].textContent;
    const before = all('article').length;
    if (say !== undefined) {
      const input = all('input')[0];
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, say);
      input.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve)); // React draws it
      all('form')[0].requestSubmit();
    }
    const answer = () => (all('article').length === before + (say === undefined ? 0 : 2) ? all('article').at(-1) : undefined);
    if (shows) await until(() => all('article').at(-1)?.textContent.includes(shows));
    if (press) {
      await until(() => button(press) && (press === 'Stop' || status() === 'ready'));
      button(press).click();
    }
    const waits = () => all('legend').some((l) => /input-|approval-/.test(l.textContent));
    if (!shows || press) await until(() => (fails ? status() === 'error' && all('[role=alert]').length : status() === 'ready' && answer() && !waits()));
    report.push([...(fails ? all('[role=alert]') : all('article').at(-1).children)].map((e) => `${e.tagName.toLowerCase()} ${e.textContent}`));
  }
  return report;
}

// inJSDOM opens a page. What jsdom lacks is Node's.
async function inJSDOM(path, faults) {
  const { JSDOM, VirtualConsole } = await import('jsdom');
  const virtualConsole = new VirtualConsole();
  for (const kind of ['error', 'warn', 'jsdomError']) virtualConsole.on(kind, (...what) => faults.push(what.join(' ')));
  const [html, script] = await Promise.all(['index.html', 'app.js'].map((file) => readFile(`${job.dir}/${path.split('?')[0]}${file}`, 'utf8')));
  const { window } = new JSDOM(html, { url: `${job.origin}/${path}`, runScripts: 'outside-only', pretendToBeVisual: true, virtualConsole });
  Object.assign(window, {
    fetch, Headers, Request, Response, ReadableStream, WritableStream, TransformStream, TextDecoderStream, TextEncoder, TextDecoder,
    AbortController, AbortSignal, structuredClone,
  });
  window.eval(script);
  return { talk: (steps) => window.eval(`(${talk})`)(steps), close: () => window.close() };
}

// inChromium opens a page. That a request was refused is in the console too.
let browser;
async function inChromium(path, faults) {
  const page = await browser.newPage();
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type()) && !m.text().includes('status of 422')) faults.push(m.text()); });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.goto(`${job.origin}/${path}`);
  return { talk: (steps) => page.evaluate(talk, steps), close: () => page.close() };
}

if (job.chromium) {
  const { launch } = await import('../../../../browser/npm/browser.mjs');
  browser = await launch(job.chromium);
}

async function visit({ react, chat }) {
  const seen = { faults: [] };
  const open = (gateway, id) => (job.chromium ? inChromium : inJSDOM)(
    `${react}/?gateway=${encodeURIComponent(gateway)}${id ? `&chat=${id}` : ''}`, seen.faults);
  const thing = `tea${chat}`; // the list is everybody's

  const page = await open(job.plain);
  seen.talk = await page.talk([
    { say: `Remind me to buy ${thing} tomorrow` }, { say: 'What is on my list?' }, { say: `Mark ${thing} as done` },
    { say: ' ', fails: true }, { say: 'What was my first question?' },
    { say: `Tell me the story of stop-${chat}`, shows: 'Once', press: 'Stop' },
  ]);
  await page.close();

  if (!react.startsWith('react-2.')) { // ai 5 knows no questions
    const page = await open(job.asking);
    seen.asked = await page.talk([
      { say: `Remind me to buy ${thing} today`, press: 'Allow' }, { say: `Remind me to buy more ${thing} today`, press: 'Reject' }, { say: 'What was my first question?' },
    ]);
    await page.close();
  }

  const first = await open(job.plain, chat);
  await first.talk([{ say: `Tell me the story of ${chat}`, shows: 'Once' }]);
  const again = await open(job.plain, chat);
  const early = await again.talk([{ shows: 'Once' }]);
  await fetch(`${job.release}?story=${chat}`, { method: 'POST' });
  seen.resumed = [...early, ...await again.talk([{ shows: 'upon a time.' }]), ...await first.talk([{ shows: 'upon a time.' }])];
  await first.close();
  await again.close();
  return [react, seen];
}

const seen = Object.fromEntries(await Promise.all(job.pages.map(visit)));
clearTimeout(patience);
await browser?.close();
process.stdout.write(JSON.stringify(seen));
