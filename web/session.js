// One visit: the conversation, and the one turn that may run in it.

import { History } from './history.js';
import { forget, remember } from './memory.js';
import { TurnRecord } from './record.js';
import { listen, newKey, post } from './transport.js';

/** @typedef {import('./types').Ask} Ask */
/** @typedef {import('./types').Outcome} Outcome */
/** @typedef {import('./types').Via} Via */
/**
 * What shows a turn.
 * @typedef {object} View
 * @property {() => void} identified  the request id is known
 * @property {(event: string, data: any) => void} show
 * @property {() => void} changed  an event has come, which may be one that cannot be read
 * @property {(outcome: Outcome) => void} end
 */

export class Session {
  #conversation = newConversation();
  #history = new History(); // of the conversation
  /** @type {AbortController | null} of the turn under way */
  #running = null;
  #leaving = false;

  /** @param {(record: TurnRecord) => View} begin  called for each turn before it is sent */
  constructor(begin) {
    this.begin = begin;
  }

  get running() { return this.#running !== null; }

  /** Whether something was said before. */
  get continues() { return !this.#history.empty; }

  /** @param {string} text @returns {Ask} */
  ask(text) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return { input: text, conversation_id: this.#conversation, ...(zone && zone !== 'Etc/Unknown' ? { timezone: zone } : {}), ...this.#history.field };
  }

  /**
   * Runs a turn to its end. False: another one is running.
   * @param {Ask} ask @param {Via} via @param {TurnRecord | null} [after] the turn that it goes on with
   */
  async run(ask, via, after = null) {
    if (this.#running) return false;
    const controller = this.#running = new AbortController();
    const record = new TurnRecord(ask, via);
    record.after = after;
    const view = this.begin(record);
    remember({ input: ask.input, id: '' });
    const outcome = await (via === 'fetch' ? post : listen)(ask, this.#listener(record, view), controller.signal);
    if (this.#leaving) return true; // what breaks off then is not news, and is kept for after a reload
    this.#running = null;
    forget();
    if (ask.conversation_id === this.#conversation) this.#history.add(record);
    view.end(outcome);
    return true;
  }

  /** @param {TurnRecord} record @param {View} view */
  #listener(record, view) {
    const identified = () => {
      remember({ input: record.ask.input, id: record.requestId });
      view.identified();
    };
    return {
      /** @param {string} requestId  a browser may discard events that it has, but not this */
      opened(requestId) {
        record.requestId = requestId;
        identified();
      },
      /** @param {import('./types').Frame} frame */
      frame: (frame) => {
        const data = record.take(frame);
        if (data) view.show(frame.event, data);
        if (frame.event === 'start') identified();
        view.changed();
      },
      /** @param {number} count */
      comments(count) { record.heartbeats = count; },
    };
  }

  /** Stops the turn under way. False: there is none. */
  stop() {
    this.#running?.abort();
    return this.running;
  }

  /** Begins another conversation. */
  renew() {
    this.#conversation = newConversation();
    this.#history.clear();
  }

  /** @param {boolean} leaving  whether the page is being left */
  leave(leaving) { this.#leaving = leaving; }
}

const newConversation = () => `conv_${newKey()}`;
