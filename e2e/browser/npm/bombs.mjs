// Draws texts with the page's own Markdown in Chromium. Reads {chromium, base, texts:
// [{name, text}]} from stdin, and writes {name, ms} for each: how long the page was at work
// while the text came in pieces and was drawn after each, the least of two times.
import { text } from 'node:stream/consumers';
import { launch } from './browser.mjs';

const { chromium, base, texts } = JSON.parse(await text(process.stdin));
const browser = await launch(chromium);
const page = await browser.newPage();
await page.goto(base);
for (const { name, text } of texts) {
  const ms = await page.evaluate(async (source) => {
    const { Markdown } = await import('/view/markdown.js');
    const took = [];
    for (let round = 0; round < 2; round++) {
      const root = document.body.appendChild(document.createElement('div'));
      const begun = performance.now();
      const markdown = new Markdown(root);
      for (let at = 0; at < source.length; at += 1024) {
        markdown.append(source.slice(at, at + 1024));
        markdown.draw();
      }
      markdown.end();
      took.push(performance.now() - begun);
      root.remove();
    }
    return Math.min(...took);
  }, text);
  console.log(JSON.stringify({ name, ms }));
}
await browser.close();
