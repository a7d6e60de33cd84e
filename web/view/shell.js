// The frame: the list at the left, the chat, and Developer at the right, whose script comes when it is
// opened first.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { current, door, isDemo, openQuestions, stateOf, titleFor } from '../model/chat.js';
import { spoken } from '../model/turn.js';
import { copyText, setWidth } from './dom.js';
import { Box } from './box.js';
import { Keys, Settings } from './dialogs.js';
import { Examples, KeyCard, Waiting, Welcome } from './hello.js';
import { h } from './h.js';
import { IconButton } from './icon.js';
import { List } from './list.js';
import { Log } from './log.js';
import { linkOf, newChat } from './address.js';
import { developer, developerWidth, dialog, drawer, inbox, isWide, openDeveloper, setDeveloper, side } from './state.js';

export function Shell() {
  const isSheet = !isWide.value && developer.value;
  return h('div', { class: `app${developer.value ? ' dev' : ''}${side.value ? '' : ' no-side'}`, 'data-drawer': drawer.value ? 'true' : undefined },
    door.value.wanted || inbox.value ? null : h('a', { class: 'skip', href: '#input', onClick: (/** @type {Event} */ e) => { e.preventDefault(); document.getElementById('input')?.focus(); } }, 'Skip to the message box'),
    h(List, {}),
    h(Chat, { isBehind: isSheet || (!isWide.value && drawer.value) }),
    developer.value ? h(Developer, {}) : null,
    h(Settings, {}), h(Keys, {}),
    h('p', { class: 'off', role: 'status', id: 'status' }, spoken.value));
}

function Chat(/** @type {{ isBehind: boolean }} */ { isBehind }) {
  const conversation = current.value;
  const isEmpty = conversation.turns.value.length === 0 && !conversation.isMissing.value && openQuestions(conversation).length === 0;
  const needsKey = door.value.wanted;
  const title = inbox.value ? 'Waiting for you' : isEmpty ? 'New chat' : titleFor(conversation.id) || 'Chat';
  useTitle(title);
  return h('main', { 'aria-label': 'Chat', inert: isBehind, onClick: () => { if (drawer.value) drawer.value = false; } },
    h('header', { class: 'top' },
      isWide.value && side.value ? null : h(IconButton, { icon: isWide.value ? 'panel-left' : 'menu', label: 'Conversations', id: 'open-list', 'data-testid': 'open-list', onClick: (/** @type {Event} */ e) => { e.stopPropagation(); if (isWide.value) side.value = true; else drawer.value = true; } }),
      h('h1', { dir: 'auto', title, 'data-testid': 'title' }, title), h('span', { class: 'space' }),
      isDemo.value ? h('span', { class: 'chip', 'data-testid': 'demo' }, 'Demo model') : null,
      isEmpty || !isWide.value ? null : h(CopyLink, { id: conversation.id }),
      h(IconButton, { icon: 'code-xml', label: 'Developer', title: 'Developer (Ctrl+.)', id: 'open-developer', 'data-testid': 'developer', 'aria-pressed': String(developer.value), onClick: () => (developer.value ? setDeveloper(false) : openDeveloper(null)) }),
      isWide.value ? null : h(IconButton, { icon: 'square-pen', label: 'New chat', 'data-testid': 'new-narrow', onClick: newChat })),
    needsKey ? h(KeyCard, {}) : inbox.value ? h(Waiting, {})
      : h('div', { class: `stage${isEmpty ? ' hello' : ''}`, 'data-testid': isEmpty ? 'empty' : undefined }, isEmpty ? h(Welcome, {}) : h(Log, { key: conversation.id }), h(Box, {}), isEmpty ? h(Examples, {}) : null));
}

function CopyLink(/** @type {{ id: string }} */ { id }) {
  const [done, setDone] = useState(false);
  return h(IconButton, { icon: done ? 'check' : 'link', label: done ? 'Copied' : 'Copy link', 'data-testid': 'copy-link', onClick: async () => { setDone(await copyText(linkOf(id))); setTimeout(() => setDone(false), 1500); } });
}

/** The title of the document: a dot while a turn runs in the background, a count of what waits. @param {string} title */
function useTitle(title) {
  const state = stateOf(current.value.id);
  const [isHidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  const waits = openQuestions(current.value).length;
  const mark = isHidden && state === 'runs' ? '● ' : isHidden && waits > 0 ? `(${waits}) ` : '';
  useEffect(() => { document.title = `${mark}${title} - Sluice`; }, [mark, title]);
}

/** @type {Promise<typeof import('../dev/panel.js')> | null} */
let panel = null;

function Developer() {
  const [view, setView] = useState(/** @type {typeof import('../dev/panel.js') | null} */ (null));
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => { (panel ??= import('../dev/panel.js')).then(setView).catch(() => {}); }, []);
  useEffect(() => { if (!isWide.peek()) root.current?.focus(); }, [view !== null]);
  const close = () => { setDeveloper(false); setTimeout(() => document.getElementById('open-developer')?.focus(), 0); };
  useEffect(() => setWidth(developerWidth.value), [developerWidth.value]);
  return h('aside', { class: 'panel', id: 'panel', 'aria-label': 'Developer', tabindex: -1, ref: root, 'data-testid': 'panel', onKeyDown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape' && !isWide.peek()) { e.stopPropagation(); close(); } } },
    h('header', { class: 'top' }, h('h2', null, 'Developer'), h('span', { class: 'space' }), h(IconButton, { icon: 'x', label: 'Close Developer', 'data-testid': 'close-developer', onClick: close })),
    view ? h(view.Panel, {}) : h('p', { class: 'pane soft' }, 'Loading'));
}

const regions = ['#list', '#log', '#input', '#panel'];

export function shortcut(/** @type {KeyboardEvent} */ e) {
  const at = /** @type {HTMLElement | null} */ (document.activeElement);
  const isWriting = at?.matches('input, textarea, select') ?? false;
  const isCtrl = e.ctrlKey || e.metaKey;
  if (isCtrl && e.key === 'k') openSearch();
  else if (isCtrl && e.shiftKey && e.key.toLowerCase() === 'o') newChat();
  else if (isCtrl && e.key === '.') setDeveloper(!developer.peek());
  else if (e.key === 'Escape' && !e.defaultPrevented && !dialog.peek()) current.peek().stop();
  else if (e.key === 'F6') nextRegion(at, e.shiftKey ? -1 : 1);
  else if (e.key === '?' && !isWriting) dialog.value = 'keys';
  else return;
  if (e.key !== 'Escape') e.preventDefault();
}

function openSearch() {
  if (isWide.peek()) side.value = true;
  else drawer.value = true;
  setTimeout(() => document.getElementById('search')?.focus(), 0);
}

function nextRegion(/** @type {Element | null} */ at, /** @type {number} */ step) {
  const all = regions.flatMap((name) => /** @type {HTMLElement | null} */ (document.querySelector(name)) ?? []).filter((n) => !n.closest('[inert]'));
  const now = all.findIndex((n) => n === at || n.contains(at));
  const next = all[(now + step + all.length) % all.length];
  (next?.id === 'list' ? /** @type {HTMLElement | null} */ (next.querySelector('button')) : next)?.focus();
}
