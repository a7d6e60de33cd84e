// The channel that an answer is for, and the workflow that is to answer: lists of those
// that the gateway has. Without a channel the answer is for this page.

import { attribute, byId, el, set } from './dom.js';

/** @typedef {import('../types').Channel} Channel */

/** @type {Record<string, string>} */
const titles = { web: 'This page', sms: 'SMS', whatsapp: 'WhatsApp', teams: 'Teams', email: 'E-mail', plain: 'Plain text' };

/** @param {string} name */
export const titleOf = (name) => titles[name] ?? name;

export class ChannelPicker {
  #select = /** @type {HTMLSelectElement} */ (byId('channel'));
  #drafts = /** @type {HTMLInputElement} */ (byId('drafts'));
  #workflow = /** @type {HTMLSelectElement} */ (byId('workflow'));
  #shown = ''; // the channels that are listed
  #known = ''; // the workflows

  /**
   * @param {Channel[]} channels
   * @param {string | undefined} drafts who may want them; with never the gateway refuses a request for them
   */
  offer(channels, drafts) {
    const allowed = drafts !== 'never';
    /** @type {HTMLElement} */ (this.#drafts.closest('label')).hidden = !allowed;
    this.#drafts.checked &&= allowed;
    const key = JSON.stringify(channels.map(({ name }) => name));
    byId('channels').hidden = channels.length === 0;
    if (key === this.#shown) return;
    this.#shown = key;
    const chosen = this.#select.value;
    set(this.#select, ...channels.map(({ name }) => el('option', { value: name }, titleOf(name))));
    this.#select.value = channels.some(({ name }) => name === chosen) ? chosen : 'web';
    attribute(this.#select, 'data-count', channels.length);
  }

  /** @param {{ name: string, description?: string }[]} workflows */
  offerWorkflows(workflows) {
    const key = JSON.stringify(workflows.map(({ name }) => name));
    byId('workflows').hidden = workflows.length === 0;
    if (key === this.#known) return;
    this.#known = key;
    const chosen = this.#workflow.value;
    set(this.#workflow, el('option', { value: '' }, 'None'), ...workflows.map(({ name, description }) => el('option', { value: name, title: description }, name)));
    this.#workflow.value = workflows.some(({ name }) => name === chosen) ? chosen : '';
  }

  /** What a request says of it: nothing unless something was chosen. */
  get fields() {
    const channel = this.#select.value;
    return { ...(channel && channel !== 'web' ? { channel } : {}), ...(this.#drafts.checked ? { drafts: true } : {}), ...(this.#workflow.value ? { workflow: this.#workflow.value } : {}) };
  }
}
