// What waits for a person, answered from the list of what waits.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// reloaded waits in the inbox of a page that knows nothing of the turn.
async function reloaded(v, words) {
  await v.turn('done');
  await v.page.reload();
  const card = v.at('inbox').getByTestId('approval').filter({ hasText: words });
  await card.waitFor();
  await counts(v.at('turn'), 0);
  return card;
}

// A call of a tool.
export async function waitingCall(v) {
  await v.ask('Remind me to buy paint');
  const card = await reloaded(v, 'buy paint');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').focus();
  await v.page.keyboard.press('Enter');
  assert.equal((await answered).postDataJSON().calls[0].action, 'approve');
  const turn = await v.turn('done');
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'completed');
  assert.match(await text(turn.getByTestId('answer')), /I've added buy paint/);
  await card.waitFor({ state: 'detached' });
}

// A step of a workflow that waits for a person.
export async function waitingStep(v) {
  await v.at('workflow').selectOption('refund');
  await v.ask('I want a refund of 30 EUR');
  const card = await reloaded(v, 'Refund 30 EUR?');
  await v.prepare();
  await v.look('inbox');
  await card.getByTestId('message').fill('Fine by me');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').click();
  const { action, message } = (await answered).postDataJSON();
  assert.deepEqual({ action, message }, { action: 'approve', message: 'Fine by me' });
  const turn = await v.turn('done');
  assert.match(await text(turn.locator('[data-testid=node]').filter({ hasText: 'pay' })), /completed/);
  assert.notEqual(await text(turn.getByTestId('answer').last()), '');
  await card.waitFor({ state: 'detached' });
}

// The question in the conversation itself, and a no.
export async function waitingNo(v) {
  await v.at('workflow').selectOption('refund');
  await v.ask('I want a refund of 40 EUR');
  const asked = await v.turn('done');
  await asked.getByTestId('reject').click();
  await v.page.getByTestId('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  await counts(turn.locator('[data-testid=node]').filter({ hasText: /^pay .*completed/ }), 0);
}
