// Answers that are checked, and their forms for channels.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

const ids = (turn, passed) => turn.getByTestId('criterion').and(turn.page().locator(`[data-passed="${passed}"]`)).evaluateAll((all) => all.map((c) => c.dataset.id));

// The draft has a number that nobody knows: it is struck out, and the second text is sent.
export async function refined(v) {
  await v.drafts();
  await v.ask('Guess how many todos I have');
  const turn = v.page.getByTestId('turn').last();
  await v.steps(turn);
  await turn.getByTestId('draft').first().waitFor();
  await turn.locator('[data-phase=validating]').first().waitFor();
  await v.turn('done');
  assert.equal(v.bodies[0].drafts, true);
  await turn.getByTestId('draft').nth(1).waitFor({ state: 'detached' }); // the second one was sent
  await counts(turn.getByTestId('draft'), 1);
  const draft = turn.getByTestId('draft');
  assert.match(await text(draft), /^Draft 1\s+written again: .*numbers_backed.* failed/);
  await draft.locator('summary').click();
  assert.match(await draft.locator('.prose').evaluate((n) => getComputedStyle(n).textDecorationLine), /line-through/);
  assert.match(await text(turn.getByTestId('outcome')), /^Checked: \d+ of \d+/);
  assert.match(await text(turn.getByTestId('scorecard')), /Passed after it was written again/);
  assert.deepEqual(await turn.locator('.phases [data-failed]').evaluateAll((all) => all.map((p) => p.dataset.phase)), ['validating']); // the first time, not the second
  assert.match(await text(turn.locator('[data-phase=refining]')), / at \d/);
  assert.deepEqual(await ids(turn, false), []);
  assert.ok((await ids(turn, true)).includes('numbers_backed'));
  const phases = await turn.locator('.phases li').evaluateAll((all) => all.map((p) => p.dataset.phase));
  assert.deepEqual(phases, ['planning', 'extracting', 'composing', 'formatting', 'validating', 'refining', 'formatting', 'validating', 'sending']);
  await counts(turn.locator('[aria-current]'), 0);
  await counts(turn.getByTestId('answer'), 1);
  assert.notEqual(await text(turn.getByTestId('answer')), await draft.locator('.prose').textContent());
}

// Neither text passes: both are struck out, and the page says so.
export async function withheld(v) {
  await v.drafts();
  await v.ask('Guess wildly how many todos I have');
  const turn = await v.turn('done');
  assert.match(await text(turn.locator('.note[data-error-type=quality_failed]')), /^This answer did not pass its checks\. .*numbers_backed/);
  await v.steps(turn);
  assert.match(await text(turn.getByTestId('scorecard')), /Withheld/);
  await counts(turn.locator('[data-testid=draft][data-struck]'), 2);
  assert.ok((await ids(turn, false)).includes('numbers_backed'));
  assert.equal(await turn.getByTestId('error').first().getAttribute('data-error-type'), 'quality_failed');
  assert.match(await text(turn.getByTestId('answer')), /reliable answer/);
}

// A phone's bubble, and what it costs to send.
export async function sms(v) {
  await v.channel('sms');
  await v.ask('Check my timesheet');
  const turn = await v.turn('done');
  assert.equal(v.bodies[0].channel, 'sms');
  assert.equal(v.bodies[0].drafts, undefined);
  await turn.getByTestId('channel-message').first().waitFor();
  await counts(turn.getByTestId('channel-message'), 1);
  await counts(turn.getByTestId('answer'), 0);
  await counts(turn.getByTestId('draft'), 0);
  assert.match(await text(turn.getByTestId('counter')), /^1 segment · \d+ of 160 units · GSM-7$/);
  assert.match(await text(turn.getByTestId('steps')), /[Cc]hecked: (\d+) of \1$/);
}

// The e-mail is shown in a frame that may do nothing, with its own styles.
export async function email(v) {
  await v.channel('email');
  await v.ask('Show my todos as a table');
  const turn = await v.turn('done');
  const frame = turn.locator('iframe');
  assert.equal(await frame.getAttribute('sandbox'), '');
  const inside = frame.contentFrame();
  await inside.locator('table').waitFor();
  assert.equal(await inside.locator('th').first().evaluate((n) => getComputedStyle(n).backgroundColor), 'rgb(244, 244, 244)');
}

// The card is shown as a table again, and an EventSource asks for it as well.
export async function teams(v) {
  await v.channel('teams');
  await v.byEventSource();
  await v.ask('Show my todos as a table');
  const turn = await v.turn('done');
  assert.deepEqual(v.requests, ['GET']);
  assert.match(await text(turn.locator('.adaptive')), /Todo\s+Due\s+Priority/);
  assert.equal(await text(turn.locator('.adaptive th').first()), 'Todo');
  assert.match(await text(turn.getByTestId('counter')), /Adaptive Card/);
}

// All of it with the keyboard alone.
export async function whatsapp(v) {
  await v.at('plus').focus();
  await v.page.keyboard.press('Enter');
  await v.page.locator('[data-testid=channel]:focus').waitFor();
  await v.page.keyboard.press('ArrowDown');
  await v.page.keyboard.press('ArrowDown');
  await v.page.keyboard.press('Enter');
  await v.page.getByText('For WhatsApp', { exact: true }).waitFor();
  await v.at('input').focus();
  await v.page.keyboard.type('Show my todos as a table');
  await v.page.keyboard.press('Enter');
  const turn = await v.turn('done');
  assert.equal(await turn.getByTestId('channel-message').getAttribute('data-channel'), 'whatsapp');
  assert.match(await text(turn.getByTestId('counter')), /of 4,096 characters/);
  assert.equal(await text(turn.locator('.phone strong')), 'buy eggs'); // and no mark that WhatsApp hides
  assert.doesNotMatch(await text(turn.locator('.phone')), /\*/);
}

// A longer answer goes out in parts.
export async function parts(v) {
  await v.channel('sms');
  await v.ask('long');
  const turn = await v.turn('done');
  const messages = turn.getByTestId('channel-message');
  await messages.nth(1).waitFor();
  await counts(messages, 2);
  assert.match(await text(messages.first()), /SMS, part 1 of 2\s+\(1\/2\) /);
  assert.match(await text(messages.last().getByTestId('counter')), /segments · \d+ of \d+ units/);
}
