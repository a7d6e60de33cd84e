// What a turn shows, and how it ends.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// A question with the offline model: thoughts, a tool, an answer, and beside it what
// happened.
export async function ask(v) {
  await v.at('demo').waitFor();
  await v.ask('Remind me to buy eggs tomorrow at 3pm');
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('steps')), 'Thought, then used create_todo');
  await counts(turn.getByTestId('tool-card'), 0); // it is folded at first
  await v.steps(turn);

  const thoughts = turn.getByTestId('thoughts').first();
  assert.equal(await thoughts.getAttribute('open'), null, 'thoughts are folded at first');
  await thoughts.locator('summary').click();
  await thoughts.locator('.prose').getByText(/todo/i).first().waitFor();

  const card = turn.getByTestId('tool-card');
  assert.equal(await card.getAttribute('data-tool'), 'create_todo');
  assert.equal(await card.getAttribute('data-status'), 'completed');
  assert.match(await text(card), /title\s+buy eggs/);
  await card.getByRole('button', { name: 'Show all' }).click();
  assert.match(await text(card), /"status"/, 'the result is shown');
  assert.match(await text(turn.getByTestId('answer').last()), /I've added buy eggs/);
  assert.match(await text(turn.getByTestId('figures')), /^[\d.]+ s · [\d,]+ tokens$/);

  const events = await v.events();
  assert.equal(events[0], 'start');
  assert.equal(events.at(-1), 'done');
  for (const event of ['thinking', 'tool_call', 'response_delta']) assert.ok(events.includes(event), event);
  await turn.getByTestId('figures').click();
  assert.match(await text(v.at('waterfall')), /create_todo/);
  assert.match(await text(v.at('tokens')), /\d/);
  assert.doesNotMatch(await text(v.at('tokens')), /cached/, 'it was never asked');
  assert.doesNotMatch(await text(v.at('trace-summary')), /at the same time/, 'one agent works in a row');
  assert.deepEqual(v.requests, ['POST']);

  await v.dev('request');
  const id = await text(v.at('request-id'));
  assert.equal(await copied(v, 'copy-request-id'), id);
  return { request_id: id, curl: await copied(v, 'copy-curl') };
}
ask.options = { permissions: ['clipboard-read', 'clipboard-write'] };

async function copied(v, button) {
  await v.prepare();
  await v.at(button).click();
  await v.at(button).and(v.page.locator('[data-copied=true]')).waitFor();
  await v.look(button);
  await v.at(button).and(v.page.locator(':not([data-copied])')).waitFor();
  return v.page.evaluate(() => navigator.clipboard.readText());
}

// The first model breaks off after a thought: another one answers, and the page says
// which, where it happened and at the end.
export async function fallback(v) {
  await v.ask('plain');
  const turn = await v.turn('done');
  assert.match(await text(turn.getByTestId('answer')), /^One two\.$/);
  await v.steps(turn);
  assert.match(await text(turn.getByTestId('model-change')), /^gemini-second answers in place of default\s+unavailable$/);
  await counts(turn.getByTestId('thoughts'), 2);
  await v.dev();
  assert.match(await text(v.at('tokens')), /in, [\d,]+ of them cached, [\d,]+ out/);
  assert.match(await text(v.at('trace-row').last()), /Another model|Model/);
  const events = await v.events();
  assert.deepEqual(events.slice(0, 4), ['start', 'thinking', 'model', 'thinking']);
}

// A model breaks off in the middle of its answer: what it said is gone as soon as another one
// answers, while the turn goes on and at its end, and what stands before it stays.
export async function takenBack(v) {
  await v.ask('holds');
  await v.at('answer').getByText('Another', { exact: true }).waitFor();
  await counts(v.at('answer'), 1);
  await v.at('stop').click();
  await v.turn('stopped');
  await v.ask('plain');
  const turn = await v.turn('done');
  const answers = await turn.getByTestId('answer').allInnerTexts();
  assert.deepEqual(answers.map((a) => a.trim()), ['I look that up.', 'You have nothing to do.']);
  await counts(turn.locator('table'), 0);
  await v.steps(turn);
  assert.match(await text(turn.getByTestId('model-change')), /^gemini-second answers in place of default/);
  const events = await v.events();
  assert.deepEqual(events.slice(events.indexOf('model')), ['model', 'response_reset', 'response_delta', 'response_delta', 'response_delta', 'done']);
}

// A turn over EventSource.
export async function eventsource(v) {
  await v.byEventSource();
  await v.at('under').getByText('goes by EventSource').waitFor();
  await v.ask('plain');
  assert.match(await text((await v.turn('done')).getByTestId('answer')), /One two/);
  assert.deepEqual(v.requests, ['GET']);
}

