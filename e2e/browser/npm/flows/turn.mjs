// What a turn shows, and how it ends.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// A question with the offline model: thoughts, a tool, an answer, and beside it what
// happened.
export async function ask(v) {
  await v.at('offline-banner').waitFor();
  await v.ask('Remind me to buy eggs tomorrow at 3pm');
  const turn = await v.turn('done');

  const thoughts = turn.getByTestId('thoughts').first();
  assert.equal(await thoughts.getAttribute('open'), null, 'thoughts are folded at first');
  await thoughts.locator('summary').click();
  assert.match(await text(thoughts), /todo/);

  const card = turn.getByTestId('tool-card');
  assert.equal(await card.getAttribute('data-tool'), 'create_todo');
  assert.equal(await card.getAttribute('data-status'), 'completed');
  for (const fold of await card.locator('details:not([open]) > summary').all()) await fold.click();
  assert.match(await text(card), /"title"/);
  assert.match(await text(card), /"status"/, 'the result is shown');
  assert.match(await text(turn.getByTestId('answer').last()), /I've added buy eggs/);

  const events = await v.at('inspector').getByTestId('event-row').evaluateAll((rows) => rows.map((r) => r.dataset.event));
  assert.equal(events[0], 'start');
  assert.equal(events.at(-1), 'done');
  for (const event of ['thinking', 'tool_call', 'response_delta']) assert.ok(events.includes(event), event);
  assert.match(await text(v.at('waterfall')), /create_todo/);
  assert.match(await text(v.at('tokens')), /\d/);
  assert.doesNotMatch(await text(v.at('tokens')), /cached/, 'it was never asked');
  assert.deepEqual(v.requests, ['POST']);

  const id = await text(v.at('request-id'));
  assert.equal(await copied(v, 'copy-request-id'), id);
  return { request_id: id, curl: await copied(v, 'copy-curl') };
}
ask.options = { permissions: ['clipboard-read', 'clipboard-write'] };

async function copied(v, button) {
  await v.prepare();
  await v.at(button).click();
  await v.at(button).getByText('Copied').waitFor();
  await v.look(button);
  await v.at(button).getByText('Copy', { exact: true }).waitFor();
  return v.page.evaluate(() => navigator.clipboard.readText());
}

// The first model breaks off after a thought: another one answers, and the page says
// which, where it happened and at the end.
export async function fallback(v) {
  await v.ask('plain');
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('model-change')), 'gemini-second (spare) answers in place of default: unavailable');
  await counts(turn.getByTestId('thoughts'), 2);
  assert.match(await text(turn.getByTestId('answer')), /^One two\.$/);
  assert.match(await text(turn), / · gemini-second · /);
  assert.match(await text(v.at('tokens')), /in\s+[\d,]+\s+of them cached\s+[\d,]+\s+out/);
  const events = await v.at('inspector').getByTestId('event-row').evaluateAll((rows) => rows.map((r) => r.dataset.event));
  assert.deepEqual(events.slice(0, 4), ['start', 'thinking', 'model', 'thinking']);
}

// The same over EventSource.
export async function eventsource(v) {
  await choose(v, 'eventsource');
  await v.ask('plain');
  assert.match(await text((await v.turn('done')).getByTestId('answer')), /One two/);
  assert.deepEqual(v.requests, ['GET']);
}

// A second turn brings along what was said in the first; a GET cannot, which the page
// says; another conversation begins with nothing.
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

  await choose(v, 'eventsource');
  await v.page.getByText('this turn will stand alone').waitFor();
  await v.ask('plain-as-a-GET');
  await v.turn('done');
  await v.at('new').click();
  await counts(v.page.getByText('this turn will stand alone'), 0);
  await choose(v, 'fetch');
  await v.ask('plain-once-more');
  await v.turn('done');
  assert.equal(v.bodies.at(-1).history, undefined);
  assert.deepEqual(v.requests, ['POST', 'POST', 'POST', 'GET', 'POST']);
  await v.ask('plain-and-on');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await choose(v, 'eventsource'); // for the screenshot: two turns, and the note
}

