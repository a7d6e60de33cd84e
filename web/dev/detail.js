// What is said of one row of a trace: in its details, and in the table of all of them.

import { el } from '../view/dom.js';
import { args } from '../view/tool.js';
import { counted, duration, endings, number, pretty, span } from '../words.js';

/** @typedef {import('../types').Trace} Trace */
/** @typedef {import('../types').TraceStep} TraceStep */
/** @typedef {import('../model/timeline.js').Row} Row */

// Questions of the gateway's own to a model, whose texts no trace has: a draft that was
// withheld would be in them.
const ours = ['router', 'planner', 'judge', 'refinement', 'critic', 'structured'];

/** @param {Row} row */
export const isModel = ({ kind, call }) => !call && (kind === 'step' || ours.includes(kind));

/** @param {Row} row  its figures, for those who do not see the bar */
const figures = ({ from, ms, open }) => `from ${span(from)} on, ${open ? 'not ended' : span(ms)}`;

/** @param {Row} row */
export function notes({ word, lane, lanes, step, call }) {
  const attempt = !call && step?.attempt && step.attempt > 1 ? `attempt ${step.attempt}` : '';
  return [attempt, lanes > 1 && `lane ${lane} of ${lanes}`, word].filter((w) => typeof w === 'string' && w !== '');
}

/** @param {NonNullable<TraceStep['usage']>} usage */
function tokens({ input_tokens, output_tokens, thinking_tokens, cached_tokens }) {
  const cached = cached_tokens ? ` (${number(cached_tokens)} cached)` : '';
  return `${number(input_tokens)} in${cached}, ${number(output_tokens)} out${thinking_tokens > 0 ? `, ${number(thinking_tokens)} thinking` : ''}`;
}

/** What became of a model's call, in one line. @param {TraceStep} step */
export function gist({ model, usage, first_token_ms: first, finish_reason: finish }) {
  return [model, usage && tokens(usage), first !== undefined && `first ${duration(first)}`, finish].filter(Boolean).join(' · ');
}

/**
 * What was new in a request: what the tools said that were called before, or what was asked.
 * @param {TraceStep} step @param {Trace} trace @param {string} asked
 * @returns {Node[]}
 */
function sent(step, trace, asked) {
  const before = trace.steps.filter((s) => s.step_name === 'step' && s.parent_id === step.parent_id && s.session_id === step.session_id && s.started_ms < step.started_ms).at(-1);
  const calls = before?.tool_calls ?? [];
  if (calls.length === 0) return asked ? [said(asked, 'What was sent')] : [];
  return [el('p', { class: 'faint' }, `What was said before, and what ${counted(calls.length, 'call')} gave:`),
    ...calls.map((c) => said(`${c.tool}: ${c.error || c.result?.text || 'nothing that is kept'}`, `What ${c.tool} gave`))];
}

/** @param {string} words @param {string} label @param {boolean} [cut] */
const said = (words, label, cut = false) => el('pre', { dir: 'auto', tabindex: 0, 'aria-label': label }, pretty(words), cut ? '\n…' : null);

/** @param {string} title @param {Node[]} nodes @returns {Node[]} */
const part = (title, nodes) => (nodes.length > 0 ? [el('h4', {}, title), ...nodes] : []);

/** @param {string} name @param {string[][]} facts @returns {Node[]} */
const list = (name, facts) => [el('h3', { dir: 'auto' }, name), el('dl', { class: 'facts-list' },
  ...facts.flatMap(([key, value]) => [el('dt', {}, key), el('dd', { dir: 'auto' }, value)]))];

/**
 * @param {Row} row @param {Trace} trace @param {string} asked  what its turn was asked, if that is known
 * @returns {Node[]}
 */
export function detail(row, trace, asked) {
  const { name, step, call, kind } = row;
  const facts = [['When', figures(row)], ...notes(row).map((note) => ['', String(note)])];
  if (kind === 'wait') {
    facts.push(['', 'In this time the task told nothing. It is drawn shorter than it was, so that the rest can be seen.']);
    return list(name, facts);
  }
  if (call) return [...list(name, [...facts, ['Server', call.server], ['Call', call.call_id]]), ...exchange(call)];
  if (!step) return list(name, facts);
  const session = step.session_id ? trace.sub_agent_sessions?.[step.session_id] : null;
  for (const [key, value] of [
    ['Agent', step.agent], ['Node', step.node_id],
    ['Session', session ? `${session.session_id}, ${session.status}, ${counted(session.message_count, 'message')}` : step.session_id],
    ['Model', step.model], ['Ended', kind === 'turn' ? endings[step.message] : step.finish_reason && (endings[step.finish_reason] ?? step.finish_reason)],
    ['Tokens', step.usage && tokens(step.usage)], ['First token', step.first_token_ms === undefined ? '' : `after ${duration(step.first_token_ms)}`],
    ['Began', step.timestamp && new Date(step.timestamp).toLocaleString()],
  ]) if (value) facts.push([String(key), value]);
  return [...list(name, facts), ...texts(row, step, trace, asked)];
}

/** @param {import('../types').TraceCall} call */
function exchange(call) {
  const gave = call.error || call.result?.text;
  return [...part('Sent', [args(call.arguments ?? {})]), ...part('Came back', gave ? [said(gave, 'What came back', call.result?.truncated)] : [])];
}

/** @param {Row} row @param {TraceStep} step @param {Trace} trace @param {string} asked */
function texts({ kind, name }, step, trace, asked) {
  if (ours.includes(kind)) return [el('p', { class: 'faint' }, 'A question of the gateway’s own. Its texts are kept nowhere: an answer that was withheld could be in them.')];
  if (kind === 'turn') return [...part('Sent', asked.trim() && asked.trim() !== name ? [said(asked, 'What was sent')] : []), ...endings[step.message] ? [] : part('Came back', step.message ? [said(step.message, 'What came back')] : [])];
  const calls = (step.tool_calls ?? []).map((c) => c.tool);
  const back = [step.message ? said(step.message, 'What came back') : null, calls.length > 0 ? el('p', { class: 'faint' }, `It asked for ${calls.join(', ')}.`) : null].filter((n) => n !== null);
  if (kind !== 'step') return back;
  const nodes = [...part('Sent', sent(step, trace, asked)), ...part('Came back', back)];
  return nodes.length > 0 ? nodes : [el('p', { class: 'faint' }, 'No text of it is kept.')];
}

/** @param {Row[]} rows */
export function table(rows) {
  const head = ['What', 'Who', 'Begins', 'Takes', 'First token', 'Tokens', 'Ended', 'Remarks'];
  return el('table', { class: 'trace-table' }, el('caption', { class: 'offscreen' }, 'What happened, and when'),
    el('thead', {}, el('tr', {}, ...head.map((h) => el('th', { scope: 'col' }, h)))),
    el('tbody', {}, ...rows.map((row) => {
      const step = row.call ? null : row.step;
      const cells = [
        row.call ? row.call.server : [step?.agent, step?.model].filter(Boolean).join(', '), span(row.from), row.open ? 'not ended' : span(row.ms),
        step?.first_token_ms === undefined ? '' : duration(step.first_token_ms), step?.usage ? tokens(step.usage) : '', step?.finish_reason ?? '', notes(row).join(', '),
      ];
      return el('tr', { 'data-status': row.status || null },
        el('th', { scope: 'row', 'data-level': Math.min(row.level, 8), dir: 'auto' }, row.name), ...cells.map((c) => el('td', { dir: 'auto' }, c)));
    })));
}
