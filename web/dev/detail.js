// The details of one row of a trace, and all rows as a table.

import { h } from '../view/h.js';
import { Facts } from '../view/icon.js';
import { counted, duration, endings, number, pretty, span } from '../words.js';

// Questions of the gateway's own to a model. A trace has none of their texts: a withheld draft would
// be among them.
const ours = ['router', 'planner', 'judge', 'refinement', 'critic', 'structured'];

export const isModel = (/** @type {Row} */ { kind, call }) => !call && (ours.includes(kind) || kind === 'step');

export function notesOf(/** @type {Row} */ { word, lane, lanes, step, call }) {
  const attempt = !call && step?.attempt && step.attempt > 1 ? `attempt ${step.attempt}` : '';
  return [attempt, lanes > 1 && `at the same time as others, lane ${lane} of ${lanes}`, word].filter((w) => typeof w === 'string' && w !== '');
}

export function tokensOf(/** @type {NonNullable<TraceStep['usage']>} */ { input_tokens, output_tokens, thinking_tokens, cached_tokens }) {
  const cached = cached_tokens ? ` (${number(cached_tokens)} cached)` : '';
  return `${number(input_tokens)} in${cached}, ${number(output_tokens)} out${thinking_tokens > 0 ? `, ${number(thinking_tokens)} thinking` : ''}`;
}

/** The result of a model's call, in one line. @param {TraceStep} step */
export function gistOf({ model, usage, first_token_ms: first, finish_reason: finish }) {
  return [model, usage && tokensOf(usage), first !== undefined && `first ${duration(first)}`, finish].filter(Boolean).join(' · ');
}

export const timeOf = (/** @type {Row} */ { ms, open, isMeasured }) => (open ? 'runs' : isMeasured ? span(ms) : 'not measured');

/** @param {string} words @param {string} label @param {boolean} [cut] */
const text = (words, label, cut = false) => h('pre', { class: 'well', dir: 'auto', tabindex: 0, 'aria-label': label }, pretty(words), cut ? '\n…' : '');

/** @param {string} title @param {Child[]} children @returns {Child} */
const part = (title, children) => (children.length > 0 ? [h('h4', { key: title }, title), ...children] : null);

export function Detail(/** @type {{ row: Row, trace: Trace, asked: string }} */ { row, trace, asked }) {
  const { name, step, call, kind } = row;
  /** @type {[string, Child][]} */
  const facts = [['Began', `at ${span(row.from)}`], ['Took', timeOf(row)], ...notesOf(row).map((note) => /** @type {[string, Child]} */ (['Note', note]))];
  const session = step?.session_id ? trace.sub_agent_sessions?.[step.session_id] : null;
  if (kind === 'wait') facts.push(['Drawn', 'shorter than it was, so that the other rows can be seen']);
  else if (call) facts.push(['Server', call.server], ['Call', call.call_id]);
  else if (step) {
    for (const [key, value] of [
      ['Agent', step.agent], ['Node', step.node_id], ['Session', session ? `${session.session_id}, ${session.status}, ${counted(session.message_count, 'message')}` : step.session_id],
      ['Model', step.model], ['Ended', kind === 'turn' ? endings[step.message] : step.finish_reason && (endings[step.finish_reason] ?? step.finish_reason)],
      ['Tokens', step.usage && tokensOf(step.usage)], ['First token', step.first_token_ms === undefined ? '' : `after ${duration(step.first_token_ms)}`],
      ['Time', step.timestamp && new Date(step.timestamp).toLocaleString()],
    ]) if (value) facts.push([String(key), value]);
  }
  return h('section', { class: 'detail', 'data-testid': 'trace-detail', 'aria-live': 'polite' },
    h('h3', { dir: 'auto' }, h('span', { class: 'swatch', 'data-kind': call ? 'tool' : kind }), name), h(Facts, { of: facts }), kind === 'wait' ? null : call ? exchange(call) : step ? texts(row, step, trace, asked) : null);
}

function exchange(/** @type {TraceCall} */ call) {
  const gave = call.error || call.result?.text;
  return [part('Sent', Object.keys(call.arguments ?? {}).length > 0 ? [h(Facts, { of: call.arguments })] : []), part('Came back', gave ? [text(gave, 'What came back', call.result?.truncated)] : [])];
}

function texts(/** @type {Row} */ { kind, name }, /** @type {TraceStep} */ step, /** @type {Trace} */ trace, /** @type {string} */ asked) {
  if (ours.includes(kind)) return h('p', { class: 'soft' }, 'A question of the gateway’s own, whose texts are not stored.');
  if (kind === 'turn') return [part('Sent', asked.trim() && asked.trim() !== name ? [text(asked, 'What was sent')] : []), endings[step.message] ? null : part('Came back', step.message ? [text(step.message, 'What came back')] : [])];
  const calls = (step.tool_calls ?? []).map((c) => c.tool);
  const back = [step.message ? text(step.message, 'What came back') : null, calls.length > 0 ? h('p', { class: 'soft' }, `It called ${calls.join(', ')}.`) : null].filter((n) => n !== null);
  if (kind !== 'step') return back;
  const sent = sentTo(step, trace, asked);
  return sent.length + back.length > 0 ? [part('Sent', sent), part('Came back', back)] : h('p', { class: 'soft' }, 'Its texts are not stored.');
}

/** The new part of a request: results of the calls before it, or the message. @param {TraceStep} step @param {Trace} trace @param {string} asked @returns {Child[]} */
function sentTo(step, trace, asked) {
  const before = trace.steps.filter((s) => s.step_name === 'step' && s.parent_id === step.parent_id && s.session_id === step.session_id && s.started_ms < step.started_ms).at(-1);
  const calls = before?.tool_calls ?? [];
  if (calls.length === 0) return asked ? [text(asked, 'What was sent')] : [];
  return [h('p', { class: 'soft' }, `The messages before, and what ${counted(calls.length, 'call')} gave:`), ...calls.map((c) => text(`${c.tool}: ${c.error || c.result?.text || 'not stored'}`, `What ${c.tool} gave`))];
}

export function Table(/** @type {{ rows: Row[] }} */ { rows }) {
  const head = ['What', 'Who', 'Begins', 'Takes', 'First token', 'Tokens', 'Ended', 'Notes'];
  return h('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'The trace as a table' }, h('table', { class: 'trace-table' },
    h('thead', null, h('tr', null, head.map((name) => h('th', { key: name, scope: 'col' }, name)))),
    h('tbody', null, rows.map((row) => {
      const step = row.call ? null : row.step;
      const cells = [row.call ? row.call.server : [step?.agent, step?.model].filter(Boolean).join(', '), span(row.from), timeOf(row), step?.first_token_ms === undefined ? '' : duration(step.first_token_ms), step?.usage ? tokensOf(step.usage) : '', step?.finish_reason ?? '', notesOf(row).join(', ')];
      return h('tr', { key: row.id, 'data-status': row.status || undefined }, h('th', { scope: 'row', 'data-level': Math.min(row.level, 8), dir: 'auto' }, row.name), cells.map((c, i) => h('td', { key: head[i + 1], dir: 'auto' }, c)));
    }))));
}
