// The key or token of who asks, where the gateway wants to know: every request of the page
// goes through call, which sends it in one header. It is kept in memory alone, and ends with
// the page.

import { attribute, byId } from '../view/dom.js';

/** @typedef {{ user: string, tenant: string, scopes: string[] }} Me  as GET /me has it */

const openToAll = 'readyz';

let credential = '';
let wanted = false; // the gateway wants another one, or one at all
let refused = () => {}; // it has said so
let unreachable = () => {}; // no reply came

/** Whether one is in use. */
export const isShown = () => credential !== '';

/** Whether nothing that needs one is worth asking for. */
export const isWanted = () => wanted;

/** @param {() => void} listener  is called when no reply came to a request */
export function onUnreachable(listener) { unreachable = listener; }

/**
 * A fetch with the credential, if there is one.
 * @param {string} path  relative to the page, which may be behind a prefix
 * @param {RequestInit & { headers?: Record<string, string> }} [init]
 */
export async function call(path, init = {}) {
  const sent = wanted && path === openToAll ? '' : credential; // one that does not count is not shown at intervals
  const headers = { ...init.headers, ...(sent ? { Authorization: `Bearer ${sent}` } : {}) };
  const response = await fetch(new URL(path, document.baseURI), { ...init, headers }).catch((reason) => {
    if (path !== openToAll && !init.signal?.aborted) unreachable();
    throw reason;
  });
  if (sent !== credential) return response; // it says nothing of the one in use
  wanted = response.status === 401 || (wanted && path === openToAll);
  if (response.status === 401) refused();
  return response;
}

/** What a line for a shell has in the place of the credential, which it does not show. */
export const shellHeader = () => (credential ? ' -H "Authorization: Bearer $SLUICE_KEY"' : '');

const stays = 'It stays in the memory of this page and ends with it.';

/** The field for it, hidden until it is of use. */
export class CredentialField {
  #form = byId('door');
  #field = /** @type {HTMLInputElement} */ (byId('credential'));
  #hint = byId('door-hint');

  /** @param {() => void} used  is called when another one is in use */
  constructor(used) {
    refused = () => this.#refused();
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#use()) used();
    });
    // Who leaves the field for the message wants it to be used, too. Not before: each half of a
    // key would count as a failure.
    this.#field.addEventListener('change', () => { if (this.#use()) used(); });
  }

  /** Offers the field, as the gateway asks who its callers are. */
  show() {
    if (!this.#form.hidden) return;
    this.#form.hidden = false;
    this.#say(stays, false);
    if (document.activeElement === document.body) this.#field.focus();
  }

  focus() {
    this.show();
    this.#field.focus();
    this.#field.select();
  }

  /** @param {Me} me */
  known({ user, tenant }) {
    if (!isShown()) return;
    this.#say(`You ask as ${user || 'nobody in particular'}${tenant ? `, of ${tenant}` : ''}.`, false);
  }

  // Says whether what is written can be sent, and is another credential than the one in use, or
  // that one again after it was refused.
  #use() {
    const written = this.#field.value.trim();
    if (!/^[\x21-\x7e]*$/.test(written)) {
      this.#say('No key or token has such characters.', true);
      return false;
    }
    if (written === credential && !wanted) return false;
    [credential, wanted] = [written, false];
    this.#say(stays, false);
    return true;
  }

  #refused() {
    this.show();
    this.#say(isShown() ? 'The gateway does not accept this key or token.' : `This gateway wants to know who asks. ${stays}`, isShown());
  }

  /** @param {string} what @param {boolean} isBad */
  #say(what, isBad) {
    attribute(this.#field, 'aria-invalid', isBad ? 'true' : null);
    if (this.#hint.textContent !== what) this.#hint.textContent = what; // which is announced
  }
}
