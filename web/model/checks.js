// How an answer is checked, without a document: the phases as they come, what was found, the
// drafts, and at the end the receipt.

import { closeTexts, count, word } from './tree.js';

export class Checking {
  /** @type {ChecksPart | null} */
  #part = null;
  /** @type {Branch | null} the draft that is written */
  #draft = null;
  #tree;

  constructor(/** @type {Tree} */ tree) { this.#tree = tree; }

  #shown() {
    if (!this.#part) this.#tree.add(this.#tree.turn, this.#part = { kind: 'checks', phases: [], open: false, passed: [], failed: [], receipt: null });
    return this.#part;
  }

  phase(/** @type {Quality} */ { phase: name, attempt, elapsed_ms: elapsed, chars, passed, failed }) {
    const part = this.#shown();
    let now = part.phases.at(-1);
    if (!now || now.phase !== name || now.attempt !== attempt) part.phases.push(now = { phase: word(name), attempt: count(attempt), elapsed: 0, chars: 0, failed: false });
    [now.elapsed, now.chars] = [count(elapsed), count(chars)];
    part.open = name !== 'sending' && name !== 'failed';
    if (Array.isArray(passed) && Array.isArray(failed)) {
      [part.passed, part.failed] = [passed.map(word), failed.map(word)];
      now.failed = failed.length > 0;
    }
    if (name === 'refining') this.#strike('written again');
    if (name === 'failed') this.#strike('withheld');
  }

  /** @param {string} delta @param {number} attempt  of a text that is not checked yet */
  write(delta, attempt) {
    if (this.#draft?.id !== String(attempt)) this.#draft = this.#tree.branch('draft', String(attempt), `Draft ${attempt}`);
    this.#tree.grow(this.#draft, delta, false);
  }

  #strike(/** @type {string} */ why) {
    if (!this.#draft) return;
    const failed = this.#part?.failed.length ? `: ${this.#part.failed.join(', ')} failed` : '';
    [this.#draft.state, this.#draft.note] = ['struck', `${why}${failed}`];
    closeTexts(this.#draft);
    this.#draft = null;
  }

  /** Drops the draft that is sent: the answer follows. */
  send() {
    const { turn } = this.#tree;
    const fork = this.#draft && turn.parts.find((p) => p.kind === 'fork' && p.what === 'draft');
    if (fork?.kind !== 'fork') return;
    fork.branches = fork.branches.filter((b) => b !== this.#draft);
    this.#draft = null;
    if (fork.branches.length === 0) this.#tree.drop(turn, (p) => p === fork);
  }

  /** @param {Receipt} [receipt] */
  end(receipt) {
    this.#strike('not sent');
    if (receipt || this.#part) Object.assign(this.#shown(), { receipt: receipt ?? null, open: false });
  }
}
