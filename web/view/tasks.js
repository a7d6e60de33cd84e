// The tasks that the gateway keeps and that may be seen here, newest first.

import { isShown } from '../wire/credential.js';
import { attribute, byId, el, set } from './dom.js';
import { changed, Feed, Missing } from '../wire/feed.js';
import { taskLink, taskOfAddress } from './links.js';
import { showPanel } from './sheet.js';
import { talks } from '../wire/talk.js';
import { costOf, stateOf, TaskView, titleOf, whose } from './taskview.js';
import { readTrace } from '../dev/trace.js';
import { counted, when } from '../words.js';

/** @typedef {import('../types').Task} Task */

export class Tasks {
  #panel = /** @type {HTMLDetailsElement} */ (byId('task-panel'));
  #form = /** @type {HTMLFormElement} */ (byId('lookup'));
  #id = /** @type {HTMLInputElement} */ (byId('task'));
  #state = /** @type {HTMLSelectElement} */ (byId('task-state'));
  #who = /** @type {HTMLSelectElement} */ (byId('task-who'));
  #list = byId('tasks');
  #more = /** @type {HTMLButtonElement} */ (byId('task-more'));
  #word = byId('task-word'); // how the list stands
  #view;
  /** @type {Feed | null} */
  #feed = null;
  #turn = 0; // of lists: what is asked for an earlier one is dropped
  #stale = true;

  /** @param {(conversation: string) => void} open  goes on with a conversation */
  constructor(open) {
    this.#view = new TaskView(byId('task-trace'), open);
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      const id = this.#id.value.trim();
      if (id) this.#view.show(id);
    });
    for (const select of [this.#state, this.#who]) select.addEventListener('change', () => this.read());
    this.#more.addEventListener('click', () => this.#page(this.#turn));
    byId('task-again').addEventListener('click', () => this.read());
    this.#panel.addEventListener('toggle', () => { if (this.#panel.open && this.#stale) this.read(); });
    addEventListener('hashchange', () => this.#addressed());
  }

  /** @param {boolean} there  whether the gateway keeps tasks */
  offer(there) {
    const first = this.#panel.hidden && there;
    this.#panel.hidden = !there;
    if (first) this.#addressed();
    else if (there) this.#view.retry();
    if (there && this.#panel.open && this.#stale) this.read();
  }

  /** A turn has ended, or another one asks. */
  changed() {
    this.#stale = true;
    if (this.#panel.open && !this.#panel.hidden) this.read();
  }

  /** @param {string} id */
  show(id) {
    this.#panel.open = true;
    showPanel();
    for (const link of this.#list.querySelectorAll('a')) attribute(link, 'aria-current', link.hash.endsWith(id) && 'true');
    this.#id.value = id;
    this.#view.show(id);
    this.#panel.scrollIntoView({ block: 'start' });
  }

  #addressed() {
    const id = taskOfAddress();
    if (id) this.show(id);
  }

  /** Reads the list from its begin. */
  async read() {
    this.#stale = false;
    const state = this.#state.value;
    this.#feed = new Feed(state ? { state } : {}, isShown() ? null : talks());
    await this.#page(++this.#turn, true);
  }

  /** @param {number} turn @param {boolean} [first] */
  async #page(turn, first = false) {
    const feed = this.#feed;
    if (!feed) return;
    const who = this.#who.value;
    this.#more.disabled = true;
    try {
      const tasks = await feed.next((task) => who === '' || whose(task).includes(who));
      if (turn !== this.#turn) return;
      if (first) set(this.#list);
      for (const task of tasks) this.#add(task, turn);
      this.#offerWho(tasks.flatMap(whose));
      const n = this.#list.childElementCount;
      this.#word.textContent = n === 0 ? this.#nothing(feed) : '';
      this.#more.hidden = feed.ended;
    } catch (e) {
      if (turn !== this.#turn) return;
      const n = this.#list.childElementCount;
      this.#word.textContent = `${e instanceof Missing ? e.message : 'The list could not be read.'}${n > 0 ? ` What is listed, ${counted(n, 'task')}, is how it was before.` : ''}`;
      this.#stale = true;
    }
    this.#more.disabled = false;
  }

  /** @param {Feed} feed */
  #nothing(feed) {
    if (!feed.ended) return 'Among these there is none. There are more.';
    if (this.#state.value || this.#who.value) return 'There is none of this kind.';
    return isShown() ? 'There is none yet.' : 'There is none yet of a conversation of this browser. Another task is found by its id.';
  }

  /** @param {Task} task @param {number} turn */
  #add(task, turn) {
    const at = new Date(changed(task));
    const cost = el('span', {});
    const node = el('li', { class: 'task-item', 'data-testid': 'task-item', 'data-state': task.status.state },
      taskLink(task.id, { dir: 'auto' }, titleOf(task)),
      el('span', { class: 'faint small' }, [stateOf(task), ...whose(task), when(at)].join(' · '), ' ', cost));
    this.#list.append(node);
    this.#costs.push(async () => {
      if (turn !== this.#turn) return;
      const trace = await readTrace(task.id);
      cost.textContent = trace ? `· ${costOf(trace)}` : '';
    });
    if (this.#costs.length === 1) this.#next();
  }

  // What each cost is in its trace: they are asked for one by one, behind the list.
  /** @type {(() => Promise<void>)[]} */
  #costs = [];

  async #next() {
    for (; this.#costs.length > 0; this.#costs.shift()) await this.#costs[0]();
  }

  /** @param {string[]} names */
  #offerWho(names) {
    const known = new Set([...this.#who.options].map((o) => o.value));
    for (const name of new Set(names)) if (!known.has(name)) this.#who.append(el('option', { value: name }, name));
  }
}