// A second turn brings along the messages of the first; a GET cannot. Another conversation begins
// with nothing.
export async function history(v) {
  await v.ask('plain');
  await v.turn('done');
  await v.ask('cuts');
  await v.turn('failed');
  await v.ask('plain-again');
  await v.turn('done');
  const [first, second, third] = v.bodies;
  assert.equal(first.history, undefined);
  const exchange = [{ role: 'user', content: 'plain' }, { role: 'assistant', content: 'One two.' }];
  assert.deepEqual(second.history, exchange);
  assert.deepEqual(third.history, [...exchange, { role: 'user', content: 'cuts' }, { role: 'assistant', content: 'Half an answer' }]);
  assert.equal(third.conversation_id, first.conversation_id);

  await v.byEventSource();
  await v.ask('plain-as-a-GET');
  await v.turn('done');
  await v.fresh();
  assert.equal(await v.at('eventsource').isChecked(), false, 'it was for one turn');
  await v.ask('plain-once-more');
  await v.turn('done');
  assert.equal(v.bodies.at(-1).history, undefined);
  assert.deepEqual(v.requests, ['POST', 'POST', 'POST', 'GET', 'POST']);
}

// A message is edited, an answer asked for once more, and both versions stay.
export async function versions(v) {
  await v.ask('plain-first');
  await v.turn('done');
  await v.ask('plain-second');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await v.at('input').press('ArrowUp'); // the last message, from an empty box
  await v.at('editor').fill('plain-edited');
  await v.at('editor').press('Enter');
  await v.at('question').getByText('plain-edited').waitFor();
  await v.turn('done');
  await counts(v.at('turn'), 2);
  assert.equal(await text(v.at('version')), '2/2');
  assert.deepEqual(v.bodies.at(-1).history, v.bodies[1].history, 'the same messages before it');
  await v.page.getByRole('button', { name: 'Previous version' }).click();
  await v.at('question').getByText('plain-second').waitFor();
  await v.at('turn').first().hover();
  await v.at('turn').first().getByTestId('edit').click();
  await v.at('editor').fill('plain-other');
  await v.at('send-edit').click();
  await v.at('question').getByText('plain-other').waitFor();
  await v.turn('done');
  assert.deepEqual(v.bodies.at(-1).history, [], 'an empty history leaves the memory of the gateway alone');
  await counts(v.at('turn'), 1);
  await v.at('again').click();
  await v.page.getByText('3/3').waitFor();
  await v.turn('done');
  await v.page.reload();
  await v.page.getByText('3/3').waitFor();
  await v.page.getByRole('button', { name: 'Previous version' }).click();
  await v.page.getByRole('button', { name: 'Previous version' }).click();
  await counts(v.at('turn'), 2);
}

// A message that is sent while a turn runs waits for it, can be taken back, and can interrupt it.
export async function waits(v) {
  await v.stalls('stalls-waits');
  await v.ask('plain-queued');
  await v.at('queued').waitFor();
  await v.at('under').getByText('Your message waits for this answer.').waitFor();
  await v.at('take-back').click();
  assert.equal(await v.at('input').inputValue(), 'plain-queued');
  await v.at('send').click();
  await v.at('interrupt').click();
  await v.at('question').getByText('plain-queued').waitFor();
  await v.turn('done');
  assert.deepEqual(v.requests, ['POST', 'POST']);
}

// A turn is stopped; the gateway stops as well.
export async function stop(v) {
  await v.stalls('stalls-stop');
  await v.at('stop').click();
  await v.turn('stopped');
  await v.at('stop').waitFor({ state: 'hidden' });
  assert.match(await text(v.at('stopped')), /^Stopped\. What tools did stays done\./);
  await v.dev('request');
  return { request_id: await text(v.at('request-id')) };
}

// The model fails for once: the same question again is one click away.
export async function retry(v) {
  await v.ask('flaky');
  const turn = await v.turn('failed');
  const error = turn.getByTestId('error');
  assert.equal(await error.getAttribute('data-error-type'), 'model_unavailable');
  assert.equal(await error.getAttribute('data-fatal'), 'true');
  assert.match(await text(error), /^The model did not answer\. Nothing was changed\./);
  await v.at('retry').click();
  assert.match(await text((await v.turn('done')).getByTestId('answer')), /Better now/);
  assert.deepEqual(v.requests, ['POST', 'POST']);
  assert.equal(await text(v.at('version')), '2/2');
}

// A request that would fail again is not offered again. Over EventSource the event has the name
// of the connection's own error.
export async function hopeless(v) {
  for (const transport of ['fetch', 'eventsource']) {
    await v.via(transport);
    await v.ask(`fails-${transport}`);
    const error = (await v.turn('failed')).getByTestId('error');
    assert.equal(await error.getAttribute('data-error-type'), 'model_error');
    await counts(v.at('retry'), 0);
    await v.fresh();
  }
  await v.ask('fails-once-more');
  await v.turn('failed');
}

