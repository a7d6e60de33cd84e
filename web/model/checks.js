// How an answer is checked, without a document: the phases as they come, what was found, the
// drafts, and at the end the receipt.

import { count, word } from './branch.js';
import { phases } from '../words.js';

/** @typedef {import('./branch.js').Branch} Branch */
/** @typedef {{ phase: string, attempt: number, elapsed: number, chars: number, failed: boolean }} Phase */
/**
 * @typedef {object} Checks
 * @property {'checks'} kind
 * @property {Phase[]} phases
 * @property {boolean} open  the last phase goes on
 * @property {string[]} passed  ids of criteria
 * @property {string[]} failed
 * @property {Receipt | null} receipt
 */

export class Checking {
  /** @type {Checks | null} */
  #part = null;
  /** @type {Branch | null} the draft that is written */
  #draft = null;
  #tree;

  constructor(/** @type {import('./tree.js').Tree} */ tree) {
    this.#tree = tree;
  }

  /** @returns {Checks} */
  #shown() {
    if (!this.#part) this.#tree.add(this.#tree.turn, this.#part = { kind: 'checks', phases: [], open: false, passed: [], failed: [], receipt: null });
    this.#tree.changed.add(this.#part);
    return this.#part;
  }

  phase(/** @type {Quality} */ { phase: name, attempt, elapsed_ms: elapsed, chars, passed, failed }) {
    const part = this.#shown();
    let now = part.phases.at(-1);
    const begun = now?.phase !== name || now?.attempt !== attempt;
    if (!now || begun) part.phases.push(now = { phase: word(name), attempt: count(attempt), elapsed: 0, chars: 0, failed: false });
    now.elapsed = count(elapsed);
    now.chars = count(chars);
    part.open = name !== 'sending' && name !== 'failed';
    if (Array.isArray(passed) && Array.isArray(failed)) {
      [part.passed, part.failed] = [passed.map(word), failed.map(word)];
      now.failed = failed.length > 0;
    }
    if (name === 'refining') this.#strike('written again');
    if (name === 'failed') this.#strike('withheld');
    return begun ? phases.get(name) ?? word(name) : '';
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
    this.#tree.close(this.#draft);
    this.#tree.changed.add(this.#draft);
    this.#draft = null;
  }

  /** Drops the draft that is sent: the answer follows. */
  send() {
    const fork = this.#draft?.fork;
    if (!fork) return;
    fork.branches = fork.branches.filter((b) => b !== this.#draft);
    this.#draft = null;
    this.#tree.changed.add(fork);
    if (fork.branches.length === 0) this.#tree.drop(this.#tree.turn, (p) => p === fork);
  }

  /** @param {Receipt} [receipt] */
  end(receipt) {
    this.#strike('not sent');
    if (!receipt && !this.#part) return;
    const part = this.#shown();
    part.receipt = receipt ?? null;
    part.open = false;
  }
}
