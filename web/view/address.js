// The address of the page: #c= names the open conversation, ?task= one of a task. Back and forward
// go between conversations.

import { begin, current, open, openTask, renew } from '../model/chat.js';
import { chosen, drawer, editing, focusBox, inbox, readDraft } from './state.js';

const mark = '#c=';

/** @returns {string} the conversation that the address names; empty: a new one */
function named() {
  const id = decodeURIComponent(location.hash.startsWith(mark) ? location.hash.slice(mark.length) : '');
  return /^[\w.:-]{1,256}$/.test(id) ? id : '';
}

/** @param {string} id @returns {string} an address to give to others, who need rights of their own */
export const linkOf = (id) => new URL(`${mark}${encodeURIComponent(id)}`, document.baseURI).href.replace(/\?[^#]*/, '');

/** @param {string} id  of a task */
export const taskLink = (id) => new URL(`?task=${encodeURIComponent(id)}`, document.baseURI).href.replace(/#.*/, '');

/** Puts a conversation into the address. @param {string} id @param {boolean} [isSame]  in the place of what is there */
export function put(id, isSame = false) {
  const address = id ? linkOf(id) : new URL('.', document.baseURI).href;
  if (address === location.href) return;
  if (isSame) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
}

function shown() {
  chosen.value = null;
  editing.value = '';
  inbox.value = false;
  drawer.value = false;
  readDraft();
}

/** Opens a conversation. @param {string} id */
export function go(id) {
  open(id);
  put(id);
  shown();
  if (matchMedia('(pointer: fine)').matches) focusBox();
}

export function newChat() {
  renew();
  put('');
  shown();
  setTimeout(focusBox, 0);
}

/** Follows the address, from its first state on. */
export function start() {
  begin(named());
  readDraft();
  addEventListener('popstate', () => {
    const id = named();
    if (id === current.peek().id) return;
    if (id) open(id);
    else renew();
    shown();
  });
}

/** Opens the conversation of the task that the address names. */
export async function followTask() {
  const task = new URLSearchParams(location.search).get('task') ?? (/^#task=(\w+)$/.exec(location.hash)?.[1] ?? '');
  if (!/^[\w.:-]{1,128}$/.test(task)) return;
  const id = await openTask(task);
  if (!id) return;
  put(id, true);
  shown();
}
