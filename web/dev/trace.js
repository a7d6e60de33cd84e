// The way of a turn or a task, drawn from its trace: a tree of rows beside the time that each took,
// also while it runs. The arrow keys walk in it, and all of it is there as a table, too.

import { useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.js';
import { rowsOf, scaleOf, withGaps } from '../model/timeline.js';
import { h } from '../view/h.js';
import { Icon } from '../view/icon.js';
import { about, counted, span } from '../words.js';
import { Detail, gistOf, isModel, Table, timeOf } from './detail.js';

const many = 200; // rows: of more, deep ones are folded at first
const shown = 3; // levels that are not
const most = 2000; // rows that are open at first
const together = 40; // rows in a block, of which the browser leaves out those out of sight

/** The end of an axis that need not change with each event. @param {number} ms */
function roundEnd(ms) {
  const power = 10 ** Math.floor(Math.log10(Math.max(100, ms)));
  return [1, 1.5, 2, 3, 4, 6, 8, 10].map((n) => n * power).find((n) => n >= ms) ?? ms;
}

/** @param {Row[]} rows @param {boolean} isRunning @param {number} now @returns {Scale} */
function axisOf(rows, isRunning, now) {
  if (!isRunning) return scaleOf(rows);
  const end = roundEnd(Math.max(now, ...rows.map((r) => r.from + r.ms)));
  return { gaps: [], end, at: (ms) => Math.min(100, (Math.max(0, ms) / end) * 100) };
}

/** @param {{ trace: Trace, inputs: Record<string, string>, isRunning?: boolean, now?: number }} props  inputs: the messages of turns, by their ids */
export function TraceView({ trace, inputs, isRunning = false, now = 0 }) {
  const [at, setAt] = useState('');
  const [folds, setFolds] = useState(/** @type {Record<string, boolean>} */ ({}));
  const [isTable, setTable] = useState(false);
  const tree = useRef(/** @type {HTMLElement | null} */ (null));
  const cache = useRef(new Map());
  const { rows, scale, asked, deep } = useMemo(() => {
    const plain = rowsOf(trace);
    const messages = named(plain, inputs);
    const axis = axisOf(plain, isRunning, now);
    return { rows: withGaps(plain, axis), scale: axis, asked: messages, deep: deepest(plain) };
  }, [trace, isRunning, isRunning ? now : 0]);
  const isFolded = (/** @type {Row} */ row) => row.parent && (folds[row.id] ?? row.level >= deep);
  const visible = seen(rows, isFolded);
  const chosen = visible.find((r) => r.id === at) ?? visible[0];
  const focus = useRef(false);
  useLayoutEffect(() => {
    if (!focus.current) return;
    focus.current = false;
    /** @type {HTMLElement | null | undefined} */ (tree.current?.querySelector('[aria-selected=true]'))?.focus();
  });
  const go = (/** @type {Row | undefined} */ row) => { if (row) { setAt(row.id); focus.current = true; } };
  const fold = (/** @type {Row} */ row, /** @type {boolean} */ folded) => setFolds({ ...folds, [row.id]: folded });
  // Trees are walked in this way elsewhere (WAI-ARIA Authoring Practices, "Tree View").
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || !chosen) return;
    const i = visible.indexOf(chosen);
    switch (e.key) {
      case 'ArrowDown': go(visible[i + 1]); break;
      case 'ArrowUp': go(visible[i - 1]); break;
      case 'Home': go(visible[0]); break;
      case 'End': go(visible.at(-1)); break;
      case 'ArrowRight': if (isFolded(chosen)) fold(chosen, false); else if (chosen.parent) go(visible[i + 1]); break;
      case 'ArrowLeft': if (chosen.parent && !isFolded(chosen)) fold(chosen, true); else go(visible.findLast((r, j) => j < i && r.level < chosen.level)); break;
      case 'Enter': case ' ': if (chosen.parent) fold(chosen, !isFolded(chosen)); break;
      default: return;
    }
    e.preventDefault();
  };
  const drawn = (/** @type {Row} */ row) => {
    const isAt = row === chosen;
    const words = [row.name, row.from, row.open ? now : row.ms, row.open, row.word, row.lane, row.lanes, isAt, isFolded(row), row.step?.usage?.output_tokens, row.step?.finish_reason, scale.end, scale.gaps.length].join('|');
    const known = cache.current.get(row.id);
    if (known?.words === words) return known.node; // the same node is not compared again
    const node = h(RowView, { key: row.id, row, scale, now, isAt, folded: isFolded(row), choose: () => go(row), turn: () => fold(row, !isFolded(row)) });
    cache.current.set(row.id, { words, node });
    return node;
  };
  const blocks = Array.from({ length: Math.ceil(visible.length / together) }, (_, i) => visible.slice(i * together, (i + 1) * together));
  return h('div', { class: 'trace', 'data-testid': 'trace' },
    h('div', { class: 'bar' }, h('p', { class: 'soft small', 'data-testid': 'trace-summary' }, summaryOf(trace, rows, isRunning ? { ...scale, end: now } : scale)), h('span', { class: 'space' }),
      h('button', { type: 'button', class: 'plain', 'data-testid': 'trace-table', 'aria-pressed': String(isTable), onClick: () => setTable(!isTable) }, 'As a table')),
    isTable ? h(Table, { rows }) : [
      scale.gaps.length > 0 ? null : h('p', { key: 'axis', class: 'axis', 'aria-hidden': 'true' }, [0, 1, 2, 3, 4].map((n) => h('span', { key: String(n) }, n === 0 ? '0' : about((scale.end * n) / 4)))),
      h('div', { key: 'tree', class: `falls${rows.length > many ? ' long' : ''}`, role: 'tree', 'aria-label': 'Steps of this turn', ref: tree, onKeyDown: key }, blocks.map((block, i) => h('div', { key: String(i), class: 'rows', role: 'none' }, block.map(drawn)))),
      chosen ? h(Detail, { key: 'detail', row: chosen, trace, asked: asked.get(chosen) ?? '' }) : null,
    ]);
}

