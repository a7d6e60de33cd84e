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
  assert.match(await text(turn), /Waits for your decision after /);
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
  await card.getByTestId('back').press('Enter');
  assert.equal(await v.page.evaluate(() => document.activeElement.dataset.testid), 'approve');
  await card.getByTestId('approve').click();
  const turn = await next(v);
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'completed');
  assert.match(await text(turn.getByTestId('answer')), /I've added buy eggs/);
  assert.equal(v.bodies[1].input, undefined);
  assert.equal(v.bodies[1].approval.calls[0].action, 'approve');
  await counts(card.getByTestId('approve'), 0);
}

export async function changed(v) {
  const card = await asked(v, 'buy milk');
  await card.getByTestId('modify').click();
  const box = card.getByTestId('arguments');
  await v.look('approval');
  const given = JSON.parse(await box.inputValue());
  await box.fill('{"title": ');
  await card.getByTestId('run-modified').click();
  assert.match(await text(card), /no JSON object/);
  await counts(v.page.locator('[data-testid=turn]'), 1);
  await box.fill(JSON.stringify({ ...given, title: 'buy oat milk' }));
  await card.getByTestId('run-modified').click();
  const turn = await next(v);
  assert.match(await text(turn.getByTestId('tool-card')), /buy oat milk/);
}

export async function disallowed(v) {
  const card = await asked(v, 'buy beer');
  await card.getByTestId('reject').focus();
  await v.page.keyboard.press('Enter');
  const turn = await next(v);
  await counts(turn.getByTestId('tool-card'), 1);
  assert.match(await text(turn.getByTestId('tool-card')), /not allowed/i, 'the call is told, and that nobody made it');
  assert.match(await text(card), /Not allowed/);
  assert.equal(await v.page.evaluate(() => document.activeElement.dataset.testid), 'decided', 'the focus stays where it was');
}

// Arguments that do not fit are refused, and the question can be answered again.
export async function unfit(v) {
  const card = await asked(v, 'buy tea');
  await card.getByTestId('modify').click();
  await card.getByTestId('arguments').fill('{"titel": 1}');
  await card.getByTestId('run-modified').click();
  await v.turn('refused');
  await card.getByTestId('approve').click();
  const turn = await v.turn('done');
  assert.match(await text(turn.getByTestId('answer').last()), /I've added buy tea/);
}
unfit.options = { allow: /422/ };
