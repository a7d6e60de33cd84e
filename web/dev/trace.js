// The way of a task, drawn from its trace: a tree of what happened beside the time that it
// took. The arrow keys walk in it, and all of it is there as a table, too.

import { call } from '../wire/credential.js';
import { detail, table } from './detail.js';
import { attribute, el, say, set } from '../view/dom.js';
import { item } from './row.js';
import { rowsOf, scaleOf, withGaps } from '../model/timeline.js';
import { counted, span } from '../words.js';

/** @typedef {import('../types').Trace} Trace */
/** @typedef {import('../model/timeline.js').Row} Row */
/** @typedef {import('../model/timeline.js').Scale} Scale */
/** @typedef {{ row: Row, node: HTMLElement | null, folded: boolean, asked: string }} Item  node: none before it is seen */
/** @typedef {Record<string, string>} Inputs  what turns were asked, by their ids */

const many = 200; // rows: of more, what is deep is folded at first
const shown = 3; // levels that are not
const together = 40; // rows in a block
const most = 2000; // rows that are open at first

/**
 * Reads the trace of a task; null: there is none for us.
 * @param {string} task @param {Record<string, string>} [who]
 * @returns {Promise<Trace | null>}
 */
export async function readTrace(task, who = {}) {
  try {
    const response = await call(`tasks/${encodeURIComponent(task)}/trace?${new URLSearchParams(who)}`);
    if (response.ok) return await response.json();
    await response.body?.cancel();
  } catch {
    // It is drawn from what has come here.
  }
  return null;
}

export class TraceView {
  /** @type {Item[]} */
  #items = [];
  #at = 0; // where the focus is, or was
  /** @type {Scale} */
  #scale;
  /** @type {Map<EventTarget, number>} */
  #places = new Map(); // of nodes
  /** @type {HTMLElement[]} */
  #blocks = []; // of rows, of which the browser leaves out what is out of sight
  #tree = el('div', { class: 'tree', role: 'tree', 'aria-label': 'What happened, and when' });
  #detail = el('div', { class: 'detail', 'data-testid': 'trace-detail', 'aria-live': 'polite' });
  #table = el('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'The trace as a table', hidden: true });
  #toggle = el('button', { type: 'button', class: 'quiet', 'data-testid': 'trace-table', 'aria-pressed': 'false' }, 'As a table');