/** The rows that are not below a folded one. @param {Row[]} rows @param {(row: Row) => boolean} isFolded */
function seen(rows, isFolded) {
  let under = Infinity; // the level of the row that hides deeper ones
  return rows.filter((row) => {
    if (row.level <= under) under = Infinity;
    if (row.level > under) return false;
    if (isFolded(row)) under = row.level;
    return true;
  });
}

/** @type {Record<string, string>} */
const signs = { error: '✕ ', warning: '▲ ' };

/** @param {string} words  for people who do not see the picture */
const unseen = (words) => h('span', { class: 'off' }, words);

function RowView(/** @type {{ row: Row, scale: Scale, now: number, isAt: boolean, folded: boolean, choose: () => void, turn: () => void }} */ { row, scale, now, isAt, folded, choose, turn }) {
  const { kind, name, level, status, word, lane, lanes, from, step, call, parent } = row;
  const gist = isModel(row) && step ? gistOf(step) : '';
  return h('div', {
    class: 'fall', role: 'treeitem', tabindex: isAt ? 0 : -1, 'aria-level': level, 'aria-selected': String(isAt), 'aria-expanded': parent ? String(!folded) : undefined, 'data-testid': 'trace-row', 'data-kind': kind,
    'data-level': Math.min(level, 8), 'data-status': status || undefined, 'data-lane': lanes > 1 ? String(lane) : undefined, onClick: choose,
  },
  h('span', { class: 'name', title: [name, gist].filter(Boolean).join(': ') }, h('span', { class: 'twist', 'aria-hidden': 'true', onClick: (/** @type {Event} */ e) => { if (parent) { e.stopPropagation(); turn(); } } }, parent ? h(Icon, { name: folded ? 'chevron-right' : 'chevron-down', small: true }) : null),
    h('span', { class: 'swatch', 'data-kind': call ? 'tool' : kind }), h('span', { class: 'words', dir: 'auto' }, name),
    !call && step?.attempt && step.attempt > 1 ? [unseen(', attempt '), h('span', { class: 'badge-small' }, `#${step.attempt}`)] : null,
    lanes > 1 ? unseen(`, lane ${lane} of ${lanes}`) : null,
    word ? [unseen(`, ${word}`), h('span', { class: `badge-small ${status}`, title: word, 'aria-hidden': 'true' }, signs[status] ?? '', word.length <= 7 ? word : '')] : null),
  unseen(`, from ${span(from)} on, `), h(Bar, { row, scale, now }),
  row.isMeasured || row.open ? h('span', { class: row.open ? 'num live' : 'num' }, timeOf(row)) : h('span', { class: 'num', title: timeOf(row) }, unseen(timeOf(row)), '–'), gist ? unseen(`, ${gist}`) : null);
}

function Bar(/** @type {{ row: Row, scale: Scale, now: number }} */ { row, scale, now }) {
  const { kind, from, ms, open, status, step, call, isMeasured } = row;
  const x = Math.min(scale.at(from), 99.5);
  const to = scale.at(open ? Math.max(now, from) : from + ms);
  const first = isModel(row) ? step?.first_token_ms ?? 0 : 0;
  const rect = (/** @type {string} */ name, /** @type {number} */ left, /** @type {number} */ right) => h('rect', { key: name, class: name, x: `${left}%`, y: 3, width: `${Math.max(0.6, right - left)}%`, height: 10, rx: 2.5 });
  return h('svg', { class: 'bars', height: 16, width: '100%', 'aria-hidden': 'true' },
    scale.gaps.map((gap) => h('rect', { key: String(gap.from), class: 'gap', x: `${scale.at(gap.from)}%`, y: 0, width: `${scale.at(gap.to) - scale.at(gap.from)}%`, height: 16 })),
    isMeasured || open ? rect(`bar-${call ? 'tool' : kind} ${status}`, x, to) : h('rect', { class: 'bar-open', x: `${x}%`, y: 6, width: '0.6%', height: 4 }),
    first > 0 && first < (open ? now - from : ms) ? rect('silent', x, scale.at(from + first)) : null);
}

/** Gives turns the beginning of their messages as a name. @param {Row[]} rows @param {Record<string, string>} inputs */
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

/** The level from which on rows are folded at first. @param {Row[]} rows */
function deepest(rows) {
  if (rows.length <= many) return Infinity;
  let deep = shown;
  while (deep > 1 && rows.filter((r) => r.level <= deep).length > most) deep--;
  return deep;
}

export function summaryOf(/** @type {Trace} */ trace, /** @type {Row[]} */ rows, /** @type {Scale} */ { gaps, end }) {
  const sessions = Object.keys(trace.sub_agent_sessions ?? {}).length;
  const lanes = Math.max(0, ...rows.map((r) => r.lanes));
  const troubles = rows.filter((r) => r.status !== '').length;
  return [span(end), counted(rows.filter((r) => r.kind !== 'wait' && !r.call).length, 'step'), sessions > 0 && counted(sessions, 'sub-agent session'), lanes > 1 && `up to ${lanes} at the same time`,
    gaps.length > 0 && `${counted(gaps.length, 'wait')} drawn short`, troubles > 0 && counted(troubles, 'warning')].filter(Boolean).join(' · ');
}
