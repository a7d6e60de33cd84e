// Where the time of a turn went. Lengths of model calls and tool calls are the
// gateway's figures; when they began is when their events were seen here.

import { el, svg } from './dom.js';
import { dataOf } from './events.js';
import { duration } from './words.js';

/** @typedef {import('./record.js').TurnRecord} TurnRecord */
/** @typedef {{ kind: 'wait' | 'model' | 'tool' | 'text', name: string, from: number, ms: number }} Bar */

const wide = 1000; // units of the drawing

/** @param {TurnRecord} record */
export function waterfall(record) {
  if (record.state === 'running') return el('p', { class: 'faint' }, 'Drawn when the turn has ended.');
  const bars = barsOf(record);
  if (bars.length === 0) return el('p', { class: 'faint' }, 'There are no events, so there is nothing to draw.');
  const last = Math.max(...bars.map((b) => b.from + b.ms), 1);
  return el('div', {},
    el('table', { class: 'waterfall' },
      el('caption', { class: 'offscreen' }, 'Where the time of the turn went'),
      el('thead', {}, el('tr', {}, ...['What', 'When', 'How long'].map((h) => el('th', { scope: 'col' }, el('span', { class: 'offscreen' }, h))))),
      el('tbody', {}, ...bars.map((b) => drawn(b, last)))),
    figures(record),
    el('p', { class: 'faint small' }, record.done
      ? 'How long model and tool calls took was measured by the gateway. Where bars begin, and the lengths of the others, is when events reached this page.'
      : 'This is when events reached the page. The gateway sends figures of its own with the done event, which never came.'));
}

/** @param {Bar} bar @param {number} last */
function drawn({ kind, name, from, ms }, last) {
  const x = Math.round((from / last) * wide);
  const width = Math.max(4, Math.round((ms / last) * wide));
  const picture = svg('svg', { class: 'track', viewBox: `0 0 ${wide} 10`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: kind, x: Math.min(x, wide - 4), y: 0, width, height: 10 }));
  return el('tr', {},
    el('th', { scope: 'row', title: name }, name),
    el('td', {}, picture, el('span', { class: 'offscreen' }, `from ${duration(from)} on`)),
    el('td', { class: 'ms' }, duration(ms)));
}

/** @param {TurnRecord} record @returns {Bar[]} */
function barsOf(record) {
  const events = record.events;
  if (events.length === 0) return [];
  const first = events[0].at;
  const end = Number.isNaN(record.ended) ? events[events.length - 1].at : record.ended;
  /** @type {Bar[]} */
  const bars = [{ kind: 'wait', name: 'To the first event', from: 0, ms: first }];
  const tools = toolBars(record, end);
  const steps = modelBars(record, first, end);
  bars.push(...[...steps, ...tools].sort((a, b) => a.from - b.from));
  if (!Number.isNaN(record.firstDelta)) {
    bars.push({ kind: 'text', name: 'Writing the answer', from: record.firstDelta, ms: record.lastDelta - record.firstDelta });
  }
  return bars;
}

/** @param {TurnRecord} record @param {number} end @returns {Bar[]} */
function toolBars(record, end) {
  return [...record.spans.values()].map(({ tool, from, to, ms }) => (
    { kind: 'tool', name: tool, from, ms: ms ?? (Number.isNaN(to) ? end : to) - from }));
}

/**
 * The model works while no tool does. If there are as many such times as the
 * gateway counts model calls, each call begins with one of them; otherwise they
 * are drawn end to end. Where agents or nodes work side by side it is not known which of
 * them asked: they are drawn themselves, as long as they worked.
 * @param {TurnRecord} record @param {number} first @param {number} end
 * @returns {Bar[]}
 */
function modelBars(record, first, end) {
  const branches = branchBars(record, end);
  if (branches.length > 1) return branches;
  const measured = record.done?.timings.model_ms ?? [];
  const begins = gaps(record, first, end);
  let next = first;
  return measured.map((ms, i) => {
    const from = begins.length === measured.length ? begins[i] : next;
    next = from + ms;
    return { kind: 'model', name: measured.length > 1 ? `Model call ${i + 1}` : 'Model call', from, ms };
  });
}

/**
 * Agents and nodes of workflows, from their begin to their end.
 * @param {TurnRecord} record @param {number} end
 * @returns {Bar[]}
 */
function branchBars(record, end) {
  /** @type {Map<string, Bar>} */
  const open = new Map();
  /** @type {Bar[]} */
  const bars = [];
  for (const { event, data: text, at } of record.events) {
    const data = event === 'agent' || event === 'node' ? dataOf(text) : null;
    if (!data) continue;
    const key = `${event} ${data.node_id ?? ''} ${data.agent_id ?? ''} ${data.session_id ?? ''}`;
    const before = open.get(key);
    if (before) before.ms = at - before.from;
    open.delete(key);
    if (data.status !== 'started' && data.status !== 'retrying') continue;
    /** @type {Bar} */
    const bar = { kind: 'model', name: event === 'node' ? `Node ${data.node_id}` : `Agent ${data.agent_id}`, from: at, ms: end - at };
    open.set(key, bar);
    bars.push(bar);
  }
  return bars;
}

/**
 * When a time without tools begins.
 * @param {TurnRecord} record @param {number} first @param {number} end
 */
function gaps(record, first, end) {
  const begins = [first];
  let busy = NaN; // until when the tools of this step are known to work
  for (const { from, to } of [...record.spans.values()].sort((a, b) => a.from - b.from)) {
    if (from > busy) begins.push(busy);
    busy = Math.max(Number.isNaN(busy) ? 0 : busy, Number.isNaN(to) ? end : to);
  }
  return Number.isNaN(busy) ? begins : [...begins, busy];
}

/**
 * What the gateway reports of the whole.
 * @param {TurnRecord} record
 */
function figures(record) {
  const timings = record.done?.timings;
  if (!timings) return null;
  const rows = [
    ['First event', timings.first_event_ms],
    ['First text', timings.first_delta_ms],
    ['Total', timings.total_ms],
    ['Blocked by this client', timings.write_blocked_ms],
  ];
  return el('dl', { class: 'figures', 'aria-label': 'Figures of the gateway' }, ...rows.flatMap(([name, ms]) =>
    (ms === undefined ? [] : [el('div', {}, el('dt', {}, String(name)), el('dd', {}, duration(Number(ms))))])));
}
