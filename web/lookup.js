// A task by its id, of this page or of any other: what happened in it, and when.

import { byId, el, set } from './dom.js';
import { readTrace, TraceView } from './trace.js';

export class Lookup {
  #form = /** @type {HTMLFormElement} */ (byId('lookup'));
  #id = /** @type {HTMLInputElement} */ (byId('task'));
  #last = 0; // a later answer counts, not the slower one

  constructor() {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.show(this.#id.value.trim());
    });
  }

  /** @param {boolean} there  whether the gateway keeps tasks */
  offer(there) { byId('task-panel').hidden = !there; }

  /** @param {string} id */
  async show(id) {
    const n = ++this.#last;
    const trace = id ? await readTrace(id) : null;
    if (n !== this.#last) return;
    set(byId('task-trace'), trace ? new TraceView(trace).node : el('p', { class: 'bad', role: 'alert' }, 'There is no such task, or it is not yours.'));
  }
}
