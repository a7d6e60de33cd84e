// The card of one tool call.

import { word } from '../model/branch.js';
import { attribute, el, set, visible } from './dom.js';
import { duration, pretty, short, size } from '../words.js';

/** @typedef {import('../types').ToolCall} ToolCall */
/** @typedef {import('../types').Fault} Fault */

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
  #state = el('span', { class: 'state' });
  #progress = el('div', { class: 'progress' });
  #outcome = el('div', { class: 'outcome' });
  #args = el('div', {});
  /** @type {unknown} what was drawn as the arguments */
  #given;
  #ended = ''; // what was drawn as the end

  /** @param {import('../model/branch.js').Tool} part @param {(fault: Fault) => Element} explain  makes the notice of a failure */
  constructor(part, explain) {
    this.part = part;
    this.explain = explain;
    const { call } = part;
    this.node = el('section', { class: 'tool', 'data-testid': 'tool-card', 'data-tool': call.tool_name, 'aria-label': `Tool call ${visible(short(word(call.tool_name)))}` },
      el('div', { class: 'tool-head' },
        el('code', { class: 'name' }, short(word(call.tool_name))),
        call.server ? el('span', { class: 'faint' }, `on ${short(word(call.server))}`) : null,
        this.#state),
      this.#args, this.#progress, this.#outcome);
  }

  draw() {
    const { call, lost, agent } = this.part;
    attribute(this.node, 'hidden', agent); // its block says all of it
    attribute(this.node, 'data-status', lost ? 'unknown' : call.status);
    const ended = call.error_type === 'approval_rejected' ? 'not allowed' : states[call.status] ?? call.status;
    this.#state.textContent = `${lost ? 'outcome not seen' : ended}${call.duration_ms === undefined ? '' : ` · ${duration(call.duration_ms)}`}`;
    if (call.arguments !== this.#given) set(this.#args, args(call.arguments));
    this.#given = call.arguments;
    if (lost || call.status === 'in_progress') return set(this.#progress);
    if (call.status === 'progress') return this.#far(call);
    set(this.#progress);
    this.#end();
  }

  // What somebody has opened stays as it is.
  #end() {
    const { call, whole, notice } = this.part;
    const key = [call.status, call.duration_ms, whole.length, notice !== null].join();
    if (key === this.#ended) return;
    this.#ended = key;
    set(this.#outcome, ...ended({ ...call, ...(whole ? { result: whole, truncated: false } : {}) }, notice ? this.explain(notice) : null));
  }

  /** @param {ToolCall} call */
  #far({ progress = 0, total, message }) {
    const far = total === undefined ? `${progress}` : `${progress} of ${total}`;
    const bar = el('progress', { 'aria-label': 'Progress of the tool', max: total && total > 0 ? total : null, value: total && total > 0 ? Math.min(progress, total) : null });
    set(this.#progress, bar, el('span', {}, message ? `${far}: ${message}` : far));
  }
}

/** @param {ToolCall} call @param {Element | null} notice  in the place of the call's own words */
function ended(call, notice) {
  if (call.status === 'completed') return [result(word(call.result), call.truncated === true)];
  const unknown = 'It was sent, and its outcome was lost. It may have taken effect, so it is not repeated.';
  return [
    notice ?? el('p', { class: 'bad', dir: 'auto' }, call.error ?? 'no reason was given'),
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
