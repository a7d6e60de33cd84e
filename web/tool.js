// The card of one tool call.

import { el, set } from './dom.js';
import { duration, pretty, size } from './words.js';

/** @typedef {import('./types').ToolCall} ToolCall */

/** @type {Record<string, string>} */
const states = {
  in_progress: 'running',
  progress: 'running',
  completed: 'done',
  failed: 'failed',
  unknown: 'outcome unknown',
  client_required: 'for the client to run',
};

export class ToolCard {
  /** @param {ToolCall} call */
  constructor(call) {
    this.state = el('span', { class: 'state' });
    this.progress = el('div', { class: 'progress' });
    this.outcome = el('div', { class: 'outcome' });
    this.node = el('section', { class: 'tool', 'data-testid': 'tool-card', 'data-tool': call.tool_name, 'aria-label': `Tool call ${call.tool_name}` },
      el('div', { class: 'tool-head' },
        el('code', { class: 'name' }, call.tool_name),
        call.server ? el('span', { class: 'faint' }, `on ${call.server}`) : null,
        this.state),
      args(call.arguments), this.progress, this.outcome);
    this.show(call);
  }

  /** @param {ToolCall} call */
  show(call) {
    this.node.dataset.status = call.status;
    this.state.textContent = call.error_type === 'approval_rejected' ? 'not allowed' : states[call.status] ?? call.status;
    if (call.duration_ms !== undefined) this.state.append(` · ${duration(call.duration_ms)}`);
    if (call.status === 'progress') return this.#far(call);
    if (call.status === 'in_progress') return;
    set(this.progress);
    set(this.outcome, ...ended(call));
  }

  /** @param {ToolCall} call */
  #far({ progress = 0, total, message }) {
    const far = total === undefined ? `${progress}` : `${progress} of ${total}`;
    const bar = el('progress', { 'aria-label': 'Progress of the tool', max: total && total > 0 ? total : null, value: total && total > 0 ? Math.min(progress, total) : null });
    set(this.progress, bar, el('span', {}, message ? `${far}: ${message}` : far));
  }

  /**
   * Puts the notice of the error event about this call in the place of the call's
   * own words, if they are the same. False: it is about something else.
   * @param {string} message @param {Node} notice
   */
  explain(message, notice) {
    const own = this.outcome.querySelector('.bad');
    if (own?.textContent !== message) return false;
    own.replaceWith(notice);
    return true;
  }

  /** Tells that the end of the call will not be heard of. */
  lose() {
    if (!['in_progress', 'progress'].includes(this.node.dataset.status ?? '')) return;
    this.node.dataset.status = 'unknown';
    this.state.textContent = 'outcome not seen';
    set(this.progress);
  }
}

/** @param {ToolCall} call */
function ended(call) {
  if (call.status === 'completed') return [result(call.result ?? '', call.truncated === true)];
  const unknown = 'It was sent, and its outcome was lost. It may have taken effect, so it is not repeated.';
  return [
    el('p', { class: 'bad', dir: 'auto' }, call.error ?? 'no reason was given'),
    call.status === 'unknown' ? el('p', { class: 'faint' }, unknown) : null,
  ];
}

/** @param {string} text @param {boolean} truncated */
function result(text, truncated) {
  if (text === '') return el('p', { class: 'faint' }, 'It gave no text back.');
  const cut = truncated ? ', cut: the model got more than is shown' : '';
  return el('details', {},
    el('summary', {}, `Result `, el('span', { class: 'faint' }, `${size(new TextEncoder().encode(text).length)}${cut}`)),
    el('pre', { tabindex: 0 }, pretty(text)));
}

/** @param {Record<string, unknown>} given */
export function args(given) {
  const names = Object.keys(given ?? {});
  if (names.length === 0) return el('p', { class: 'faint' }, 'without arguments');
  return el('dl', { class: 'args' }, ...names.flatMap((name) => {
    const value = given[name];
    const line = typeof value === 'string' ? value : JSON.stringify(value);
    const shown = line === value || line.length < 80 ? line : JSON.stringify(value, null, 2);
    return [el('dt', {}, name), el('dd', shown.length > 300 ? { dir: 'auto', class: 'long', tabindex: 0 } : { dir: 'auto' }, shown)];
  }));
}
