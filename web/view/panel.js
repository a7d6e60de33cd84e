// What the side panel says of one turn. Where the gateway keeps it, its time is that of the
// whole task.

import { copyButton, el, set, svg } from './dom.js';
import { traceOf } from '../model/steps.js';
import { readTrace, TraceView } from '../dev/trace.js';
import { duration, number } from '../words.js';

/** @typedef {import('../model/record.js').TurnRecord} TurnRecord */

/** @param {HTMLElement} root @param {TurnRecord | null} record */
export function showTurn(root, record) {
  if (!record) {
    set(root, el('p', { class: 'faint' }, 'Ask something: this is where you see how long each part of a turn took, and what it cost.'));
    return;
  }
  const id = record.requestId;
  set(root,
    el('p', { class: 'about', dir: 'auto' }, `“${record.ask.input.slice(0, 80)}${record.ask.input.length > 80 ? '…' : ''}”`),
    time(record),
    tokens(record),
    el('h3', {}, 'Request'),
    el('div', { class: 'bar' }, el('code', { 'data-testid': 'request-id', title: 'Found in every event, in the log and at the upstreams' }, id || (record.state === 'running' ? 'no id yet' : 'none was seen')),
      id ? copyButton('Copy', () => id, { 'data-testid': 'copy-request-id', 'aria-label': 'Copy the request id' }) : null),
    el('div', { class: 'code' },
      el('div', { class: 'code-head' }, el('span', {}, 'The same with curl'),
        copyButton('Copy', () => record.curl(), { 'data-testid': 'copy-curl', 'aria-label': 'Copy the curl line' })),
      el('pre', { tabindex: 0, 'data-testid': 'curl' }, record.curl())));
}

/**
 * Where the time went: as it was seen here, until the gateway has told it.
 * @param {TurnRecord} record
 */
function time(record) {
  const root = el('div', { 'data-testid': 'waterfall' }, ...seen(record));
  if (record.task && record.state !== 'running') {
    readTrace(record.task).then((trace) => {
      if (trace && trace.steps.length > 0) set(root, new TraceView(trace, inputs(record)).node, el('p', { class: 'faint small' }, 'Task ', el('code', {}, record.task)));
    });
  }
  return root;
}

/** @param {TurnRecord} record @returns {import('../dev/trace.js').Inputs} */
function inputs(record) {
  return { ...(record.after ? inputs(record.after) : {}), [record.turn || 'turn']: record.ask.input };
}

/** @param {TurnRecord} record @returns {Node[]} */
function seen(record) {
  if (record.state === 'running') return [el('p', { class: 'faint' }, 'Drawn when the turn has ended.')];
  if (record.events.length === 0) return [el('p', { class: 'faint' }, 'There are no events, so there is nothing to draw.')];
  const note = record.done
    ? 'How long tools took, and models where it can be told, was measured by the gateway. Where bars begin, and the lengths of the others, is when events reached this page.'
    : 'This is when events reached the page. The gateway sends figures of its own with the done event, which never came.';
  return [new TraceView(traceOf(record), inputs(record)).node, ...figures(record), el('p', { class: 'faint small' }, note)];
}

/**
 * What the gateway reports of the whole.
 * @param {TurnRecord} record
 */
function figures(record) {
  const timings = record.done?.timings;
  if (!timings) return [];
  /** @type {[string, number | undefined][]} */
  const rows = [['First event', timings.first_event_ms], ['First text', timings.first_delta_ms], ['Total', timings.total_ms], ['Blocked by this client', timings.write_blocked_ms]];
  return [el('dl', { class: 'figures', 'aria-label': 'Figures of the gateway' }, ...rows.flatMap(([name, ms]) =>
    (ms === undefined ? [] : [el('div', {}, el('dt', {}, name), el('dd', {}, duration(ms)))])))];
}

/** @param {TurnRecord} record */
function tokens(record) {
  const usage = record.done?.usage;
  if (!usage) return null;
  /** @type {[string, string, number][]} */
  const parts = [['input', 'in', usage.input_tokens], ['output', 'out', usage.output_tokens], ['thinking', 'thinking', usage.thinking_tokens]];
  const all = Math.max(1, parts.reduce((sum, [, , n]) => sum + n, 0));
  let x = 0;
  const bar = svg('svg', { class: 'track', viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, ...parts.map(([kind, , n]) => {
    const width = (n / all) * 1000;
    x += width;
    return svg('rect', { class: kind, x: x - width, y: 0, width, height: 10 });
  }));
  const figures = parts.map(([kind, name, n]) => el('div', {}, el('dt', { class: `key ${kind}` }, name), el('dd', {}, number(n))));
  if (usage.cached_tokens !== undefined) figures.splice(1, 0, el('div', {}, el('dt', {}, 'of them cached'), el('dd', {}, number(usage.cached_tokens))));
  return el('div', { 'data-testid': 'tokens' }, el('h3', {}, 'Tokens'), bar, el('dl', { class: 'figures' }, ...figures));
}