  /** @param {Trace} trace @param {Inputs} [inputs] */
  constructor(trace, inputs = {}) {
    this.trace = trace;
    const plain = rowsOf(trace);
    const asked = named(plain, inputs);
    this.#scale = scaleOf(plain);
    if (plain.length > many) this.#tree.classList.add('long');
    const rows = withGaps(plain, this.#scale);
    const deep = deepest(rows);
    this.#items = rows.map((row) => ({ row, node: null, folded: row.parent && row.level >= deep, asked: asked.get(row) ?? '' }));
    this.#tree.addEventListener('keydown', (event) => this.#key(event));
    this.#tree.addEventListener('click', (event) => this.#click(event));
    this.#tree.addEventListener('focusin', (event) => this.#focused(event));
    this.#toggle.addEventListener('click', () => this.#switch());
    this.node = el('div', { class: 'trace', 'data-testid': 'trace' },
      el('div', { class: 'bar' }, el('p', { class: 'faint small' }, summary(trace, rows, this.#scale)), el('span', { class: 'space' }), this.#toggle),
      this.#tree, this.#detail, this.#table);
    this.#fold();
    this.#show(0);
  }

  #switch() {
    const asTable = this.#table.hidden;
    if (asTable && !this.#table.firstChild) set(this.#table, table(this.#items.map(({ row }) => row)));
    this.#table.hidden = !asTable;
    this.#tree.hidden = this.#detail.hidden = asTable;
    attribute(this.#toggle, 'aria-pressed', String(asTable));
    say(asTable ? 'Shown as a table' : 'Shown as a picture');
  }

  // Hides what is below something folded, and says what is open.
  #fold() {
    let under = Infinity; // the level of the row that hides what is deeper
    /** @type {HTMLElement | null} */
    let before = null;
    for (const [i, at] of this.#items.entries()) {
      const { row, folded } = at;
      if (row.level <= under) under = Infinity;
      const hidden = row.level > under;
      if (!hidden && !at.node) this.#put(i, before);
      if (!at.node) continue;
      before = at.node;
      at.node.hidden = hidden;
      if (row.parent) attribute(at.node, 'aria-expanded', String(!folded));
      if (folded && !hidden) under = row.level;
    }
  }

  /** @param {number} i @param {HTMLElement | null} before */
  #put(i, before) {
    const at = this.#items[i];
    const node = at.node = item(at.row, this.#scale);
    this.#places.set(node, i);
    const block = this.#blocks[Math.floor(i / together)] ??= el('div', { class: 'rows-block', role: 'none' });
    if (before?.parentNode === block) before.after(node);
    else block.prepend(node);
    if (block.parentNode) return;
    if (before?.parentElement) before.parentElement.after(block);
    else this.#tree.prepend(block);
  }

  /** @param {number} i @param {boolean} [focus] */
  #show(i, focus = false) {
    const item = this.#items[i];
    if (!item?.node) return;
    const before = this.#items[this.#at].node ?? item.node;
    attribute(before, 'tabindex', -1);
    attribute(before, 'aria-selected', 'false');
    this.#at = i;
    attribute(item.node, 'tabindex', 0);
    attribute(item.node, 'aria-selected', 'true');
    set(this.#detail, ...detail(item.row, this.trace, item.asked));
    if (focus) item.node.focus();
  }

  /** @param {EventTarget | null} target */
  #indexOf(target) {
    const row = target instanceof Element ? target.closest('.trace-row') : null;
    return (row && this.#places.get(row)) ?? -1;
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const i = this.#indexOf(event.target);
    if (i >= 0 && i !== this.#at) this.#show(i);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const i = this.#indexOf(event.target);
    if (i < 0) return;
    if (event.target instanceof Element && event.target.closest('.twist')) this.#turn(i, !this.#items[i].folded);
    this.#show(i, true);
  }

  /** @param {number} i @param {boolean} folded */
  #turn(i, folded) {
    this.#items[i].folded = folded;
    this.#fold();
  }

  /** @param {number} from @param {number} step */
  #next(from, step) {
    let i = from + step;
    while (this.#items[i] && this.#items[i].node?.hidden !== false) i += step;
    return this.#items[i] ? i : from;
  }

  // As trees are walked elsewhere (WAI-ARIA Authoring Practices, "Tree View").
  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.#at;
    const { row, folded } = this.#items[at];
    let to = at;
    switch (event.key) {
      case 'ArrowDown': to = this.#next(at, 1); break;
      case 'ArrowUp': to = this.#next(at, -1); break;
      case 'Home': to = this.#next(-1, 1); break;
      case 'End': to = this.#next(this.#items.length, -1); break;
      case 'ArrowRight':
        if (row.parent && folded) this.#turn(at, false);
        else if (row.parent) to = this.#next(at, 1);
        break;
      case 'ArrowLeft':
        if (row.parent && !folded) this.#turn(at, true);
        else to = Math.max(0, this.#items.findLastIndex((other, i) => i < at && other.row.level < row.level));
        break;
      case 'Enter':
      case ' ':
        if (row.parent) this.#turn(at, !folded);
        break;
      default: return;
    }
    event.preventDefault();
    this.#show(to, true);
  }
}

/**
 * Gives turns the name of what they were asked, and says what that is for each row.
 * @param {Row[]} rows @param {Inputs} inputs
 */
function named(rows, inputs) {
  /** @type {Map<Row, string>} */
  const all = new Map();
  let asked = '';
  for (const row of rows) {
    if (row.kind === 'turn') {
      asked = inputs[row.id.slice(0, row.id.lastIndexOf(':'))] ?? '';
      if (asked.trim()) row.name = asked.trim().split('\n', 1)[0].slice(0, 60);
    }
    all.set(row, asked);
  }
  return all;
}

/** From which level on rows are folded at first. @param {Row[]} rows */
function deepest(rows) {
  if (rows.length <= many) return Infinity;
  let deep = shown;
  while (deep > 1 && rows.filter((r) => r.level <= deep).length > most) deep--;
  return deep;
}

/** @param {Trace} trace @param {Row[]} rows @param {Scale} scale */
function summary(trace, rows, { gaps, end }) {
  const sessions = Object.keys(trace.sub_agent_sessions ?? {}).length;
  const lanes = Math.max(0, ...rows.map((r) => r.lanes));
  const troubles = rows.filter((r) => r.status !== '').length;
  return [span(end), counted(trace.steps.length, 'step'), sessions > 0 && counted(sessions, 'sub-agent session'), lanes > 1 && `up to ${lanes} at the same time`,
    gaps.length > 0 && `${counted(gaps.length, 'wait')} drawn short`, troubles > 0 && counted(troubles, 'warning')].filter(Boolean).join(' · ');
}
