// Opens the HTML of e-mails in Chromium. Reads {chromium, mails: [{name, html}]} from stdin,
// and writes {name, requests, faults, text} for each: what it asked the network for, what it
// ran, and what it shows.
import { text } from 'node:stream/consumers';
import { launch } from './browser.mjs';

const { chromium, mails } = JSON.parse(await text(process.stdin));
const browser = await launch(chromium);
const context = await browser.newContext();
let requests = [];
let faults = [];
context.on('request', (r) => requests.push(r.url()));
const page = await context.newPage();
page.on('console', (m) => faults.push(`console: ${m.text()}`));
page.on('pageerror', (e) => faults.push(`uncaught: ${e.message}`));
page.on('dialog', async (d) => { faults.push(`dialog: ${d.message()}`); await d.dismiss(); });
page.on('popup', () => faults.push('popup'));

for (const { name, html } of mails) {
  requests = [];
  faults = [];
  await page.setContent(html, { waitUntil: 'load' });
  const seen = await page.evaluate(() => ({
    text: document.body.innerText,
    elements: [...document.querySelectorAll('script, img, iframe, object, embed, form, input, link, style, video, audio, base, meta[http-equiv], [onclick], [onerror], [onload], a[href^="javascript:" i]')].map((e) => e.outerHTML),
  }));
  faults.push(...seen.elements.map((e) => `element: ${e}`));
  process.stdout.write(JSON.stringify({ name, requests, faults, text: seen.text }) + '\n');
}
await browser.close();