async function choose(v, transport) {
  await v.at('transport').locator(`input[value=${transport}]`).check({ force: true }); // its label covers it
}

// A turn is stopped; the gateway stops as well.
export async function stop(v) {
  await v.stalls('stalls-stop');
  await v.at('stop').click();
  await v.turn('stopped');
  await v.at('stop').waitFor({ state: 'hidden' });
  return { request_id: await text(v.at('request-id')) };
}

// The model fails for once: the same question again is one click away.
export async function retry(v) {
  await v.ask('flaky');
  const turn = await v.turn('failed');
  const error = turn.getByTestId('error');
  assert.equal(await error.getAttribute('data-error-type'), 'model_unavailable');
  assert.equal(await error.getAttribute('data-fatal'), 'true');
  await v.at('retry').click();
  assert.match(await text((await v.turn('done')).getByTestId('answer')), /Better now/);
  assert.deepEqual(v.requests, ['POST', 'POST']);
}

// What would fail again is not offered again. Over EventSource the event has the name
// of the connection's own error.
export async function hopeless(v) {
  for (const transport of ['fetch', 'eventsource']) {
    await choose(v, transport);
    await v.ask(`fails-${transport}`);
    const error = (await v.turn('failed')).getByTestId('error');
    assert.equal(await error.getAttribute('data-error-type'), 'model_error');
    await counts(v.at('retry'), 0);
    await v.page.getByTestId('new').click();
  }
  await v.ask('fails-once-more');
  await v.turn('failed');
}

// A tool fails, and the turn goes on.
export async function tool(v) {
  await v.ask('badtool');
  const turn = await v.turn('done');
  assert.equal(await turn.getByTestId('tool-card').getAttribute('data-status'), 'failed');
  const error = turn.getByTestId('error');
  assert.equal(await error.getAttribute('data-error-type'), 'tool_execution_failed');
  assert.equal(await error.getAttribute('data-fatal'), 'false');
  await counts(v.at('retry'), 0);
}

// Gemini has failed once too often. The page says so, and when to try again.
export async function breaker(v) {
  const gemini = v.page.locator('[data-testid=breaker][data-service=gemini]');
  assert.equal(await gemini.getAttribute('data-state'), 'closed');
  await v.ask('cuts');
  await v.turn('failed');
  await gemini.and(v.page.locator('[data-state=open]')).waitFor();
  await v.ask('cuts');
  await v.page.locator('[data-testid=turn][data-state=failed]').nth(1).waitFor();
  const turn = await v.turn('failed');
  assert.equal(await turn.getByTestId('error').getAttribute('data-error-type'), 'model_unavailable');
  assert.ok(await turn.getByTestId('retry').isDisabled(), 'a retry has to wait until the breaker lets it through');
}

// The connection breaks in the middle: that is no error event, and nothing is sent
// again.
async function dropped(v) {
  await v.stalls('stalls-dropped');
  await fetch(new URL('/cut', v.page.url()));
  const turn = await v.turn('dropped');
  assert.equal(await text(turn.getByTestId('answer')), 'One');
  await counts(turn.getByTestId('error'), 0);
  await counts(turn.getByTestId('retry'), 0);
  assert.equal(v.requests.length, 1);
}
dropped.options = { allow: /net::ERR_INCOMPLETE_CHUNKED_ENCODING/ };

export const droppedFetch = Object.assign((v) => dropped(v), dropped);
export const droppedEventSource = Object.assign(async (v) => {
  await choose(v, 'eventsource');
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
  await counts(v.at('retry'), 0);
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

// A reload in the middle of a turn runs nothing again, and is told.
export async function reload(v) {
  await v.stalls('stalls-reload');
  await v.page.reload();
  await v.turn('dropped');
  assert.match(await text(v.at('dropped')), /reloaded/);
  assert.deepEqual(v.requests, ['POST']);
}
