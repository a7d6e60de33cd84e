// What waits for a person, answered from the list of what waits.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// reloaded waits in the inbox of a page that was reloaded, and shows of the turn what was said.
async function reloaded(v, words) {
  await v.turn('done');
  await v.page.reload();
  const card = v.at('inbox').getByTestId('approval').filter({ hasText: words });
  await card.waitFor();
  await counts(v.at('turn'), 1);
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
  await v.at('turn').nth(1).waitFor();
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
  await v.at('turn').nth(1).waitFor();
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

// The editor: no JSON and arguments that do not fit are said where they are written, and
// the question stays.
export async function waitingChanged(v) {
  await v.ask('Remind me to buy glue');
  const card = await reloaded(v, 'buy glue');
  await card.getByTestId('modify').click();
  const box = card.getByTestId('arguments');
  const given = JSON.parse(await box.inputValue());
  for (const bad of ['{"title": ', '[]', 'null', '"text"', '']) {
    await box.fill(bad);
    await card.getByTestId('run-modified').click();
    assert.match(await text(card.getByRole('alert')), /no JSON object/, bad);
  }
  await counts(v.at('turn'), 1);
  await v.prepare();
  await v.look('inbox');
  await box.fill('{"titel": 1}');
  await card.getByTestId('run-modified').click();
  await v.turn('refused');
  await card.getByTestId('modify').waitFor(); // the three choices are back
  assert.match(await text(card), /The answer was not taken/);
  await card.getByTestId('modify').click();
  await card.getByTestId('arguments').fill(JSON.stringify({ ...given, title: 'buy strong glue' }));
  await card.getByTestId('run-modified').click();
  const turn = await v.turn('done');
  assert.match(await text(turn.getByTestId('tool-card')), /buy strong glue/);
  await card.waitFor({ state: 'detached' });
}
waitingChanged.options = { allow: /422/ };

// Somebody else is faster: the page says so, runs nothing, and the question goes, in the
// conversation and in the list.
export async function waitingTaken(v) {
  await v.ask('Remind me to buy nails');
  await v.turn('done');
  const asked = v.page.getByTestId('turn').first();
  const listed = v.at('inbox').getByTestId('approval').filter({ hasText: 'buy nails' });
  await listed.waitFor();
  const status = await v.page.evaluate(async () => {
    const [conversation_id] = JSON.parse(localStorage.getItem('sluice.waits'));
    const { approvals: [{ task_id, approval_id }] } = await (await fetch(`approvals?${new URLSearchParams({ conversation_id })}`)).json();
    const reply = await fetch(`tasks/${task_id}/decision`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json' }, body: JSON.stringify({ approval_id, action: 'reject' }),
    });
    return reply.status;
  });
  assert.equal(status, 202);
  const card = asked.getByTestId('approval');
  await card.getByTestId('approve').click();
  const turn = await v.turn('refused');
  const error = turn.getByTestId('error');
  assert.match(await error.getAttribute('data-error-type'), /^approval_(used|conflict)$/);
  assert.match(await text(card), /not taken\. Somebody has answered before/);
  await counts(card.getByTestId('approve'), 0);
  await counts(v.at('tool-card'), 0);
  await listed.waitFor({ state: 'detached' });
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
  const turn = await v.turn('refused');
  assert.equal(await turn.getByTestId('error').getAttribute('data-error-type'), 'approval_expired');
  assert.match(await text(card), /not taken\. It came too late/);
  await counts(card.getByTestId('approve'), 0);
  await counts(v.at('tool-card'), 0);
  await v.at('inbox').getByText('Nothing waits.').waitFor();
}
waitingLate.options = { allow: /410/ };

// Who is named as an approver finds the question of somebody else, with what is to be filled
// in; the others do not.
export async function waitingBoss(v) {
  await v.at('workflow').selectOption('pay');
  await v.ask('Pay');
  await v.turn('done');
  await v.at('inbox').getByText('Nothing waits.').waitFor();
  await v.page.reload();
  await v.at('inbox').getByText('Nothing waits.').waitFor();
  await v.at('user').fill('boss');
  await v.at('user').press('Tab');
  const card = v.at('inbox').getByTestId('approval').filter({ hasText: 'Pay for it?' });
  await card.waitFor();
  const box = card.getByTestId('filled');
  assert.deepEqual(JSON.parse(await box.inputValue()), { reason: '', currency: 'EUR' }); // and no optional amount
  assert.match(await text(card), /It may also have: amount \(number\)/);
  await box.fill('{"reason": "It is due"}');
  const answered = v.page.waitForRequest((r) => r.url().endsWith('/decision'));
  await card.getByTestId('approve').click();
  const { user_id, input } = (await answered).postDataJSON();
  assert.deepEqual({ user_id, input }, { user_id: 'boss', input: { reason: 'It is due' } });
  await v.turn('done');
  await card.waitFor({ state: 'detached' });
}
