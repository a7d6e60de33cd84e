// The text of the answer while it comes: where its pieces are shown, so that some can be taken
// back. With several branches a piece is in the answer and in the branch that wrote it.

import { walk, word } from './tree.js';

/** @typedef {{ from: number, length: number, part: TextPart }} Piece */

export class Reply {
  /** @type {Piece[]} */
  #pieces = [];
  #length = 0;
  /** @type {TextPart | null} of the answer, what grows */
  #open = null;
  #tree;

  constructor(/** @type {Tree} */ tree) { this.#tree = tree; }

  say(/** @type {{ delta: string } & Attribution} */ piece) {
    const [delta, from, { turn }] = [word(piece.delta), this.#length, this.#tree];
    const of = this.#tree.place(piece); // a branch that is new stands above an open text
    this.#length += delta.length;
    if (this.#open && !this.#open.done) this.#open.text += delta;
    else this.#open = this.#tree.grow(turn, delta, false);
    this.#keep(this.#open, from, delta.length);
    if (of === turn || of.parts.some((p) => p.kind === 'text' && !p.copy)) return;
    this.#keep(this.#tree.grow(of, delta, true), from, delta.length);
  }

  #keep(/** @type {TextPart | null} */ part, /** @type {number} */ from, /** @type {number} */ length) {
    if (!part) return;
    const last = this.#pieces.findLast((p) => p.part === part);
    if (last && last.from + last.length === from) last.length += length;
    else this.#pieces.push({ from, length, part });
  }

  /** Sets the answer to a text that it begins with. @param {string} stays */
  reset(stays) {
    const { length } = stays;
    if (length > this.#length) return this.say({ delta: stays.slice(this.#length) }); // some of it was lost on the way
    this.#open = null;
    for (const piece of this.#pieces) this.#cut(piece, length);
    this.#pieces = this.#pieces.filter((piece) => piece.length > 0);
    this.#length = length;
    for (const b of walk(this.#tree.turn)) this.#tree.drop(b, (p) => p.kind === 'text' && p.cuts > 0 && p.text === '');
  }

  /** @param {Piece} piece @param {number} length  of the answer that stays */
  #cut(piece, length) {
    const { part } = piece;
    const gone = Math.min(piece.length, piece.from + piece.length - length);
    if (gone <= 0) return;
    piece.length -= gone;
    part.text = part.text.slice(0, part.text.length - gone);
    part.cuts++;
    part.done = part.text === '';
    if (!part.done && !part.copy) this.#open = part; // it goes on there
  }

  /** The answer ends here: what follows begins another part of it. */
  close() {
    if (this.#open) this.#open.done = true;
    this.#open = null;
  }

  /** Puts something else in its place. */
  remove() {
    const answer = this.#tree.turn.parts.findLast((p) => p.kind === 'text');
    this.#tree.drop(this.#tree.turn, (p) => p === answer);
  }
}
