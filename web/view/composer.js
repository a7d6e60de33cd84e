// The box in which a message is written, and what is said below it.

import { byId } from './dom.js';
import { fitsAddress } from '../wire/transport.js';

/** @typedef {import('../model/session.js').Session} Session */
/** @typedef {import('../types').Ask} Ask */
/** @typedef {import('../types').Via} Via */

const longest = 5000; // code points, as the gateway has it

export class Composer {
  #form = /** @type {HTMLFormElement} */ (byId('ask'));
  #input = /** @type {HTMLTextAreaElement} */ (byId('input'));
  #send = /** @type {HTMLButtonElement} */ (byId('send'));
  #stop = /** @type {HTMLButtonElement} */ (byId('stop'));

  /** @param {Session} session @param {(text: string) => void} run  sends what is written */
  constructor(session, run) {
    this.session = session;
    if (typeof EventSource === 'undefined') byId('transport').hidden = true;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.refresh();
      if (this.#send.disabled) return;
      const text = this.#input.value;
      this.#input.value = '';
      run(text);
    });
    this.#form.addEventListener('input', () => this.refresh());
    this.#input.addEventListener('keydown', (event) => {
      // 229 is the Enter that ends a composition in browsers that report it late.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.halt();
    });
    this.#stop.addEventListener('click', () => this.halt());
  }

  /** Stops the turn under way. */
  halt() {
    if (this.session.stop()) this.focus();
  }

  focus() { this.#input.focus(); }

  /** @param {string} text */
  write(text) {
    this.#input.value = text;
    this.refresh();
    this.focus();
  }

  /** @param {Ask} ask @returns {Via} */
  via(ask) { return !ask.workflow && this.#chosen === 'eventsource' && fitsAddress(ask) ? 'eventsource' : 'fetch'; }

  get #chosen() { return new FormData(this.#form).get('transport'); }

  /** Brings buttons and hint in line with what is running and written. */
  refresh() {
    const { running } = this.session;
    const count = Array.from(this.#input.value.trim()).length;
    this.#send.disabled = running || count === 0 || count > longest;
    if (!running && document.activeElement === this.#stop) this.focus();
    this.#stop.hidden = !running;
    byId('hint').textContent = this.#hint(count);
  }

  /** @param {number} count */
  #hint(count) {
    if (count > longest) return `${count} characters: at most ${longest} can be sent.`;
    if (this.session.running) return 'A turn is running. You can write the next one; Esc stops this one.';
    if (this.#chosen === 'eventsource' && !fitsAddress(this.session.ask(this.#input.value))) return 'Too long for an EventSource: it will be sent with fetch.';
    if (this.#chosen === 'eventsource' && this.session.continues) return 'An EventSource sends no history: this turn will stand alone.';
    return 'Enter sends, Shift+Enter breaks the line.';
  }
}
