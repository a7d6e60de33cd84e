// The key or token of the person, where the gateway asks for one: call sends it in one header of
// each request. It is in memory alone, and ends with the page.

import { signal } from '../vendor/signals.js';

/** @typedef {{ user: string, tenant: string, scopes: string[], method?: string }} Me  as GET /me has it */

const openToAll = 'readyz';

let credential = '';
let wanted = false; // the gateway asks for another one, or for the first
let unreachable = () => {}; // no reply came

/** Whether the gateway asks for a key, and whether it refused the last one. */
export const door = signal({ wanted: false, refused: false });

/** Whether one is in use. */
export const isShown = () => credential !== '';

/** Whether requests that need one would be refused. */
export const isWanted = () => wanted;

/** @param {() => void} listener  is called when no reply came to a request */
export function onUnreachable(listener) { unreachable = listener; }

/** A fetch with the credential, if there is one. @param {string} path  relative to the page, which may be behind a prefix @param {RequestInit & { headers?: Record<string, string> }} [init] */
export async function call(path, init = {}) {
  const sent = wanted && path === openToAll ? '' : credential; // a refused one is not sent at intervals
  const headers = { ...init.headers, ...(sent ? { Authorization: `Bearer ${sent}` } : {}) };
  const response = await fetch(new URL(path, document.baseURI), { ...init, headers }).catch((reason) => {
    if (path !== openToAll && !init.signal?.aborted) unreachable();
    throw reason;
  });
  if (sent !== credential) return response; // it says nothing of the one in use
  wanted = response.status === 401 || (wanted && path === openToAll);
  if (response.status === 401) door.value = { wanted: true, refused: isShown() };
  return response;
}

/** The gateway asks who its callers are. */
export function askForKey() {
  if (!door.peek().wanted && !isShown()) door.value = { wanted: true, refused: false };
}

/** Uses another credential, or the same one again after it was refused. @param {string} text @returns {'used' | 'odd' | 'same'} odd: it has characters that a credential cannot have */
export function useKey(text) {
  const written = text.trim();
  if (!/^[\x21-\x7e]*$/.test(written)) return 'odd';
  if (written === credential && !wanted) return 'same';
  [credential, wanted] = [written, false];
  door.value = { wanted: written === '', refused: false };
  return 'used';
}

/** The header in a line for a shell, which does not have the credential itself. */
export const shellHeader = () => (credential ? ' -H "Authorization: Bearer $SLUICE_KEY"' : '');