// A tool fails, and the turn goes on.
export async function tool(v) {
  await v.ask('badtool');
  const turn = await v.turn('done');
  await v.steps(turn);
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'failed');
  const error = turn.getByTestId('error');
  assert.equal(await error.getAttribute('data-error-type'), 'tool_execution_failed');
  assert.equal(await error.getAttribute('data-fatal'), 'false');
  await counts(v.at('retry'), 0);
}

// Gemini has failed once too often. The page says so, and when to try again.
export async function breaker(v) {
  await v.dev('gateway');
  const gemini = v.page.locator('[data-testid=breaker][data-service=gemini]');
  assert.equal(await gemini.getAttribute('data-state'), 'closed');
  await v.ask('cuts');
  await v.turn('failed');
  await gemini.and(v.page.locator('[data-state=open]')).waitFor();
  assert.match(await text(v.at('rests')), /^The model is resting, \d+ s$/);
  await v.ask('cuts');
  await v.page.locator('[data-testid=turn][data-state=failed]').nth(1).waitFor();
  const turn = await v.turn('failed');
  assert.equal(await turn.getByTestId('error').getAttribute('data-error-type'), 'model_unavailable');
  assert.ok(await turn.getByTestId('retry').isDisabled(), 'a retry has to wait until the breaker lets it through');
  assert.match(await text(turn.getByTestId('retry')), /^Try again in \d+ s$/);
}

// The connection breaks in the middle: that is no error event, and nothing is sent
// again.
async function dropped(v) {
  await v.stalls('stalls-dropped');
  await fetch(new URL('/cut', v.page.url()));
  const turn = await v.turn('dropped');
  assert.equal(await text(turn.getByTestId('answer')), 'One');
  await counts(turn.getByTestId('error'), 0);
  assert.match(await text(v.at('dropped')), /may have run/);
  await v.at('retry').click(); // it asks first
  assert.match(await text(v.at('doubt')), /Trying again may do it twice/);
  assert.equal(v.requests.length, 1);
}
dropped.options = { allow: /net::ERR_INCOMPLETE_CHUNKED_ENCODING/ };

export const droppedFetch = Object.assign((v) => dropped(v), dropped);
export const droppedEventSource = Object.assign(async (v) => {
  await v.byEventSource();
  await dropped(v);
}, dropped);

// The connection breaks before the reply. Chromium itself then sends the POST again if
// the connection was used before, and the key makes one turn of the two. Either way
// the page cannot know what the turn did, and says so.
export async function repeated(v) {
  await v.ask('plain-repeated');
  const turn = v.page.locator('[data-testid=turn]').and(v.page.locator('[data-state=refused], [data-state=dropped]'));
  await turn.waitFor();
  assert.match(await text(turn), /may have run/);
  await v.at('retry').or(v.page.getByTestId('edit')).first().waitFor();
}
repeated.options = { allow: /409 \(Conflict\)|net::ERR_EMPTY_RESPONSE/ };

// The gateway has no place for another stream, and says so before it opens one.
export async function refused(v) {
  await v.page.evaluate(async () => {
    globalThis.held = await fetch('/chat/stream?input=stalls-held');
  });
  await v.ask('plain');
  const error = (await v.turn('refused')).getByTestId('error');
  assert.equal(await error.getAttribute('data-error-type'), 'overloaded');
  await v.at('retry').waitFor();
}
refused.options = { allow: /503 \(Service Unavailable\)/ };

// A reload in the middle of a turn runs nothing again. The text that had come is still there, and the
// page says that the answer broke off.
export async function reload(v) {
  await v.stalls('stalls-reload');
  await v.page.reload();
  const turn = await v.turn('dropped');
  assert.match(await text(v.at('dropped')), /reloaded/);
  assert.equal(await text(turn.getByTestId('answer')), 'One');
  assert.match(await text(turn.getByTestId('question')), /stalls-reload$/);
  assert.deepEqual(v.requests, ['POST']);
}

// A turn goes on while another conversation is open, and its dot says so.
export async function background(v) {
  await v.stalls('stalls-background');
  await v.fresh();
  await v.ask('plain-beside');
  await v.turn('done');
  assert.deepEqual(await v.at('dot').evaluateAll((all) => all.map((d) => d.dataset.state)), ['runs']);
  await v.at('talk').filter({ hasText: 'stalls-background' }).getByRole('link').click();
  await v.turn('running');
  assert.equal(await text(v.at('answer')), 'One');
  await v.page.keyboard.press('Escape');
  await v.turn('stopped');
  await counts(v.at('dot'), 0);
}

// A text that was not sent survives a reload, and each conversation has its own.
export async function draft(v) {
  await v.at('input').fill('Half a message');
  await v.page.reload();
  await v.known();
  assert.equal(await v.at('input').inputValue(), 'Half a message');
  await v.ask('plain-draft');
  await v.turn('done');
  await v.at('input').fill('For this one');
  await v.fresh();
  assert.equal(await v.at('input').inputValue(), '');
  await v.at('talk').first().getByRole('link').click();
  assert.equal(await v.at('input').inputValue(), 'For this one');
}
