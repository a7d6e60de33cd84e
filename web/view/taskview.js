// One task that the gateway keeps: how it stands, what was said, where its time went; to be shared
// by its address and saved as a file.

import { isWanted } from '../wire/credential.js';
import { copyButton, el, set } from './dom.js';
import { turnsOf } from './earlier.js';
import { ask, changed, Missing } from '../wire/feed.js';
import { save, shared } from './links.js';
import { prose } from './markdown.js';
import { readTrace, TraceView } from '../dev/trace.js';
import { counted, number, span, when } from '../words.js';

/** @typedef {import('../types').Task} Task */
/** @typedef {import('../types').Trace} Trace */

/** @type {Record<string, string>} */
const states = {
  submitted: 'about to run', working: 'runs', 'input-required': 'waits for a person', completed: 'completed', failed: 'failed', canceled: 'cancelled', unknown: 'unknown',
};

/** @param {Task} task */
export const stateOf = (task) => states[task.status?.state] ?? String(task.status?.state ?? 'unknown');

/** What a task is called: what was asked first. @param {Task} task */
export function titleOf(task) {
  const first = task.history?.find((m) => m.role === 'user')?.content.trim().split('\n', 1)[0] ?? '';
  return first.length > 90 ? `${first.slice(0, 90)}…` : first || task.id;
}

/** Which agents and workflow a task is of. @param {Task} task @returns {string[]} */
export function whose({ metadata }) {
  const agents = Array.isArray(metadata?.agentSelections) ? metadata.agentSelections : [];
  return [...new Set([metadata?.workflow, ...agents].filter((name) => typeof name === 'string' && name !== ''))].map(String);
}

/** How long a task was at work, and with how many tokens. @param {Trace} trace */
export function costOf(trace) {
  const turns = (trace.steps ?? []).filter((s) => s.step_name === 'turn');
  const tokens = turns.reduce((sum, { usage: u }) => sum + (u ? u.input_tokens + u.output_tokens + u.thinking_tokens : 0), 0);
  return [span(turns.reduce((sum, s) => sum + (s.duration_ms ?? 0), 0)), tokens > 0 ? `${number(tokens)} tokens` : ''].filter(Boolean).join(' · ');
}

export class TaskView {
  #last = 0; // a later answer counts, not the slower one
  #wanted = ''; // a task that was not shown, as the gateway wants to know who asks

  /** @param {HTMLElement} root @param {(conversation: string) => void} open  goes on with a conversation */
  constructor(root, open) {
    this.root = root;
    this.open = open;
  }

  /** Asks again, with another credential. */
  retry() {
    if (this.#wanted && !isWanted()) this.show(this.#wanted);
  }

  /** @param {string} id */
  async show(id) {
    const n = ++this.#last;
    this.#wanted = '';
    set(this.root, el('p', { class: 'faint' }, 'It is asked for.'));
    /** @type {Task | Missing} */
    const task = await this.#read(id);
    const trace = task instanceof Missing ? null : await readTrace(id);
    if (n !== this.#last) return;
    if (task instanceof Missing) {
      if (task.status === 401) this.#wanted = id;
      const again = el('button', { type: 'button', class: 'quiet' }, 'Ask again');
      again.addEventListener('click', () => this.show(id));
      set(this.root, el('p', { class: 'bad', role: 'alert' }, task.message), task.status === 404 ? null : again);
    } else set(this.root, ...this.#drawn(task, trace));
  }

  /** @param {string} id @returns {Promise<Task | Missing>} */
  async #read(id) {
    try {
      if (!/^[\w.:-]{1,128}$/.test(id)) throw new Missing(404, 'There is no such task, or it is not yours.');
      return await ask(`tasks/${id}`);
    } catch (e) {
      return e instanceof Missing ? e : new Missing(0, 'It could not be read.');
    }
  }

  /** @param {Task} task @param {Trace | null} trace */
  #drawn(task, trace) {
    const turns = turnsOf(task);
    const file = el('button', { type: 'button', class: 'quiet', 'data-testid': 'export', title: 'Save the task and its trace as JSON' }, 'Export');
    file.addEventListener('click', () => save(`${task.id}.json`, JSON.stringify({ task, trace }, null, 2)));
    const talk = task.contextId ?? '';
    const goOn = el('button', { type: 'button', class: 'quiet', 'data-testid': 'open-talk', title: 'Show the conversation of this task, and go on with it' }, 'Open');
    goOn.addEventListener('click', () => this.open(talk));
    const at = changed(task);
    const facts = [stateOf(task), ...whose(task), counted(Math.max(1, task.metadata?.turns?.length ?? turns.length), 'turn'), trace ? costOf(trace) : '', at > 0 ? when(new Date(at)) : ''];
    return [
      el('h3', { dir: 'auto', tabindex: -1, 'data-testid': 'task-title' }, titleOf(task)),
      el('p', { class: 'faint small', 'data-testid': 'task-facts' }, facts.filter(Boolean).join(' · ')),
      el('div', { class: 'bar' }, copyButton('Copy link', () => shared(task.id), { 'data-testid': 'copy-link', title: 'Who opens it needs the rights to see this task' }), file, talk ? goOn : null),
      task.status.state === 'failed' && task.status.message ? el('p', { class: 'bad', dir: 'auto' }, task.status.message.content) : null,
      said(turns),
      trace && trace.steps.length > 0 ? new TraceView(trace, Object.fromEntries(turns.map((t) => [t.turn, t.input]))).node : el('p', { class: 'faint' }, 'There is no trace of it.'),
    ];
  }
}

/** @param {import('../types').Past[]} turns */
function said(turns) {
  return el('details', { class: 'said' }, el('summary', {}, 'What was said'),
    ...turns.flatMap(({ input, answer }) => [input ? el('p', { class: 'question', dir: 'auto' }, input) : null, prose({ class: 'prose' }, answer)]));
}
