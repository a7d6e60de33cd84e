// Turns that the gateway keeps: they outlive the page's connection.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

// A reload in the middle of a turn: the page shows it from its first event, and the rest
// as it comes; the conversation goes on.
export async function keptReload(v) {
  await v.ask('pauses');
  await v.at('answer').getByText('One', { exact: true }).waitFor();
  await v.page.reload();
  await v.at('answer').getByText('One', { exact: true }).waitFor();
  await v.turn('running');
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('answer')), 'One two.');
  await counts(v.page.getByTestId('turn'), 1);
  assert.deepEqual((await v.events()).slice(0, 2), ['start', 'thinking']);
  await v.ask('plain-afterwards');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  const [first, second] = v.bodies;
  assert.deepEqual(v.requests, ['POST', 'POST']);
  assert.equal(second.conversation_id, first.conversation_id);
  assert.deepEqual(second.history, [{ role: 'user', content: 'pauses' }, { role: 'assistant', content: 'One two.' }]);
  assert.equal(await v.page.evaluate(() => sessionStorage.getItem('sluice.running')), null);
}

// Stop cancels the turn, and the stream tells its end.
export async function keptCancel(v) {
  await v.stalls('stalls-kept');
  const task = await v.page.evaluate(() => Object.values(JSON.parse(sessionStorage.getItem('sluice.running')))[0].task);
  await v.at('stop').click();
  const turn = await v.turn('stopped');
  await v.at('stopped').getByText('What tools did stays done').waitFor();
  await counts(turn.getByTestId('error'), 0);
  assert.equal((await v.events()).at(-1), 'done');
  await v.at('stop').waitFor({ state: 'hidden' });
  return { task };
}

// A turn of before a reload that is not there any more is told as one that was cut.
export async function keptUnknown(v) {
  await v.page.evaluate(() => {
    sessionStorage.setItem('sluice.running', JSON.stringify({ conv_a: { input: 'What was it?', id: 'req_1', conversation: 'conv_a', task: `task_${'0'.repeat(26)}`, turn: `turn_${'0'.repeat(26)}`, text: 'Half' } }));
    location.hash = 'c=conv_a';
  });
  await v.page.reload();
  await v.turn('dropped');
  assert.match(await text(v.at('dropped')), /reloaded/);
  assert.deepEqual(v.requests, []);
}
keptUnknown.options = { allow: /404 \(Not Found\)/ };

const broken = { allow: /net::ERR_INCOMPLETE_CHUNKED_ENCODING/ };

// Each connection breaks after an event: the page reads all of them, and nothing twice.
async function resumed(v, transport) {
  await v.via(transport);
  await v.ask(`plain-${transport}`);
  const turn = await v.turn('done');
  assert.match(await text(turn.getByTestId('answer')), /^One two\.$/);
  await counts(turn.getByTestId('interrupted'), 0);
  await v.page.evaluate(() => navigator.clipboard.writeText(''));
  await v.dev('events');
  await v.at('copy-events').click();
  await v.at('copy-events').and(v.page.locator('[data-copied=true]')).waitFor();
  return { transcript: await v.page.evaluate(() => navigator.clipboard.readText()) };
}
const copies = { ...broken, permissions: ['clipboard-read', 'clipboard-write'] };
export const resumedFetch = Object.assign((v) => resumed(v, 'fetch'), { options: copies });
export const resumedEventSource = Object.assign((v) => resumed(v, 'eventsource'), { options: copies });

// The same with nothing but the browser's own EventSource.
export async function resumedBare(v) {
  const transcript = await v.page.evaluate(() => new Promise((resolve) => {
    const source = new EventSource('/chat/stream?input=plain-bare&accumulated=false&idempotency_key=bare-0123456789');
    let all = '';
    for (const event of ['start', 'thinking', 'response_delta', 'done', 'message']) {
      source.addEventListener(event, ({ lastEventId, data }) => {
        all += `id: ${lastEventId}\nevent: ${event}\ndata: ${data}\n\n`;
        if (event !== 'done') return;
        source.close();
        resolve(all);
      });
    }
    source.addEventListener('error', () => { if (source.readyState === EventSource.CLOSED) resolve(`${all}CLOSED`); });
  }));
  return { transcript };
}
resumedBare.options = broken;

// The gateway goes in the middle of the answer, and another one begins that again.
async function outlives(v, transport) {
  await v.via(transport);
  await v.ask('pauses');
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('answer')), 'One two.');
  assert.ok((await v.events()).includes('response_reset'));
}
const gone = { allow: /net::ERR_INCOMPLETE_CHUNKED_ENCODING|50[23] \(/ };
export const outlivesFetch = Object.assign((v) => outlives(v, 'fetch'), { options: gone });
export const outlivesEventSource = Object.assign((v) => outlives(v, 'eventsource'), { options: gone });
