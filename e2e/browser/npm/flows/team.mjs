// A team of agents: who answers, what each of them does, and one answer.
import assert from 'node:assert/strict';
import { text } from '../page.mjs';

// Both agents in the line of steps, their texts apart, and the agents in Developer.
export async function team(v) {
  await v.ask('Dim the kitchen lights to 30% and play some jazz');
  const turn = await v.turn('done');
  assert.match(await text(turn.getByTestId('steps')), /^Asked light-agent and music-agent/);
  await v.steps(turn);
  const shown = await text(v.at('agents'));
  for (const part of ['light-agent', 'music-agent']) assert.ok(shown.includes(part), `${part} in ${shown}`);
  assert.equal(await v.at('agent').count(), 2);
  assert.match(await text(v.page.locator('#turns')), /The kitchen lights are at 30%\.\s+.*Now playing: jazz\./s);
  await v.dev('gateway');
  assert.equal(await v.at('agent-item').count(), 3);
}

// One agent is asked by its name.
export async function mention(v) {
  await v.at('input').pressSequentially('@mus');
  await v.at('who-option').and(v.page.locator('[data-value="agent:music-agent"]')).waitFor();
  await v.page.keyboard.press('Enter');
  assert.equal(await v.at('input').inputValue(), '');
  await v.ask('Play some jazz');
  await v.turn('done');
  assert.equal(v.bodies[0].agent, 'music-agent');
  assert.equal(v.bodies[0].input, 'Play some jazz');
}

// A request that is not clear becomes a question.
export async function question(v) {
  await v.ask('Make it cozy');
  await v.turn('done');
  assert.match(await text(v.page.locator('#turns')), /What would you like me to do\?/);
}
