// The way of a task, drawn from its trace: a tree of what happened beside the time that it
// took. The arrow keys walk in it, and all of it is there as a table, too.

import { call } from './credential.js';
import { attribute, el, say, set, svg, visible } from './dom.js';
import { rowsOf, scaleOf, withGaps } from './timeline.js';
import { args } from './tool.js';
import { counted, endings, number, pretty, span } from './words.js';

/** @typedef {import('./types').Trace} Trace */
/** @typedef {import('./timeline.js').Row} Row */
/** @typedef {import('./timeline.js').Scale} Scale */
/** @typedef {{ row: Row, node: HTMLElement, folded: boolean }} Item */

const many = 200; // rows: of more, what is deep is folded at first
const shown = 3; // levels that are not

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
  #tree = el('div', { class: 'tree', role: 'tree', 'aria-label': 'What happened, and when' });
  #detail = el('div', { class: 'detail', 'data-testid': 'trace-detail', 'aria-live': 'polite' });
  #table = el('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'The trace as a table', hidden: true });
  #toggle = el('button', { type: 'button', class: 'quiet', 'data-testid': 'trace-table', 'aria-pressed': 'false' }, 'As a table');

  /** @param {Trace} trace @param {string} [asked]  what its only turn was asked */
  constructor(trace, asked) {
    this.trace = trace;
    const plain = rowsOf(trace, asked);
    const scale = scaleOf(plain);
    const rows = withGaps(plain, scale);
    this.#items = rows.map((row) => ({ row, node: item(row, scale), folded: row.parent && rows.length > many && row.level >= shown }));
    for (const { node } of this.#items) this.#tree.append(node);
    this.#tree.addEventListener('keydown', (event) => this.#key(event));
    this.#tree.addEventListener('click', (event) => this.#click(event));
    this.#tree.addEventListener('focusin', (event) => this.#focused(event));
    this.#toggle.addEventListener('click', () => this.#switch());
    set(this.#table, table(rows));
    this.node = el('div', { class: 'trace', 'data-testid': 'trace' },
      el('div', { class: 'bar' }, el('p', { class: 'faint small' }, summary(trace, rows, scale)), el('span', { class: 'space' }), this.#toggle),
      this.#tree, this.#detail, this.#table);
    this.#fold();
    this.#show(0);
  }

  #switch() {
    const asTable = this.#table.hidden;
    this.#table.hidden = !asTable;
    this.#tree.hidden = this.#detail.hidden = asTable;
    attribute(this.#toggle, 'aria-pressed', String(asTable));
    say(asTable ? 'Shown as a table' : 'Shown as a picture');
  }

  // Hides what is below something folded, and says what is open.
  #fold() {
    let under = Infinity; // the level of the row that hides what is deeper
    for (const { row, node, folded } of this.#items) {
      if (row.level <= under) under = Infinity;
      node.hidden = row.level > under;
      if (row.parent) attribute(node, 'aria-expanded', String(!folded));
      if (folded && !node.hidden) under = row.level;
    }
  }

  /** @param {number} i @param {boolean} [focus] */
  #show(i, focus = false) {
    const item = this.#items[i];
    if (!item) return;
    const before = this.#items[this.#at].node;
    attribute(before, 'tabindex', -1);
    attribute(before, 'aria-selected', 'false');
    this.#at = i;
    attribute(item.node, 'tabindex', 0);
    attribute(item.node, 'aria-selected', 'true');
    set(this.#detail, ...detail(item.row, this.trace));
    if (focus) item.node.focus();
  }

  /** @param {EventTarget | null} target */
  #indexOf(target) {
    return this.#items.findIndex(({ node }) => target instanceof Node && node.contains(target));
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
    while (this.#items[i]?.node.hidden) i += step;
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

/** @param {Trace} trace @param {Row[]} rows @param {Scale} scale */
function summary(trace, rows, { gaps, end }) {
  const sessions = Object.keys(trace.sub_agent_sessions ?? {}).length;
  const lanes = Math.max(0, ...rows.map((r) => r.lanes));
  const troubles = rows.filter((r) => r.status !== '').length;
  return [span(end), counted(trace.steps.length, 'step'), sessions > 0 && counted(sessions, 'sub-agent session'), lanes > 1 && `up to ${lanes} at the same time`,
    gaps.length > 0 && `${counted(gaps.length, 'wait')} drawn short`, troubles > 0 && counted(troubles, 'warning')].filter(Boolean).join(' · ');
}

/** @param {Row} row  its figures, for those who do not see the bar */
function figures({ from, ms, open }) {
  return `from ${span(from)} on, ${open ? 'not ended' : span(ms)}`;
}

/** @param {Row} row */
function notes({ word, lane, lanes, step, call }) {
  const attempt = !call && step?.attempt && step.attempt > 1 ? `attempt ${step.attempt}` : '';
  return [attempt, lanes > 1 && `lane ${lane} of ${lanes}`, word].filter((w) => typeof w === 'string' && w !== '');
}

/** @param {Row} row @param {Scale} scale */
function item(row, scale) {
  const { kind, name, level, status, lane, lanes } = row;
  return el('div', {
    class: 'trace-row', role: 'treeitem', tabindex: -1, 'aria-level': level, 'aria-selected': 'false', 'data-testid': 'trace-row', 'data-kind': kind,
    'data-level': Math.min(level, 8), 'data-status': status || null, 'data-lane': lanes > 1 ? ((lane - 1) % 4) + 1 : null,
  },
  el('span', { class: 'what', title: visible(name) }, el('span', { class: 'twist', 'aria-hidden': 'true' }), el('span', { class: 'name', dir: 'auto' }, name), ...badges(row)),
  unseen(`, from ${span(row.from)} on, `), track(row, scale),
  el('span', { class: 'ms' }, row.open ? 'runs' : row.ms === 0 ? unseen('a moment') : span(row.ms)));
}

/** @param {string} words  for those who do not see the picture */
const unseen = (words) => el('span', { class: 'offscreen' }, words);

/** @type {Record<string, string>} */
const signs = { error: '✕ ', warning: '▲ ' };

/**
 * What is to be seen of a row at once. Words that would leave the name no room are in its
 * details.
 * @param {Row} row @returns {Node[]}
 */
function badges({ status, word, lanes, lane, step, call }) {
  const list = [];
  if (!call && step?.attempt && step.attempt > 1) list.push(unseen(', attempt '), el('span', { class: 'badge', title: `Attempt ${step.attempt}` }, `#${step.attempt}`));
  if (lanes > 1) {
    list.push(unseen(`, lane ${lane} of ${lanes}`), el('span', { class: 'badge lane', title: `At the same time as others: lane ${lane} of ${lanes}`, 'aria-hidden': 'true' }, `∥${lane}`));
  }
  if (word) {
    const short = word.length <= 7;
    list.push(unseen(short ? ', ' : `, ${word}`), el('span', { class: `badge ${status}`, title: word, 'aria-hidden': short ? null : 'true' },
      el('span', { 'aria-hidden': 'true' }, signs[status] ?? (short ? '' : '·')), short ? word : ''));
  }
  return list;
}

/** @param {Row} row @param {Scale} scale */
function track({ kind, from, ms, open, status }, scale) {
  const x = Math.min(scale.at(from), 99.5);
  const to = open ? 100 : scale.at(from + ms);
  return svg('svg', { class: 'timeline', height: 14, width: '100%', 'aria-hidden': 'true' },
    ...scale.gaps.map((gap) => svg('rect', { class: 'gap', x: `${scale.at(gap.from)}%`, y: 0, width: `${scale.at(gap.to) - scale.at(gap.from)}%`, height: 14 })),
    svg('rect', { class: `bar-${kind} ${status}`, x: `${x}%`, y: 2, width: `${Math.max(0.5, to - x)}%`, height: 10, rx: 2 }));
}

/** @param {Row} row @param {Trace} trace @returns {Node[]} */
function detail(row, trace) {
  const { name, step, call, kind } = row;
  const facts = [['When', figures(row)], ...notes(row).map((note) => ['', String(note)])];
  if (kind === 'wait') {
    facts.push(['', 'In this time the task told nothing. It is drawn shorter than it was, so that the rest can be seen.']);
    return list(name, facts);
  }
  if (step?.agent && !call) facts.push(['Agent', step.agent]);
  if (step?.node_id && !call) facts.push(['Node', step.node_id]);
  if (call) facts.push(['Server', call.server], ['Call', call.call_id]);
  const session = step?.session_id && !call ? trace.sub_agent_sessions?.[step.session_id] : null;
  if (step?.session_id && !call) facts.push(['Session', session ? `${step.session_id}, ${session.status}, ${counted(session.message_count, 'message')}` : step.session_id]);
  if (step?.model && !call) facts.push(['Model', step.model]);
  if (kind === 'turn' && step && endings[step.message]) facts.push(['Ended', endings[step.message]]);
  if (step?.usage && !call) facts.push(['Tokens', `${number(step.usage.input_tokens)} in, ${number(step.usage.output_tokens)} out, ${number(step.usage.thinking_tokens)} thinking`]);
  if (step && !call) facts.push(['Began', new Date(step.timestamp).toLocaleString()]);
  const nodes = list(name, facts);
  if (call?.arguments) nodes.push(args(call.arguments));
  const said = call ? call.error || call.result?.text : step?.message;
  if (said && !(kind === 'turn' && endings[said])) nodes.push(el('pre', { dir: 'auto', tabindex: 0, 'aria-label': 'What was said' }, pretty(said), call?.result?.truncated ? '\n…' : null));
  return nodes;
}

/** @param {string} name @param {string[][]} facts @returns {Node[]} */
const list = (name, facts) => [el('h3', { dir: 'auto' }, name), el('dl', { class: 'facts-list' },
  ...facts.flatMap(([key, value]) => [el('dt', {}, key), el('dd', { dir: 'auto' }, value)]))];

/** @param {Row[]} rows */
function table(rows) {
  const head = ['What', 'Who', 'Begins', 'Takes', 'Remarks'];
  return el('table', { class: 'trace-table' }, el('caption', { class: 'offscreen' }, 'What happened, and when'),
    el('thead', {}, el('tr', {}, ...head.map((h) => el('th', { scope: 'col' }, h)))),
    el('tbody', {}, ...rows.map((row) => el('tr', { 'data-status': row.status || null },
      el('th', { scope: 'row', 'data-level': Math.min(row.level, 8), dir: 'auto' }, row.name),
      el('td', { dir: 'auto' }, row.call ? row.call.server : row.step?.agent ?? ''),
      el('td', {}, span(row.from)),
      el('td', {}, row.open ? 'not ended' : span(row.ms)),
      el('td', {}, notes(row).join(', '))))));
}
