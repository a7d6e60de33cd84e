// What is known of one turn: its events with their times, and what follows from
// them. The views draw from it and keep no truth of their own.

import { shellHeader } from '../wire/credential.js';
import { dataOf } from '../wire/events.js';
import { alone, body, endpoint } from '../wire/transport.js';
import { quoted } from '../words.js';

const encoder = new TextEncoder();

export class TurnRecord {
  /** @type {Seen[]} */
  events = [];
  /** @type {TurnState} */
  state = 'running';
  requestId = '';
  model = '';
  task = ''; // and the turn: empty unless the gateway keeps turns
  turn = '';
  answer = ''; // as much of it as has come
  heartbeats = 0;
  bytes = 0;
  /** @type {Done | null} */
  done = null;
  /** @type {Fault | null} the one that ended the turn */
  fatal = null;
  firstDelta = NaN;
  ended = NaN;
  status = 0; // of a refusal
  /** @type {TurnRecord | null} the turn that this one goes on with */
  after = null;

  constructor(/** @type {Ask} */ ask, /** @type {Via} */ via) {
    this.ask = ask;
    this.via = via;
    this.began = performance.now();
  }

  /** @returns {TurnRecord} the one that began what this one goes on with */
  get first() { return this.after?.first ?? this; }

  /** Milliseconds since the request was sent. */
  now() { return performance.now() - this.began; }

  /** Keeps an event and returns its data; null: it cannot be read. @param {Frame} frame */
  take(frame) {
    const seen = { ...frame, at: this.now(), bytes: encoder.encode(frame.data).length };
    this.events.push(seen);
    this.bytes += seen.bytes;
    const data = dataOf(frame.data);
    if (!data) return null;
    if (data.request_id) this.requestId = data.request_id;
    if (frame.event === 'start' || frame.event === 'model') this.model = data.model;
    if (frame.event === 'start') [this.task, this.turn] = [data.task_id ?? '', data.turn_id ?? ''];
    if (frame.event === 'response_delta') this.#delta(String(data.delta ?? ''), seen.at);
    if (frame.event === 'response_reset') this.answer = String(data.accumulated ?? '');
    if (frame.event === 'error' && data.fatal) this.fatal = data;
    if (frame.event === 'done') this.done = data;
    return data;
  }

  #delta(/** @type {string} */ text, /** @type {number} */ at) {
    this.answer += text;
    if (Number.isNaN(this.firstDelta)) this.firstDelta = at;
  }

  end(/** @type {TurnState} */ state) {
    this.state = state;
    this.ended = this.now();
  }

  /** A line for a shell that asks the same. It has no idempotency key, so that it runs again, and of a credential the name of a variable. */
  curl() {
    const ask = this.via === 'eventsource' ? alone(this.ask) : this.ask;
    return `curl -N ${quoted(endpoint(ask))}${shellHeader()} -H 'Content-Type: application/json' -d ${quoted(body(ask))}`;
  }

  /** The events as they were sent, but for heartbeats and retry. */
  transcript() {
    return this.events.map(({ id, event, data }) => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`).join('');
  }
}
