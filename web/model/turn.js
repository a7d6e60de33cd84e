// One turn of a conversation: the message, the events of its answer and how it ended. A view draws it
// again when its version changes, which is at most once a frame.

import { signal } from '../vendor/signals.js';
import { Fold } from './fold.js';
import { about, ending, number, texts } from '../words.js';

/** A text for people who listen to the page. */
export const spoken = signal('');

const struckFor = 600; // milliseconds in which text that was taken back is still seen
const nextFrame = globalThis.requestAnimationFrame ?? ((/** @type {() => void} */ f) => setTimeout(f, 16));
let keys = 0;

/** @type {WeakMap<TurnRecord, Turn>} */
const turns = new WeakMap();

/** The turn of a record. @param {TurnRecord} record */
export const turnOf = (record) => turns.get(record);

export class Turn {
  key = `turn-${++keys}`;
  version = signal(0);
  struck = signal(''); // text that was taken back a moment ago
  fold = new Fold();
  isInterrupted = false; // the stream broke off, and its next events are asked for
  /** @type {Outcome | null} */
  outcome = null;
  #drawn = true;
  #answer = '';

  /** @param {TurnRecord | null} record  null: of before @param {Past | null} past */
  constructor(record, past = null) {
    this.record = record;
    this.past = past;
    this.began = past?.at ?? Date.now();
    if (record) turns.set(record, this);
  }

  get input() { return (this.record?.ask.input ?? this.past?.input) || ''; }
  get answer() { return (this.record?.answer ?? this.past?.answer) || ''; }
  get task() { return this.record?.task || this.past?.task || ''; }
  get id() { return this.record?.turn || this.past?.turn || ''; }
  /** Whether it goes on with the turn before it, after a person's answer. */
  get continues() { return this.record ? this.record.ask.approval !== undefined : this.past?.continues === true || this.input === ''; }
  /** @returns {TurnState} */
  get state() { return this.record?.state ?? /** @type {TurnState} */ (this.past?.state ?? 'done'); }
  get isRunning() { return this.state === 'running'; }
  /** @returns {Approval[]} its questions */
  get approvals() { return this.fold.turn.parts.flatMap((p) => (p.kind === 'approval' ? [p.approval] : [])); }

  show(/** @type {string} */ event, /** @type {any} */ data) {
    this.isInterrupted = false;
    this.fold.add({ id: this.record?.events.at(-1)?.id, event, data });
    if (event === 'approval') spoken.value = String(data.prompt ?? '');
    if (event === 'response_reset') this.#strike();
    this.#answer = this.answer;
  }

  #strike() {
    const left = this.answer;
    if (!this.#answer.startsWith(left) || this.#answer.length === left.length) return;
    this.struck.value = this.#answer.slice(left.length);
    spoken.value = texts.takenBack;
    setTimeout(() => { this.struck.value = ''; }, struckFor);
  }

  /** Has it drawn with the next frame. */
  changed() {
    if (!this.#drawn) return;
    this.#drawn = false;
    nextFrame(() => {
      this.#drawn = true;
      this.version.value++;
    });
  }

  end(/** @type {Outcome} */ outcome) {
    const { record } = this;
    if (!record) return;
    this.isInterrupted = false;
    this.outcome = outcome;
    const state = stateOf(outcome, record);
    record.end(state);
    this.fold.end(state, record.done?.quality);
    if (outcome.how === 'refused') [record.status, record.requestId] = [outcome.problem.status, outcome.problem.request_id ?? record.requestId];
    this.version.value++;
    spoken.value = `${record.done ? ending(record.done.finish_reason) : endings[state]}. ${record.done?.final_output?.slice(0, 600) ?? ''}`;
  }

  /** Time and tokens, in a few words; empty: they are not known. */
  get figures() {
    const done = this.record?.done;
    if (!done) return this.past?.line ?? '';
    const { usage } = done;
    const tokens = usage.input_tokens + usage.output_tokens + usage.thinking_tokens;
    return [about(done.timings.total_ms), tokens > 0 && `${number(tokens)} tokens`].filter(Boolean).join(' · ');
  }

  /** It as it is stored. @returns {Past} */
  get stored() {
    if (this.past) return this.past;
    const { input, answer, figures: line, state, task, id: turn, began: at, continues } = this;
    return { input, answer, line, state, task, turn, at, ...(continues ? { continues } : {}) };
  }
}

/** @type {Record<TurnState, string>} */
const endings = { running: '', done: 'Answered', failed: 'Failed', stopped: 'Stopped', dropped: 'The connection was lost', refused: 'Refused' };

/** @param {Outcome} outcome @param {TurnRecord} record @returns {TurnState} */
export function stateOf(outcome, record) {
  switch (outcome.how) {
    case 'stopped': return 'stopped';
    case 'lost': return 'dropped';
    case 'refused': return 'refused';
  }
  if (record.done?.finish_reason === 'cancelled') return 'stopped';
  return record.done?.success ? 'done' : 'failed';
}
