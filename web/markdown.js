// Markdown as it arrives. Each line is read once, when it is complete; only the
// open paragraph and the unfinished last line are drawn anew. So an answer costs
// in proportion to its length, whatever it is cut into.

import { copyButton, el, text } from './dom.js';
import { inline } from './inline.js';
import { beginsBlock, cells, cutBefore, indentOf, isRule, marker, within, withoutMarks } from './lines.js';

const deepest = 12; // quotes and list items within each other
const longest = 4096; // characters of a paragraph, or of a line, that are drawn anew
const chunk = 8192; // characters of code in one element

/** @typedef {{ kind: 'root' | 'quote', node: Element }} Plain */
/** @typedef {{ kind: 'item', node: Element, list: Element, mark: string, base: number, offset: number }} Item */
/** @typedef {Plain | Item} Container */
/** @typedef {import('./lines.js').Marker} Marker */
/** @typedef {{ kind: 'text', node: Element, source: string }} TextLeaf */
/** @typedef {{ kind: 'code', pre: Element, node: Text | null, mark: string, indent: number }} CodeLeaf */
/** @typedef {{ kind: 'table', body: Element, columns: string[] }} TableLeaf */

export class Markdown {
  #rest = ''; // what has arrived and is not read
  #midLine = false; // the beginning of a very long line is read already

  // The open blocks. They are replaced, never changed, so that a guess at an
  // unfinished line can be taken back.
  /** @type {Container[]} */
  #open;
  /** @type {TextLeaf | CodeLeaf | TableLeaf | null} */
  #leaf = null;

  /** @type {(() => void)[] | null} how to take the guess back, last step first; null: there is none */
  #undo = null;

  /** @param {Element} root  takes the blocks */
  constructor(root) {
    this.#open = [{ kind: 'root', node: root }];
  }

  /**
   * Takes more of the text, which draw or end will show.
   * @param {string} more
   */
  append(more) {
    this.#rest += more;
  }

