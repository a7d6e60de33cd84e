// Markdown as it arrives. Only the last block can still change, so only its source
// is read and drawn again, and it is cut when it grows long. So an answer costs in
// proportion to its length, whatever pieces it comes in.

import { draw, holder, parts } from './blocks.js';
import { el } from './dom.js';
import { dress } from './dress.js';
import { read } from '../model/reader.js';
import { openFence, tableHead, undecided } from '../model/unfinished.js';

/** @typedef {{ node: Node, kept: number, midLine: boolean }} Open  kept: how many parts are final */

const piece = 4096; // characters that are read at once
const longest = 8192; // characters of a block that are drawn again

export class Markdown {
  #all = ''; // that has arrived
  #line = ''; // its end that is not read
  #tail = ''; // what is read of the last block
  #kept = 0; // how many nodes of root are final
  /** @type {Open | null} the block that the tail goes on in; null: the tail begins one */
  #open = null;
  /** @type {import('../vendor/marked.js').Links} */
  #links = Object.create(null);
  #dressed = 0; // how many nodes of root are, or will be
  #late = false; // a definition came after text that may refer to it

  /** @param {Element} root  takes the blocks */
  constructor(root) {
    this.root = root;
  }

  /** Takes more of the text, which draw or end will show. @param {string} more */
  append(more) {
    this.#all += more;
    this.#line += more;
  }

  /** Shows all that has arrived. */
  draw() {
    this.#readLines();
    const source = this.#tail + (undecided(this.#line) ? '' : tidy(this.#line));
    const tokens = this.#guess(source);
    const last = tokens[tokens.length - 1];
    const head = last?.type === 'paragraph' ? last.raw.search(tableHead) : -1;
    this.#show(head < 0 ? tokens : this.#guess(source.slice(0, source.length - last.raw.length + head)));
  }

  /** Shows the text as complete. Where a definition came after its use, all of it is drawn once more. */
  end() {
    this.#finish();
    if (!this.#late) return;
    [this.#line, this.#tail, this.#kept, this.#dressed, this.#open] = [this.#all, '', 0, 0, null];
    this.root.replaceChildren();
    this.#finish();
  }

  #finish() {
    this.#readLines();
    this.#show(this.#read(this.#tail + tidy(this.#line)));
    dropEmpty(this.root);
    this.#dress();
  }

  // Dresses the nodes that have become final.
  #dress() {
    const all = [...this.root.childNodes];
    dress(all.slice(this.#dressed));
    this.#dressed = all.length;
  }

  #guess(/** @type {string} */ source) { return read(source, { ...this.#links }, true); }

  #read(/** @type {string} */ source) {
    const known = Object.keys(this.#links).length;
    const tokens = read(source, this.#links, false);
    this.#late ||= this.root.childNodes.length > 0 && Object.keys(this.#links).length > known;
    return tokens;
  }

  /** Takes the complete lines, and of an endless one what is too long to wait for. */
  #readLines() {
    for (;;) {
      let end = this.#line.lastIndexOf('\n', piece - 1) + 1;
      if (end === 0 && this.#line.length <= piece) return;
      end ||= cutBefore(this.#line, piece);
      this.#tail += tidy(this.#line.slice(0, end));
      this.#line = this.#line.slice(end);
      this.#settle();
    }
  }

  /** Draws for good what no further line can change: all blocks but the last. */
  #settle() {
    const tokens = this.#read(this.#tail);
    const last = tokens.findLastIndex((t) => t.type !== 'space');
    if (last < 0) return this.#keep(this.#tail.length);
    if (last > 0) {
      this.#show(tokens.slice(0, last));
      this.#keep(lengthOf(tokens.slice(0, last)));
    }
    this.#settleParts(tokens[last]);
    if (this.#tail.length > longest) this.#cut();
  }

  /** @param {number} length  of the source that is drawn */
  #keep(length) {
    [this.#tail, this.#kept, this.#open] = [this.#tail.slice(length), this.root.childNodes.length, null];
    this.#dress();
  }

  /** Of a list all items but the last are final, and of a table all rows. @param {Token} token */
  #settleParts(token) {
    const final = token.type === 'list' ? token.items.length - 1 : token.type === 'table' ? token.rows.length : 0;
    if (final === 0) return;
    this.#show([token]);
    const { node, kept } = this.#open ?? { node: this.#last(token), kept: 0 };
    if (token.type === 'list') {
      this.#keep(lengthOf(token.items.slice(0, -1)));
    } else {
      this.#keep(token.raw.length);
      this.#tail = `${token.raw.split('\n', 2).join('\n')}\n${this.#tail.replace(/^\n/, '')}`; // its head says what the lines are
    }
    this.#open = { node, kept: kept + final, midLine: false };
  }

  /** @param {Token} token  that was drawn last */
  #last(token) { return holder(/** @type {Node} */ (this.root.lastChild), token); }

  /** Ends a block that has grown too long. What follows is a new one, but for code. */
  #cut() {
    const { fence, midLine } = { fence: openFence(this.#tail), midLine: !this.#tail.endsWith('\n') };
    const tokens = this.#read(this.#tail);
    this.#show(tokens);
    const code = fence && tokens[0].type === 'code' ? this.#open?.node ?? this.#last(tokens[0]) : null;
    this.#keep(this.#tail.length);
    this.#tail = fence;
    if (code) this.#open = { node: code, kept: code.childNodes.length, midLine };
  }

  /** Draws what the tail is, in the place of what it was before. @param {Token[]} tokens */
  #show(tokens) {
    if (this.#open && tokens.length > 0) draw(this.#open.node, parts(tokens[0], this.#open.midLine), this.#open.kept);
    draw(this.root, this.#open ? tokens.slice(1) : tokens, this.#kept);
  }
}

/** A text that is complete, as an element. @param {import('./dom.js').Attributes} attributes @param {string} text */
export function prose(attributes, text) {
  const root = el('div', attributes);
  const doc = new Markdown(root);
  doc.append(text);
  doc.end();
  return root;
}

const lengthOf = (/** @type {Token[]} */ tokens) => tokens.reduce((n, t) => n + t.raw.length, 0);

const tidy = (/** @type {string} */ s) => s.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');

/** Where to cut a text before a limit: after a space if there is one near, and never within a code point. @param {string} s @param {number} limit */
function cutBefore(s, limit) {
  const space = s.lastIndexOf(' ', limit - 1);
  if (space > limit - 256) return space + 1;
  const code = s.charCodeAt(limit - 1);
  return code >= 0xd800 && code < 0xdc00 ? limit - 1 : limit;
}

/** Removes the list items that the text ends in before they say anything, as when it was stopped. But a number that begins a list may be all that was to be said. @param {Element} root */
function dropEmpty(root) {
  let last = root;
  while (last.lastElementChild && /^(?:ul|ol|li)$/i.test(last.lastElementChild.tagName)) last = last.lastElementChild;
  while (last !== root && last.childNodes.length === 0) {
    const above = /** @type {Element} */ (last.parentNode);
    if (/^ol$/i.test(above.tagName) && above.childNodes.length === 1) return;
    last.remove();
    last = above;
  }
}
