// Settings, and the keys of the page.

import { useEffect, useRef } from '../vendor/hooks.js';
import { asUser, asksWho, health, isShown, keepSetting, me, ready, refresh, setting, useKey } from '../model/chat.js';
import { h } from './h.js';
import { IconButton } from './icon.js';
import { dialog, setTheme, theme } from './state.js';

function Dialog(/** @type {{ name: string, title: string, children: Child }} */ { name, title, children }) {
  const root = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const isOpen = dialog.value === name;
  useEffect(() => {
    const node = root.current;
    if (isOpen && !node?.open) node?.showModal();
    if (!isOpen && node?.open) node.close();
  }, [isOpen]);
  return h('dialog', { ref: root, 'aria-labelledby': `${name}-title`, 'data-testid': `${name}-dialog`, onClose: () => { if (dialog.peek() === name) dialog.value = ''; }, onKeyDown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') e.stopPropagation(); } },
    isOpen ? [h('header', { key: 'head' }, h('h2', { id: `${name}-title` }, title), h('span', { class: 'space' }), h(IconButton, { icon: 'x', label: 'Close', onClick: () => { dialog.value = ''; } })), h('div', { key: 'body', class: 'body' }, children)] : null);
}

const themes = [['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

export const Settings = () => h(Dialog, { name: 'settings', title: 'Settings', children: [
  h('div', { key: 'theme', class: 'field' }, h('label', { for: 'theme' }, 'Theme'), h('select', { id: 'theme', value: theme.value, 'data-testid': 'theme', onChange: (/** @type {any} */ e) => setTheme(e.currentTarget.value) },
    themes.map(([value, words]) => h('option', { key: value, value, selected: theme.value === value }, words)))),
  h('div', { key: 'name', class: 'field' }, h('label', { for: 'name' }, 'Your name'), h('input', { id: 'name', type: 'text', maxlength: 64, autocomplete: 'name', value: setting('name') ?? '', 'data-testid': 'name', onChange: (/** @type {any} */ e) => keepSetting('name', e.currentTarget.value.trim()) }), h('small', null, 'The answers may use it.')),
  me.value?.user ? h('div', { key: 'me', class: 'field' }, h('b', null, 'You'), h('p', { class: 'soft' }, `${me.value.user}${me.value.tenant ? `, of ${me.value.tenant}` : ''}`),
    isShown() ? h('button', { type: 'button', 'data-testid': 'sign-out', onClick: () => { me.value = null; useKey(''); dialog.value = ''; refresh(); } }, 'Forget the key') : null) : null,
  !asksWho.value && ready.value?.approvals ? h('div', { key: 'user', class: 'field' }, h('label', { for: 'user' }, 'Answer questions as'), h('input', { id: 'user', type: 'text', maxlength: 128, autocomplete: 'off', value: asUser.value, placeholder: 'Nobody by name', 'data-testid': 'user', onChange: (/** @type {any} */ e) => { asUser.value = e.currentTarget.value.trim(); refresh(); } }), h('small', null, 'This gateway does not check names.')) : null,
  h('p', { key: 'health', class: 'soft' }, health.value === 'ok' ? 'The gateway is connected. ' : `The gateway is ${health.value}. `, h('button', { type: 'button', class: 'link', onClick: () => { dialog.value = 'keys'; } }, 'Keys of this page')),
] });

const keys = [['Ctrl+K', 'Search'], ['Ctrl+Shift+O', 'New chat'], ['Ctrl+.', 'Developer'], ['Enter', 'Send'], ['Shift+Enter', 'New line'], ['↑', 'Edit the last message, from an empty box'], ['Esc', 'Stop, or close'], ['F6', 'Next region'], ['?', 'These keys']];

export const Keys = () => h(Dialog, { name: 'keys', title: 'Keys', children: h('dl', { class: 'kv' }, keys.flatMap(([key, words]) => [h('dt', { key }, h('kbd', null, key)), h('dd', { key: `${key}-is` }, words)])) });
