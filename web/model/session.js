// The one turn of a conversation that may run: it is sent, followed where it breaks off, and stopped.

import { cancel, goOn, takeUp } from '../wire/kept.js';
import { forget, remember } from '../wire/talk.js';
import { TurnRecord } from './record.js';
import { listen, newKey, post } from '../wire/transport.js';

/**
 * What shows a turn.
 * @typedef {object} View
 * @property {(event: string, data: any) => void} show
 * @property {() => void} changed  its request id is known, or an event has come, which may be one that cannot be read
 * @property {() => void} interrupted  the stream broke off, and the rest is asked for
 * @property {(outcome: Outcome) => void} end
 */
/** @typedef {{ controller: AbortController, record: TurnRecord, stopping: boolean }} Running */

// Milliseconds that the end of a turn may take which was cancelled, and its first event.
const longestEnd = 3000;
const longestStart = 1000;
const noteEvery = 1000; // milliseconds between two writes of the text that has come

export class Session {
  /** @type {Running | null} the turn under way */
  #running = null;
  #leaving = false;
  #noted = 0; // when the text was stored

  /** @param {(record: TurnRecord) => View} begin  called for each turn before it is sent @param {() => boolean} keeps  whether the gateway keeps turns */
  constructor(begin, keeps) {
    this.begin = begin;
    this.keeps = keeps;
  }

  /** Runs a turn to its end. False: another one is running. @param {Ask} ask @param {Via} via @param {TurnRecord | null} [after] the turn that it goes on with */
  run(ask, via, after = null) {
    const key = newKey();
    const record = new TurnRecord(ask, via);
    record.after = after;
    return this.#follow(record, (listener, signal) => (via === 'fetch' ? post : listen)(ask, listener, signal, key));
  }

  /** Goes on with a turn that the gateway keeps and that a reload has cut, from its first event: nothing of it is here. @param {Kept} kept */
  rejoin({ input, id, conversation, task, turn }) {
    const record = new TurnRecord({ input, conversation_id: conversation }, 'fetch');
    [record.requestId, record.task, record.turn] = [id, task, turn];
    return this.#follow(record, async (listener, signal) => {
      const outcome = await takeUp(placeOf(record), listener, signal);
      return outcome.how === 'lost' && outcome.gone && record.events.length === 0 ? { ...outcome, reloaded: true } : outcome;
    });
  }

  /** @param {TurnRecord} record @param {(listener: Listener, signal: AbortSignal) => Promise<Outcome>} begin  may be called again where turns are kept */
  async #follow(record, begin) {
    if (this.#running) return false;
    const turn = this.#running = { controller: new AbortController(), record, stopping: false };
    const { signal } = turn.controller;
    const view = this.begin(record);
    this.#remember(record);
    const listener = this.#listener(turn, view);
    const again = () => {
      if (this.#leaving) return null;
      if (record.task && record.turn) return takeUp(placeOf(record), listener, signal);
      return record.events.length === 0 && this.keeps() ? begin(listener, signal) : null; // it may have been lost on its way here
    };
    const outcome = await goOn(await begin(listener, signal), again, () => record.events.length, listener, signal);
    if (this.#leaving) return true; // what breaks off then is not news, and is kept for after a reload
    this.#running = null;
    forget(record.ask.conversation_id);
    view.end(outcome);
    return true;
  }

  /** Stores the text of a turn under way, as a reload may cut it. @param {TurnRecord} record */
  #remember({ ask, requestId, task, turn, answer }) {
    this.#noted = performance.now();
    remember({ input: ask.input, id: requestId, conversation: ask.conversation_id, task, turn, text: answer });
  }

  /** @param {Running} turn @param {View} view @returns {Listener} */
  #listener(turn, view) {
    const { record } = turn;
    return {
      opened: (requestId) => { // a browser may discard events that it has, but not this
        record.requestId = requestId;
        this.#remember(record);
        view.changed();
      },
      frame: (frame) => {
        const data = record.take(frame);
        if (data) view.show(frame.event, data);
        if (frame.event === 'start' || performance.now() - this.#noted > noteEvery) this.#remember(record);
        if (frame.event === 'start' && turn.stopping) this.#cancel(turn);
        view.changed();
      },
      comments: (count) => { record.heartbeats = count; },
      interrupted: () => view.interrupted(),
    };
  }

  /** Stops the turn under way: a kept one is cancelled wherever it runs, of another one the connection is closed, which ends it. The second time it is closed in any case. False: there is none. */
  stop() {
    const turn = this.#running;
    if (!turn) return false;
    if (turn.stopping) turn.controller.abort();
    else this.#cancel(turn);
    turn.stopping = true;
    return true;
  }

  async #cancel(/** @type {Running} */ { controller, record }) {
    const begun = record.task !== '' || record.events.length > 0;
    setTimeout(() => controller.abort(), begun ? longestEnd : longestStart);
    if (record.task ? !(await cancel(record.task)) : begun) controller.abort();
  }

  /** @param {boolean} leaving  whether the page is being left */
  leave(leaving) {
    if (leaving && this.#running) this.#remember(this.#running.record);
    this.#leaving = leaving;
  }
}

/** @param {TurnRecord} record @returns {import('../wire/kept.js').Place} */
const placeOf = ({ task, turn, events }) => ({ task, turn, last: events.at(-1)?.id ?? '' });
