// Addresses of the page's own: that of a task, which can be shared, and that of a file which was
// made here.

import { el } from './dom.js';

const mark = '#task=';

/** The task that the address of the page names; empty: none. */
export function taskOfAddress() {
  const id = location.hash.startsWith(mark) ? location.hash.slice(mark.length) : '';
  return /^\w{1,128}$/.test(id) ? id : '';
}

/** @param {string} id  of a task @returns {string} what to give to others, who need rights of their own */
export const shared = (id) => new URL(mark + id, document.baseURI).href;

/**
 * @param {string} address @param {import('./dom.js').Attributes} attributes
 * @param {...import('./dom.js').Child} children
 */
function anchor(address, attributes, ...children) {
  const a = el('a', attributes, ...children);
  a.href = address;
  return a;
}

/**
 * @param {string} id @param {import('./dom.js').Attributes} attributes
 * @param {...import('./dom.js').Child} children
 */
export const taskLink = (id, attributes, ...children) => anchor(mark + encodeURIComponent(id), attributes, ...children);

/**
 * Has the browser save a text as a file.
 * @param {string} name @param {string} content  JSON
 */
export function save(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/json' }));
  const a = anchor(address, { hidden: true });
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // it may be asked where to
}
