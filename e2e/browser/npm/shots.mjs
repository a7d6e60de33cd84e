// Makes the pictures of the documents. Reads {chromium, folder, shots: [{name, base, ask,
// workflow, width, height, dark, show, steps, developer}]} from stdin, and writes {name, faults} for each.
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { Visit } from './page.mjs';

const { chromium, folder, shots } = JSON.parse(await text(process.stdin));
const browser = await launch(chromium);

for (const { name, base, ask, workflow, width = 1280, height = 800, dark = false, show, steps, developer } of shots) {
  const report = { name, faults: [] };
  try {
    const visit = await Visit.open(browser, base, {
      viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC',
    });
    report.faults = visit.faults;
    if (workflow) await visit.who(`workflow:${workflow}`);
    await visit.ask(ask);
    const turn = await visit.turn('done');
    if (steps) await visit.steps(turn);
    if (developer) await visit.dev();
    if (show) await visit.at(show).first().waitFor();
    await visit.page.mouse.move(0, 0);
    await visit.page.evaluate((testid) => {
      document.activeElement?.blur();
      const [shown] = [...document.querySelectorAll(`[data-testid=${testid ?? 'turn'}]`)];
      shown?.scrollIntoView({ block: testid ? 'center' : 'start' });
    }, show);
    await visit.page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
    await visit.close();
  } catch (e) {
    report.faults.push(e.stack);
  }
  console.log(JSON.stringify(report));
}
await browser.close();
