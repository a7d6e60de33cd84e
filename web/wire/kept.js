// Turns that the gateway keeps, as one with a store does: what broke off is taken up, and
// what runs is cancelled, wherever it runs.

import { call } from './credential.js';
import { read } from './transport.js';

/** Where a turn is kept, and the id of the last event that is here. @typedef {{ task: string, turn: string, last: string }} Place */

// Milliseconds before each attempt. Another gateway closes the turns of one that died
// within 21 seconds.
const waits = [0, 500, 1000, 2000, 4000, 8000, 8000];

/** Reads what follows in a turn, from its first event if there is none here. @param {Place} place @param {Listener} listener @param {AbortSignal} signal @returns {Promise<Outcome>} */
export async function takeUp({ task, turn, last }, listener, signal) {
  try {
    const response = await call(`tasks/${task}/events?turn=${turn}`, { headers: last ? { 'Last-Event-ID': last } : {}, signal });
    const kind = response.headers.get('Content-Type') ?? '';
    if (response.status === 200 && response.body && kind.startsWith('text/event-stream')) {
      return (await read(response.body, listener)) ? { how: 'done' } : { how: 'lost', sent: true };
    }
    await response.body?.cancel();
    return { how: 'lost', sent: true, gone: response.status === 204 || response.status === 404 };
  } catch {
    return signal.aborted ? { how: 'stopped' } : { how: 'lost', sent: true };
  }
}

/** Goes on with a turn whose stream has ended too early, until it is done or gone. @param {Outcome} outcome  of the stream so far @param {() => Promise<Outcome> | null} again  asks for the rest; null: the turn is not kept @param {() => number} events  how many have come @param {Listener} listener @param {AbortSignal} signal @returns {Promise<Outcome>} */
export async function goOn(outcome, again, events, listener, signal) {
  let tried = 0;
  while (outcome.how === 'lost' && !outcome.gone && tried < waits.length) {
    if (tried > 0) await pause(waits[tried], signal);
    if (signal.aborted) return { how: 'stopped' };
    const before = events();
    const next = again();
    if (!next) return outcome;
    listener.interrupted();
    outcome = await next;
    tried = events() === before ? tried + 1 : 0;
  }
  return outcome;
}

const pause = (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) => new Promise((resolve) => {
  setTimeout(resolve, ms);
  signal.addEventListener('abort', resolve, { once: true });
});

/** Cancels a turn, which then ends as any other does. False: that cannot be said of it. @param {string} task */
export async function cancel(task) {
  try {
    const response = await call(`tasks/${task}/cancel`, { method: 'POST' });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
