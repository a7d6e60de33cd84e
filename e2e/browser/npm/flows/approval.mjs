// Calls that a person must allow: three buttons, an editor, and the turn that goes on.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// asked asks for a todo and waits for the question about it.
async function asked(v, title) {
  await v.ask(`Remind me to ${title}`);
  await v.turn('done');
  const turn = v.page.locator('[data-testid=turn]').first();
  const card = turn.getByTestId('approval');
  assert.match(await text(card), new RegExp(title));
  assert.match(await text(card), /^Allow create_todo\?\s+This writes data on todo\./);
  assert.match(await text(card), /Open for (\d+ h )?\d+ min/);
  await counts(card.locator('button.main, button.danger'), 1);
  await counts(v.at('approval'), 1); // once a page
  await counts(turn.getByTestId('tool-card'), 0);
  await v.prepare();
  await v.look('approval');
  return card;
}

const next = async (v) => {
  await v.page.locator('[data-testid=turn]').nth(1).waitFor();
  return v.turn('done');
};

export async function allowed(v) {
  const card = await asked(v, 'buy eggs');
  await card.getByTestId('modify').click();
  assert.equal(await v.page.evaluate(() => document.activeElement.name), 'title', 'the first field has the focus');
  await card.getByTestId('back').press('Enter');
  await card.getByTestId('approve').click();
  const turn = await next(v);
  await v.steps(turn);
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'completed');
  assert.match(await text(turn.getByTestId('answer')), /I've added buy eggs/);
  assert.equal(v.bodies[1].input, undefined);
  assert.equal(v.bodies[1].approval.calls[0].action, 'approve');
  await counts(v.at('approve'), 0);
  assert.match(await text(v.at('decided')), /^You allowed create_todo at /);
}

export async function changed(v) {
  const card = await asked(v, 'buy milk');
  await card.getByTestId('modify').click();
  await v.look('approval');
  await card.getByTestId('field-tags').fill('[1');
  assert.ok(await card.getByTestId('run-modified').isDisabled(), 'a value is not JSON yet');
  await card.getByTestId('field-tags').fill('');
  await card.getByTestId('field-title').fill('buy oat milk');
  await card.getByTestId('run-modified').click();
  const turn = await next(v);
  await v.steps(turn);
  assert.match(await text(turn.getByTestId('tool-card')), /buy oat milk/);
}

export async function disallowed(v) {
  const card = await asked(v, 'buy beer');
  await card.getByTestId('reject').focus();
  await v.page.keyboard.press('Enter');
  const turn = await next(v);
  assert.equal(await v.page.evaluate(() => document.activeElement.dataset.testid), 'decided', 'the focus stays where it was');
  await v.steps(turn);
  await counts(turn.getByTestId('tool-card'), 1);
  assert.match(await text(turn.getByTestId('tool-card')), /not allowed/i, 'the call is told, and that nobody made it');
  assert.match(await text(v.at('decided')), /^You denied create_todo/);
}

// Arguments that do not fit are refused, and the question can be answered again.
export async function unfit(v) {
  const card = await asked(v, 'buy tea');
  await card.getByTestId('modify').click();
  await card.getByTestId('field-title').fill('');
  await card.getByTestId('run-modified').click();
  await card.getByRole('alert').getByText('Check it, and send it again').waitFor();
  await counts(v.at('turn'), 1);
  await card.getByTestId('field-title').fill('buy green tea');
  await card.getByTestId('run-modified').click();
  const turn = await next(v);
  assert.match(await text(turn.getByTestId('answer').last()), /I've added buy green tea/);
}
unfit.options = { allow: /422/ };