  /** Shows all that has arrived. */
  draw() {
    this.#takeBack();
    this.#read();
    if (this.#rest && (this.#midLine || !this.#undecided(this.#rest))) this.#guess(this.#rest);
    if (this.#leaf?.kind === 'text') this.#render(this.#leaf, true);
  }

  /** Shows the text as complete. */
  end() {
    this.#takeBack();
    if (this.#rest) this.#rest += '\n';
    this.#read();
    this.#closeLeaf();
    this.#dropEmpty();
  }

  /**
   * Takes away the list items that the text ends in before they say anything, as when
   * it was stopped. But a number that begins a list may be all that was to be said.
   */
  #dropEmpty() {
    for (let i = this.#open.length - 1; i > 0; i--) {
      const item = this.#open[i];
      if (item.kind !== 'item' || item.node.childNodes.length > 0) return;
      const first = item.list.childElementCount === 1;
      if (first && /[.)]/.test(item.mark)) return;
      item.list.removeChild(item.node);
      if (first) this.#open[i - 1].node.removeChild(item.list);
    }
  }

  /** Reads the complete lines, and of an endless one what is too long to keep. */
  #read() {
    let from = 0;
    for (;;) {
      const newline = this.#rest.indexOf('\n', from);
      const end = newline < 0 ? this.#rest.length : newline;
      while (end - from > longest) {
        const cut = cutBefore(this.#rest, from + longest);
        this.#piece(this.#rest.slice(from, cut));
        this.#midLine = true;
        from = cut;
      }
      if (newline < 0) break;
      this.#piece(this.#rest.slice(from, newline));
      this.#midLine = false;
      from = newline + 1;
    }
    this.#rest = this.#rest.slice(from);
  }

  /** @param {string} line  unfinished: it may yet mean something else */
  #guess(line) {
    const [open, leaf, midLine] = [this.#open, this.#leaf, this.#midLine];
    this.#undo = [() => { [this.#open, this.#leaf, this.#midLine] = [open, leaf, midLine]; }];
    this.#piece(line);
  }

  #takeBack() {
    for (const step of this.#undo?.reverse() ?? []) step();
    this.#undo = null;
  }

  /**
   * A mark alone does not say yet what it is, nor does the end of a fence.
   * @param {string} line
   */
  #undecided(line) {
    if (line.length > 80) return false;
    if (this.#leaf?.kind === 'code') return /^[ >]*(?:`+|~+)$/.test(line);
    return /^[ >]*(?:[-*+#|`~=_>]*|\d{1,9}[.)]?|[-*+] \[[ xX]?\]?|`{3,}.*|~{3,}.*) *$/.test(line);
  }

  /** @param {Node} parent @param {Node} node */
  #add(parent, node) {
    parent.appendChild(node);
    this.#undo?.push(() => parent.removeChild(node));
  }

  #here() { return this.#open[this.#open.length - 1].node; }

  /** @param {string} line  or a piece of one that is very long */
  #piece(line) {
    const clean = line.replace(/\r$/, '').replaceAll('\0', '\ufffd');
    if (!this.#midLine) this.#line(clean.replace(/^[ \t]+/, (s) => s.replaceAll('\t', '    ')));
    else if (this.#leaf?.kind === 'code') this.#code(this.#leaf, clean, '');
    else this.#prose(clean, '');
  }

  /** @param {string} line */
  #line(line) {
    let rest = line;
    let depth = 1;
    for (; depth < this.#open.length; depth++) {
      const inner = within(this.#open[depth], rest);
      if (inner === null) break;
      rest = inner;
    }
    const left = this.#open[depth]; // the outermost block that the line is not in
    if (!left && this.#leaf?.kind === 'code') return this.#codeLine(this.#leaf, rest);
    const blank = rest.trim() === '';
    if (left) {
      if (this.#leaf?.kind === 'text' && !blank && !beginsBlock(rest)) return this.#prose(rest.trimStart());
      this.#closeLeaf();
      this.#open = this.#open.slice(0, depth);
    }
    if (blank) return this.#closeLeaf();
    this.#leafLine(this.#containers(rest, left));
  }

  /**
   * Opens the quotes and list items that a line begins with, and returns the rest.
   * @param {string} line
   * @param {Container | undefined} left  just left: a list that may go on
   */
  #containers(line, left) {
    let rest = line;
    while (this.#open.length <= deepest) {
      const quote = /^ {0,3}> ?/.exec(rest);
      const item = quote || isRule(rest) ? null : marker(rest);
      if (item && item.number > 1 && !left && this.#leaf?.kind === 'text') break; // "in the year\n1986. It was"
      if (quote) {
        rest = rest.slice(quote[0].length);
        this.#enter({ kind: 'quote', node: el('blockquote') });
      } else if (item) {
        rest = this.#item(rest.slice(item.offset), item, left);
      } else {
        break;
      }
      left = undefined;
    }
    return rest;
  }

  /** @param {Container} container */
  #enter(container) {
    this.#closeLeaf();
    this.#add(container.kind === 'item' ? container.list : this.#here(), container.node);
    this.#open = [...this.#open, container];
  }

  /**
   * @param {string} rest
   * @param {Marker} item
   * @param {Container | undefined} left
   */
  #item(rest, { mark, number, base, offset }, left) {
    let list = left?.kind === 'item' && left.mark === mark ? left.list : null;
    if (!list) {
      list = number < 0 ? el('ul') : el('ol', { start: number === 1 ? null : number });
      this.#closeLeaf();
      this.#add(this.#here(), list);
    }
    const node = el('li');
    this.#enter({ kind: 'item', node, list, mark, base, offset });
    const task = /^\[([ xX])\] /.exec(rest);
    if (!task) return rest;
    const box = el('input', { type: 'checkbox', disabled: true, 'aria-label': task[1] === ' ' ? 'not done' : 'done' });
    box.checked = task[1] !== ' ';
    node.classList.add('task');
    this.#add(node, box);
    return rest.slice(task[0].length);
  }

  /** @param {string} line */
  #leafLine(line) {
    if (line.trim() === '') return this.#closeLeaf();
    const heading = /^ {0,3}(#{1,6})(?: |$)/.exec(line);
    const fence = /^( *)(`{3,}|~{3,})([^`]*)$/.exec(line);
    if (heading) return this.#heading(heading[1].length, line.slice(heading[0].length));
    if (fence) return this.#fence(fence[1].length, fence[2], fence[3].trim());
    if (isRule(line)) {
      this.#closeLeaf();
      return this.#add(this.#here(), el('hr'));
    }
    if (this.#leaf?.kind === 'table') return this.#row(this.#leaf, line);
    if (this.#leaf?.kind === 'text' && this.#table(this.#leaf, line)) return;
    this.#prose(line.trimStart());
  }

  /** @param {number} level @param {string} title */
  #heading(level, title) {
    this.#closeLeaf();
    const tag = /** @type {'h3' | 'h4' | 'h5' | 'h6'} */ (`h${Math.min(level + 2, 6)}`);
    this.#add(this.#here(), el(tag, { dir: 'auto' }, ...inline(withoutMarks(title), this.#undo !== null)));
  }

  /** @param {string} more @param {string} [joint] */
  #prose(more, joint = '\n') {
    if (this.#leaf?.kind !== 'text') {
      this.#closeLeaf();
      const node = el('p', { dir: 'auto' });
      this.#add(this.#here(), node);
      this.#leaf = { kind: 'text', node, source: more };
    } else {
      this.#leaf = { ...this.#leaf, source: this.#leaf.source + joint + more };
    }
    while (this.#leaf.source.length > longest) this.#splitText(this.#leaf);
  }

  /**
   * Lets the beginning of a very long paragraph be, and goes on in a new one.
   * @param {TextLeaf} leaf
   */
  #splitText({ node, source }) {
    const cut = cutBefore(source, longest);
    this.#render({ kind: 'text', node, source: source.slice(0, cut) }, true);
    const next = el('p', { dir: 'auto', class: 'more' });
    this.#add(this.#here(), next);
    this.#leaf = { kind: 'text', node: next, source: source.slice(cut) };
  }

  /** @param {TextLeaf} leaf @param {boolean} open */
  #render({ node, source }, open) {
    let shown = source;
    if (open) { // what begins with a bar may be a table's head
      while (shown.startsWith('|', shown.lastIndexOf('\n') + 1)) shown = shown.slice(0, Math.max(0, shown.lastIndexOf('\n')));
    }
    node.replaceChildren(...inline(open ? shown : shown.trimEnd(), open));
  }

  #closeLeaf() {
    if (this.#leaf?.kind === 'text') this.#render(this.#leaf, false);
    this.#leaf = null;
  }

  /** @param {number} indent @param {string} mark @param {string} info */
  #fence(indent, mark, info) {
    this.#closeLeaf();
    const pre = el('pre', { tabindex: 0, dir: 'ltr' });
    const language = info.split(/[\s{]/)[0];
    const whole = () => Array.from(pre.children, (c, i) => (i === 0 || c.className === 'more' ? '' : '\n') + c.textContent).join('');
    this.#add(this.#here(), el('div', { class: 'code' },
      el('div', { class: 'code-head' }, el('span', {}, language || 'code'), copyButton('Copy', whole, { 'aria-label': 'Copy this code' })), pre));
    this.#leaf = { kind: 'code', pre, node: null, mark, indent };
  }

  /** @param {CodeLeaf} leaf @param {string} line */
  #codeLine(leaf, line) {
    const end = /^ *(`{3,}|~{3,}) *$/.exec(line);
    if (end && end[1].startsWith(leaf.mark)) {
      this.#leaf = null;
      return;
    }
    const indent = Math.min(leaf.indent, indentOf(line));
    this.#code(leaf, line.slice(indent), '\n');
  }

  /**
   * Adds to a text in place, as code may be long, but begins a new one in time,
   * because a browser lays out each as a whole.
   * @param {CodeLeaf} leaf @param {string} more @param {string} joint
   */
  #code(leaf, more, joint) {
    const node = leaf.node;
    if (!node || node.length > chunk) {
      const next = text(more);
      this.#add(leaf.pre, el('code', { class: joint ? null : 'more' }, next));
      this.#leaf = { ...leaf, node: next };
      return;
    }
    const before = node.length;
    node.appendData(text(joint + more).data);
    this.#undo?.push(() => node.deleteData(before, node.length - before));
  }

  /**
   * Makes a table if line is the row of dashes below a paragraph's last line.
   * @param {TextLeaf} leaf @param {string} line
   */
  #table(leaf, line) {
    const start = leaf.source.lastIndexOf('\n') + 1;
    const head = cells(leaf.source.slice(start));
    const dashes = line.includes('-') && head.length > 0 && leaf.source.includes('|', start) ? cells(line) : [];
    if (dashes.length === 0 || dashes.length !== head.length || !dashes.every((c) => /^:?-+:?$/.test(c))) return false;
    const columns = dashes.map((c) => (c.endsWith(':') ? (c.startsWith(':') ? 'center' : 'right') : ''));
    this.#cutHead(leaf, start);
    const body = el('tbody');
    this.#add(this.#here(), el('div', { class: 'table', tabindex: 0 },
      el('table', {}, el('thead', {}, this.#cells('th', head, columns)), body)));
    this.#leaf = { kind: 'table', body, columns };
    return true;
  }

  /** @param {TextLeaf} leaf @param {number} start of the head in it */
  #cutHead(leaf, start) {
    if (start > 0) return this.#render({ ...leaf, source: leaf.source.slice(0, start) }, false);
    const parent = this.#here();
    parent.removeChild(leaf.node);
    this.#undo?.push(() => parent.appendChild(leaf.node));
  }

  /** @param {TableLeaf} leaf @param {string} line */
  #row(leaf, line) {
    this.#add(leaf.body, this.#cells('td', cells(line), leaf.columns));
  }

  /** @param {'th' | 'td'} tag @param {string[]} row @param {string[]} columns */
  #cells(tag, row, columns) {
    return el('tr', {}, ...columns.map((align, i) =>
      el(tag, { class: align || null, dir: 'auto', scope: tag === 'th' ? 'col' : null }, ...inline(row[i] ?? '', this.#undo !== null))));
  }
}
