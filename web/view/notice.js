// Notices in a turn: an error of the stream, a refusal, a lost connection.

import { el } from './dom.js';

/**
 * @typedef {object} Notice
 * @property {string} title
 * @property {string} [what]  one sentence more
 * @property {string} [advice]
 * @property {string[]} [list]
 * @property {string} [facts]  for those who look closer
 * @property {'bad' | 'note'} tone
 * @property {Record<string, string>} [hooks]  attributes
 */

/** @param {Notice} notice @param {...Node} actions */
export function notice({ title, what, advice, list = [], facts, tone, hooks }, ...actions) {
  return el('div', { class: `notice ${tone}`, dir: 'auto', ...hooks },
    el('p', { class: 'title' }, title),
    what ? el('p', {}, what) : null,
    list.length > 0 ? el('ul', {}, ...list.map((l) => el('li', {}, l))) : null,
    advice ? el('p', { class: 'advice' }, advice) : null,
    actions.length > 0 ? el('div', { class: 'actions' }, ...actions) : null,
    facts ? el('p', { class: 'facts' }, facts) : null);
}

/**
 * A button that sends the same again, once the wait that was asked for is over.
 * @param {number | undefined} wait in milliseconds
 * @param {() => void} again
 */
export function retryButton(wait, again) {
  const button = el('button', { type: 'button', 'data-testid': 'retry' }, 'Retry');
  button.addEventListener('click', again);
  const until = performance.now() + (wait ?? 0);
  const tick = () => {
    const left = Math.ceil((until - performance.now()) / 1000);
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Retry in ${left} s` : 'Retry';
    if (left > 0) setTimeout(tick, 250);
  };
  tick();
  return button;
}

/** @param {() => void} edit */
export function editButton(edit) {
  const button = el('button', { type: 'button', 'data-testid': 'edit' }, 'Put it back into the box');
  button.addEventListener('click', edit);
  return button;
}
