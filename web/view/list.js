// The list of conversations, with search and what can be done with each, and the foot: who one is.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { current, entries, hasMore, health, looked, readMore, remove, removed, rename, search, stateOf, undo } from '../model/chat.js';
import { nameOf, othersWaiting } from './hello.js';
import { h } from './h.js';
import { Icon, IconButton, Mark } from './icon.js';
import { Menu } from './menu.js';
import { copyText } from './dom.js';
import { dialog, drawer, inbox, isWide, side } from './state.js';
import { go, linkOf, newChat } from './address.js';

/** @typedef {import('../model/chat.js').Entry} Entry */

/** @type {Record<string, string>} */
const healthWords = { ok: 'Connected', degraded: 'Connected, some parts do not work', draining: 'About to restart', unreachable: 'Not connected', unknown: 'Connecting' };

export function List() {
  const [written, setWritten] = useState('');
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const wanted = written.trim().toLowerCase();
  const fitting = () => entries.peek().filter((e) => e.title.toLowerCase().includes(wanted));
  const shown = entries.value.filter((e) => e.title.toLowerCase().includes(wanted));
  useEffect(() => { if (wanted) search(() => fitting().length); }, [wanted]);
  const others = othersWaiting().length;
  const groups = ['Today', 'Yesterday', 'Earlier'].map((day) => /** @type {[string, Entry[]]} */ ([day, shown.filter((e) => dayOf(e) === day)])).filter(([, of]) => of.length > 0);
  return h('nav', { class: 'side', id: 'list', 'aria-label': 'Conversations', 'data-testid': 'list', 'data-open': drawer.value ? 'true' : undefined, inert: !isWide.value && !drawer.value, onKeyDown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape' && drawer.value) { e.stopPropagation(); drawer.value = false; document.getElementById('open-list')?.focus(); } } },
    h('div', { class: 'brand' }, h(Mark, {}), h('span', { class: 'name' }, 'Sluice'), h('span', { class: 'space' }), h(IconButton, { icon: isWide.value ? 'panel-left' : 'x', label: 'Hide the list', 'data-testid': 'hide-list', onClick: () => { if (isWide.value) side.value = false; else drawer.value = false; } })),
    h('button', { type: 'button', class: 'new', 'data-testid': 'new', title: 'New chat (Ctrl+Shift+O)', onClick: newChat }, h(Icon, { name: 'square-pen' }), h('span', { class: 'name' }, 'New chat'), h('kbd', { 'aria-hidden': 'true' }, 'Ctrl ⇧ O')),
    h('label', { class: 'find' }, h(Icon, { name: 'search', small: true }), h('input', { type: 'search', id: 'search', placeholder: 'Search', 'aria-label': 'Search conversations', value: written, 'data-testid': 'search', onInput: (/** @type {any} */ e) => setWritten(e.currentTarget.value) }), h('kbd', { 'aria-hidden': 'true' }, 'Ctrl K')),
    h('div', { class: 'talks', ref: list, tabindex: -1, onScroll: () => { const at = list.current; if (at && hasMore.peek() && at.scrollTop + at.clientHeight > at.scrollHeight - 200) readMore(); } },
      others > 0 ? h('button', { type: 'button', class: 'waiting', 'data-testid': 'waiting', 'aria-current': inbox.value ? 'page' : undefined, onClick: () => { inbox.value = true; drawer.value = false; } }, h(Icon, { name: 'shield-alert' }), 'Waiting for you', h('span', { class: 'count' }, String(others))) : null,
      groups.map(([day, of]) => [h('h2', { key: day }, day), h('ul', { key: `${day}-list`, 'aria-label': day }, of.map((entry) => h(Talk, { key: entry.id, entry })))]),
      wanted && shown.length === 0 ? h('p', { class: 'soft' }, 'No title has these words.') : null,
      wanted && looked.value >= 500 ? h('p', { class: 'soft' }, 'Searched the newest 500') : null),
    removed.value ? h('div', { class: 'undo', role: 'status', 'data-testid': 'removed' }, h('span', null, 'Deleted'), h('button', { type: 'button', class: 'plain', 'data-testid': 'undo', onClick: () => { const id = removed.peek()?.id; undo(); if (id) go(id); } }, 'Undo')) : null,
    h('div', { class: 'me' }, h('span', { class: `dot health`, role: 'img', 'data-testid': 'health', 'data-health': health.value, 'aria-label': healthWords[health.value] ?? health.value, title: healthWords[health.value] ?? health.value }),
      h('span', { class: 'name', 'data-testid': 'me' }, nameOf() || (health.value === 'ok' ? 'Connected' : healthWords[health.value] ?? '')), h('span', { class: 'space' }),
      h(IconButton, { icon: 'settings-2', label: 'Settings', 'data-testid': 'settings', onClick: () => { dialog.value = 'settings'; } })));
}

function dayOf(/** @type {Entry} */ { at }) {
  const today = new Date();
  const day = new Date(at);
  if (day.toDateString() === today.toDateString()) return 'Today';
  today.setDate(today.getDate() - 1);
  return day.toDateString() === today.toDateString() ? 'Yesterday' : 'Earlier';
}

function Talk(/** @type {{ entry: Entry }} */ { entry }) {
  const { id, title } = entry;
  const [asks, setAsks] = useState(/** @type {'' | 'rename' | 'delete'} */ (''));
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const state = stateOf(id);
  const isHere = current.value.id === id && !inbox.value;
  useEffect(() => { if (asks) /** @type {HTMLElement | null | undefined} */ (root.current?.querySelector('input, .confirm button'))?.focus(); }, [asks]);
  const end = () => { setAsks(''); setTimeout(() => root.current?.querySelector('a')?.focus(), 0); };
  const escape = (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') { e.stopPropagation(); end(); } };
  if (asks === 'rename') {
    return h('li', { class: 'talk', ref: root }, h('form', { class: 'rename', onSubmit: (/** @type {Event} */ e) => { e.preventDefault(); rename(id, root.current?.querySelector('input')?.value ?? ''); end(); }, onKeyDown: escape },
      h('input', { type: 'text', 'aria-label': 'Title', value: title, maxlength: 200, 'data-testid': 'title-field' })));
  }
  if (asks === 'delete') {
    return h('li', { class: 'talk confirm', ref: root, role: 'alertdialog', 'aria-label': 'Delete this conversation?', onKeyDown: escape }, h('p', null, 'Delete this conversation? Its tasks and logs go too.'),
      h('div', { class: 'btns' }, h('button', { type: 'button', class: 'danger', 'data-testid': 'delete', onClick: () => { const [was, isOpen] = [isHere, drawer.peek()]; remove(id); if (was) newChat(); drawer.value = isOpen; /* Undo is there */ } }, 'Delete'), h('button', { type: 'button', onClick: end }, 'Leave it')));
  }
  return h('li', { class: 'talk', ref: root, 'aria-current': isHere ? 'page' : undefined, 'data-testid': 'talk', 'data-id': id },
    h('a', { href: `#c=${id}`, dir: 'auto', title, 'aria-current': isHere ? 'page' : undefined, onClick: (/** @type {MouseEvent} */ e) => { if (e.ctrlKey || e.metaKey) return; e.preventDefault(); go(id); } }, title || 'New chat'),
    h(Menu, { label: `More for ${title}`, icon: 'ellipsis', small: true, testid: 'more', items: [
      { label: 'Rename', icon: 'pencil', data: { 'data-testid': 'rename' }, act: () => setAsks('rename') },
      { label: 'Copy link', icon: 'link', act: () => copyText(linkOf(id)) },
      { label: 'Delete', icon: 'trash-2', data: { 'data-testid': 'ask-delete' }, act: () => setAsks('delete') },
    ] }),
    state ? h('span', { class: `dot ${state === 'runs' ? 'run' : ''}`, role: 'img', 'aria-label': state === 'runs' ? 'running' : 'waits for you', 'data-testid': 'dot', 'data-state': state }) : null);
}
