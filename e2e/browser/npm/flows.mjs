// Goes through flows of the page. Reads {chromium, screenshots, flows: [{name, base, key}]}
// from stdin, and writes {name, faults, facts, ms} for each.
import { text } from 'node:stream/consumers';
import { launch } from './browser.mjs';
import * as access from './flows/access.mjs';
import * as approval from './flows/approval.mjs';
import * as branches from './flows/branches.mjs';
import * as channel from './flows/channel.mjs';
import * as inbox from './flows/inbox.mjs';
import * as kept from './flows/kept.mjs';
import * as look from './flows/look.mjs';
import * as paths from './flows/paths.mjs';
import * as tasks from './flows/tasks.mjs';
import * as team from './flows/team.mjs';
import * as trace from './flows/trace.mjs';
import * as turn from './flows/turn.mjs';
import { Visit } from './page.mjs';

const { chromium, screenshots, flows } = JSON.parse(await text(process.stdin));
const all = { ...access, ...approval, ...branches, ...channel, ...inbox, ...kept, ...look, ...paths, ...tasks, ...team, ...trace, ...turn };
const browser = await launch(chromium);

async function go({ name, base, key }) {
  const begun = performance.now();
  const flow = all[name];
  const report = { name, faults: [], facts: {} };
  try {
    const visit = await Visit.open(browser, base, flow.options);
    report.faults = visit.faults;
    visit.key = key;
    visit.folder = screenshots;
    try {
      report.facts = await flow(visit) ?? {};
      await visit.screenshot(screenshots, name);
      if (flow.options?.javaScriptEnabled !== false) await visit.audit(); // axe is a script, too
      await visit.screenshot(screenshots, `${name}-narrow`); // and dark, as the audit leaves it
    } catch (e) {
      await visit.screenshot(screenshots, `${name}-failed`);
      throw e;
    } finally {
      await visit.close();
    }
  } catch (e) {
    report.faults.push(e.stack);
  }
  console.log(JSON.stringify({ ...report, ms: Math.round(performance.now() - begun) }));
}

// Two at a time: pages wait a good deal, and a small machine has no more to give.
const queue = flows.values();
await Promise.all([1, 2].map(async () => {
  for (const flow of queue) await go(flow);
}));
await browser.close();
