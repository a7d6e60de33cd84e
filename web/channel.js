// The channel that an answer is for: a list of those that the gateway has. Without one
// the answer is for this page.

import { attribute, byId, el, set } from './dom.js';

/** @typedef {import('./types').Channel} Channel */

/** @type {Record<string, string>} */
const titles = { web: 'This page', sms: 'SMS', whatsapp: 'WhatsApp', teams: 'Teams', email: 'E-mail', plain: 'Plain text' };

/** @param {string} name */
export const titleOf = (name) => titles[name] ?? name;

export class ChannelPicker {
  #select = /** @type {HTMLSelectElement} */ (byId('channel'));
  #drafts = /** @type {HTMLInputElement} */ (byId('drafts'));
  #shown = ''; // the channels that are listed

  /** @param {Channel[]} channels */
  offer(channels) {
    const key = JSON.stringify(channels.map(({ name }) => name));
    byId('channels').hidden = channels.length === 0;
    if (key === this.#shown) return;
    this.#shown = key;
    const chosen = this.#select.value;
    set(this.#select, ...channels.map(({ name }) => el('option', { value: name }, titleOf(name))));
    this.#select.value = channels.some(({ name }) => name === chosen) ? chosen : 'web';
    attribute(this.#select, 'data-count', channels.length);
  }

  /** What a request says of it: nothing unless something was chosen. */
  get fields() {
    const channel = this.#select.value;
    return { ...(channel && channel !== 'web' ? { channel } : {}), ...(this.#drafts.checked ? { drafts: true } : {}) };
  }
}
