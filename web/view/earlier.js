// Turns of before: those that this tab kept over a reload, and those that the gateway keeps. Of
// each there is what was asked and answered, and the way to all that is known of it.

import { copyButton, el, set } from './dom.js';
import { ask, Feed } from '../wire/feed.js';
import { prose } from './markdown.js';
import { counted } from '../words.js';

/** @typedef {import('../types').Past} Past */
/** @typedef {import('../types').Task} Task */

const drawn = 20; // turns at first, and for each further click
const cut = 2000; // bytes of a text of a list that may go on

/** @type {Record<string, string>} */
const states = { completed: 'done', failed: 'failed', canceled: 'stopped' };

/** @type {Record<string, string>} */
const lines = {
  completed: 'Answered.', failed: 'Failed.', canceled: 'Cancelled. What tools did until then stays done.', 'input-required': 'Waits for you.', working: 'Runs at the moment.',
  submitted: 'Is about to run.',
};

/**
 * The turns of a task: what was asked in each, and what was said.
 * @param {Task} task @returns {Past[]}
 */
export function turnsOf(task) {
  /** @type {Map<string, Past>} */
  const turns = new Map();
  for (const { role, content, timestamp, turnId, messageId } of task.history ?? []) {
    const turn = turnId ?? messageId?.split(':', 1)[0] ?? '';
    const past = turns.get(turn) ?? { input: '', answer: '', line: 'Answered.', state: 'done', task: task.id, turn, at: Date.parse(timestamp ?? '') || 0 };
    if (role === 'user') past.input += (past.input ? '\n' : '') + content;
    else past.answer += (past.answer ? '\n\n' : '') + content;
    turns.set(turn, past);
  }
  const all = [...turns.values()];
  const last = all.at(-1);
  if (last) [last.line, last.state] = [lines[task.status.state] ?? task.status.state, states[task.status.state] ?? 'done'];
  return all;
}

/**
 * The last turns of a conversation, as the gateway has them, and the one that runs.
 * @param {string} conversation
 */
export async function readTalk(conversation) {
  const tasks = await new Feed({}, [{ id: conversation, at: Infinity }]).next();
  const running = tasks.find((t) => t.status.state === 'working' || t.status.state === 'submitted') ?? null;
  const turns = (await Promise.all(tasks.reverse().map(async (task) => turnsOf(isCut(task) ? await ask(`tasks/${task.id}`).catch(() => task) : task)))).flat();
  return { turns: turns.sort((a, b) => a.at - b.at), running };
}

/** @param {Task} task */
const isCut = (task) => (task.history ?? []).some((m) => new TextEncoder().encode(m.content).length > cut);

export class Earlier {
  /** @type {Past[]} */
  #turns = [];
  #first = 0; // that is drawn
  #more = el('button', { type: 'button', class: 'quiet', 'data-testid': 'earlier' });
  #list = el('div');

  /** @param {HTMLElement} root @param {(past: Past) => void} inspect */
  constructor(root, inspect) {
    this.root = root;
    this.inspect = inspect;
    this.#more.addEventListener('click', () => this.#draw(Math.max(0, this.#first - drawn)));
  }

  /** @param {Past[]} turns @param {string} where they come from */
  show(turns, where) {
    this.#turns = turns;
    this.#first = turns.length;
    set(this.#list);
    set(this.root, ...(turns.length > 0 ? [this.#more, this.#list, el('p', { class: 'faint small', 'data-testid': 'restored' }, where)] : []));
    this.#draw(Math.max(0, turns.length - drawn));
  }

  /** @param {number} from */
  #draw(from) {
    this.#list.prepend(...this.#turns.slice(from, this.#first).map((past) => this.#turn(past)));
    this.#first = from;
    this.#more.hidden = from === 0;
    this.#more.textContent = `Show ${counted(Math.min(from, drawn), 'turn')} of before`;
  }

  /** @param {Past} past */
  #turn(past) {
    const inspect = el('button', { type: 'button', class: 'quiet' }, 'Inspect');
    inspect.addEventListener('click', () => this.inspect(past));
    return el('article', { class: 'turn', 'data-testid': 'turn', 'data-state': past.state, 'data-past': true, 'aria-label': 'Turn of before' },
      el('p', { class: 'question', dir: 'auto' }, el('span', { class: 'offscreen' }, 'You: '), past.input),
      past.answer.trim() ? prose({ class: 'prose answer', 'data-testid': 'answer' }, past.answer) : el('p', { class: 'faint' }, 'There is no text of an answer.'),
      el('div', { class: 'foot' }, el('p', { class: 'summary' }, past.line), past.answer ? copyButton('Copy answer', () => past.answer) : null, past.task ? inspect : null));
  }
}
