// Questions that wait for a person, found again in their conversation, and those of others.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// reloaded finds the question in its conversation again, once, on a page that was reloaded.
async function reloaded(v, words) {
  await v.turn('done');
  await v.page.reload();
  const card = v.at('approval').filter({ hasText: words });
  await card.waitFor();
  await counts(v.at('approval'), 1);
  await counts(v.at('turn'), 1);
  assert.equal(await v.at('dot').first().getAttribute('data-state'), 'waits');
  await v.at('under').getByText('A question waits for you above.').waitFor();
  return v.at('approval');
}

// A call of a tool.
export async function waitingCall(v) {
  await v.ask('Remind me to buy paint');
  const card = await reloaded(v, 'buy paint');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').focus();
  await v.page.keyboard.press('Enter');
  assert.equal((await answered).postDataJSON().calls[0].action, 'approve');
  await v.at('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  await v.steps(turn);
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'completed');
  assert.match(await text(turn.getByTestId('answer')), /I've added buy paint/);
  await card.waitFor({ state: 'detached' });
}

// A step of a workflow that waits for a person.
export async function waitingStep(v) {
  await v.who('workflow:refund');
  await v.ask('I want a refund of 30 EUR');
  const card = await reloaded(v, 'Refund 30 EUR?');
  await v.prepare();
  await v.look('approval');
  await card.getByTestId('message').fill('Fine by me');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').click();
  const { action, message } = (await answered).postDataJSON();
  assert.deepEqual({ action, message }, { action: 'approve', message: 'Fine by me' });
  await v.at('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  assert.match(await text(turn.locator('[data-testid=node]').filter({ hasText: 'pay' })), /done/);
  assert.notEqual(await text(turn.getByTestId('answer').last()), '');
  await card.waitFor({ state: 'detached' });
}

// The question in the conversation itself, and a no.
export async function waitingNo(v) {
  await v.who('workflow:refund');
  await v.ask('I want a refund of 40 EUR');
  const asked = await v.turn('done');
  await asked.getByTestId('reject').click();
  await v.page.getByTestId('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  await counts(turn.locator('[data-testid=node]').filter({ hasText: /^pay .*done/ }), 0);
}

// The fields: a value that does not fit is said at the card, and the question stays.
export async function waitingChanged(v) {
  await v.ask('Remind me to buy glue');
  const card = await reloaded(v, 'buy glue');
  await card.getByTestId('modify').click();
  for (const bad of ['{"title": ', '[1', 'x']) {
    await card.getByTestId('field-tags').fill(bad);
    assert.ok(await card.getByTestId('run-modified').isDisabled(), bad);
  }
  await card.getByTestId('field-tags').fill('');
  await v.prepare();
  await v.look('approval');
  await card.getByTestId('field-title').fill('');
  await card.getByTestId('run-modified').click();
  await card.getByRole('alert').waitFor();
  await counts(v.at('turn'), 1);
  await card.getByTestId('field-title').fill('buy strong glue');
  await card.getByTestId('run-modified').click();
  await v.at('turn').nth(1).waitFor();
  const turn = await v.turn('done');
  await v.steps(turn);
  assert.match(await text(turn.getByTestId('tool-card')), /buy strong glue/);
  await card.waitFor({ state: 'detached' });
}
waitingChanged.options = { allow: /422/ };

// Somebody else is faster: the page says so, runs nothing, and the question goes.
export async function waitingTaken(v) {
  await v.ask('Remind me to buy nails');
  await v.turn('done');
  const asked = v.page.getByTestId('turn').first();
  const status = await v.page.evaluate(async () => {
    const [{ id: conversation_id }] = JSON.parse(localStorage.getItem('sluice.conversations'));
    const { approvals: [{ task_id, approval_id }] } = await (await fetch(`approvals?${new URLSearchParams({ conversation_id })}`)).json();
    const reply = await fetch(`tasks/${task_id}/decision`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json' }, body: JSON.stringify({ approval_id, action: 'reject' }),
    });
    return reply.status;
  });
  assert.equal(status, 202);
  const card = asked.getByTestId('approval');
  await card.getByTestId('approve').click();
  await asked.getByTestId('decided').getByText('Answered already').waitFor();
  await counts(v.at('turn'), 1);
  await counts(v.at('approve'), 0);
  await counts(v.at('tool-card'), 0);
}
waitingTaken.options = { allow: /409/ };

// Nobody has answered in time.
export async function waitingLate(v) {
  await v.ask('Remind me to buy tape');
  await v.turn('done');
  const asked = v.page.getByTestId('turn').first();
  const card = asked.getByTestId('approval');
  await card.getByText('The time to answer is over').waitFor();
  await card.getByTestId('approve').click();
  await asked.getByTestId('decided').getByText('It came too late').waitFor();
  await counts(v.at('turn'), 1);
  await counts(v.at('approve'), 0);
  await counts(v.at('tool-card'), 0);
}
waitingLate.options = { allow: /410/ };

// An approver who is named finds the question of somebody else at the head of the list, with its form;
// the others do not.
export async function waitingBoss(v) {
  await v.who('workflow:pay');
  await v.ask('Pay');
  await v.turn('done');
  await counts(v.at('waiting'), 0);
  await v.fresh();
  await v.page.reload();
  await v.known();
  await counts(v.at('waiting'), 0);
  await v.settings();
  await v.at('user').fill('boss');
  await v.at('user').press('Tab');
  await v.page.keyboard.press('Escape');
  await v.at('waiting').click();
  const card = v.at('inbox').getByTestId('approval').filter({ hasText: 'Pay for it?' });
  await card.waitFor();
  await v.prepare();
  await v.look('inbox');
  assert.equal(await card.getByTestId('field-currency').inputValue(), 'EUR');
  assert.equal(await card.getByTestId('field-amount').inputValue(), '');
  await card.getByTestId('field-reason').fill('It is due');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').click();
  const { user_id, input } = (await answered).postDataJSON();
  assert.deepEqual({ user_id, input }, { user_id: 'boss', input: { reason: 'It is due', currency: 'EUR' } });
  await v.turn('done');
  await counts(v.at('waiting'), 0);
}
