// A team of agents: who answers, what each of them does, and one answer.
import assert from 'node:assert/strict';
import { text } from '../page.mjs';

// The decision, both agents and the joined answer; and the agents in the panel.
export async function team(v) {
  await v.ask('Dim the kitchen lights to 30% and play some jazz');
  await v.turn('done');
  const shown = await text(v.at('team'));
  for (const part of ['light-agent', 'music-agent']) assert.ok(shown.includes(part), `${part} in ${shown}`);
  assert.equal(await v.at('agent').count(), 2);
  const all = await text(v.page.locator('#turns'));
  assert.match(all, /The kitchen lights are at 30%\. Now playing: jazz\./);
  const agents = v.at('agent-list');
  await v.page.locator('details', { has: agents }).locator('summary').first().click();
  assert.equal(await v.at('agent-item').count(), 3);
}

// A request that is not clear becomes a question.
export async function question(v) {
  await v.ask('Make it cozy');
  await v.turn('done');
  assert.match(await text(v.page.locator('#turns')), /What would you like me to do\?/);
}
