// The state of the page itself: what is open, what is chosen, and the text in the box.

import { signal } from '../vendor/signals.js';
import { current, draftOf, keepDraft, keepSetting, setting } from '../model/chat.js';

export const wide = matchMedia('(min-width: 64rem)');
export const isWide = signal(wide.matches);
export const drawer = signal(false); // the list, on a narrow screen
export const side = signal(setting('side') !== false); // the list, on a wide one
export const developer = signal(setting('developer') === true && wide.matches);
export const developerWidth = signal(Number(setting('width')) || 496);
export const chosen = signal(/** @type {Turn | null} */ (null)); // the turn that Developer shows; null: the last one
export const tab = signal('trace'); // of Developer
export const trial = signal(false); // the next turn goes by EventSource
export const dialog = signal(/** @type {'' | 'settings' | 'keys'} */ (''));
export const inbox = signal(false); // the questions of others are in the place of the chat
export const theme = signal(document.documentElement.dataset.theme ?? 'system');
export const box = signal(draftOf(''));
export const choice = signal(/** @type {import('../model/conversation.js').Choice} */ ({}));

wide.addEventListener('change', () => {
  isWide.value = wide.matches;
  drawer.value = false;
  if (!wide.matches) developer.value = false;
});

export function setDeveloper(/** @type {boolean} */ isOpen) {
  developer.value = isOpen;
  if (isWide.peek()) keepSetting('developer', isOpen);
}

/** @param {Turn | null} turn @param {string} [at]  a tab */
export function openDeveloper(turn, at = 'trace') {
  chosen.value = turn;
  tab.value = at;
  setDeveloper(true);
}

export function write(/** @type {string} */ text) {
  box.value = text;
  const { id, isNew } = current.peek();
  keepDraft(isNew ? '' : id, text);
}

/** Puts a text into the box, and goes there. @param {string} text */
export function writeInBox(text) {
  write(text);
  focusBox();
}

/** The box of another conversation. */
export function readDraft() {
  const { id, isNew } = current.peek();
  box.value = draftOf(isNew ? '' : id);
}

export function focusBox() { document.getElementById('input')?.focus(); }

export function setTheme(/** @type {string} */ name) {
  theme.value = name;
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  keepSetting('theme', name);
}

/** The key of the turn whose message is edited. */
export const editing = signal('');
