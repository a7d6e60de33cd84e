// Menus and the list of who may answer: what opens from a button, and closes by Escape, by a choice
// and by a click elsewhere.

import { useEffect, useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { h } from './h.js';
import { Icon } from './icon.js';

/** @typedef {{ label: string, about?: string, icon?: string, kind?: 'menuitem' | 'menuitemradio' | 'menuitemcheckbox', isOn?: boolean, data?: Record<string, string>, act: () => void }} Item */

function useClosing(/** @type {import('../vendor/hooks.js').Ref<HTMLElement | null>} */ root, /** @type {boolean} */ isOpen, /** @type {() => void} */ close) {
  useEffect(() => {
    if (!isOpen) return;
    const outside = (/** @type {Event} */ e) => { if (!root.current?.contains(/** @type {Node} */ (e.target))) close(); };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [isOpen]);
}

/** @param {{ label: string, icon: string, title?: string, items: Item[], class?: string, testid?: string, small?: boolean }} props */
export function Menu({ label, icon, items, class: name = '', testid, small }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const button = () => root.current?.querySelector('button')?.focus();
  useClosing(root, isOpen, () => setOpen(false));
  useLayoutEffect(() => { if (isOpen) /** @type {HTMLElement | null | undefined} */ (list.current?.querySelector('[role^=menuitem]'))?.focus(); }, [isOpen]);
  const key = (/** @type {KeyboardEvent} */ e) => {
    const all = [.../** @type {NodeListOf<HTMLElement>} */ (list.current?.querySelectorAll('[role^=menuitem]') ?? [])];
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[e.key];
    if (to !== undefined) all[to]?.focus();
    else if (e.key === 'Escape') { setOpen(false); button(); }
    else if (e.key === 'Tab') return setOpen(false);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return h('div', { class: `menu ${name}`, ref: root },
    h('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, 'aria-haspopup': 'menu', 'aria-expanded': String(isOpen), 'data-testid': testid, onClick: () => setOpen(!isOpen) }, h(Icon, { name: icon, small })),
    isOpen ? h('div', { class: 'popup', role: 'menu', 'aria-label': label, ref: list, onKeyDown: key }, items.map((item) => h('button', {
      key: item.label, type: 'button', role: item.kind ?? 'menuitem', tabindex: -1, 'aria-checked': item.isOn === undefined ? undefined : String(item.isOn), ...item.data,
      onClick: () => { setOpen(false); button(); item.act(); },
    }, item.isOn === undefined ? item.icon ? h(Icon, { name: item.icon, small: true }) : null : h('span', { class: 'tick' }, item.isOn ? h(Icon, { name: 'check', small: true }) : null), h('span', null, item.label, item.about ? h('small', null, item.about) : null)))) : null);
}

/**
 * A list with a field that filters it.
 * @param {{ options: { value: string, label: string, about: string }[], value: string, choose: (value: string) => void, filter?: string | null, close?: () => void }} props  filter: written elsewhere; null: it is not open there
 */
export function Picker({ options, value, choose, filter = null, close = () => {} }) {
  const [own, setOwn] = useState(false);
  const [written, setWritten] = useState('');
  const [at, setAt] = useState(0);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const isOpen = own || filter !== null;
  const shut = () => { setOwn(false); setWritten(''); setAt(0); close(); };
  useClosing(root, own, shut);
  useLayoutEffect(() => { if (own) root.current?.querySelector('input')?.focus(); }, [own]);
  const wanted = (filter ?? written).toLowerCase();
  const fitting = options.filter((o) => `${o.label} ${o.about}`.toLowerCase().includes(wanted));
  const pick = (/** @type {string} */ to) => { shut(); choose(to); if (filter === null) root.current?.querySelector('button')?.focus(); };
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === 'ArrowDown') setAt(Math.min(at + 1, fitting.length - 1));
    else if (e.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (e.key === 'Enter' && fitting[at]) pick(fitting[at].value);
    else if (e.key === 'Escape') { shut(); root.current?.querySelector('button')?.focus(); }
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  useEffect(() => { // while the name is written in the box, its keys are for this list
    if (filter === null) return;
    const box = document.getElementById('input');
    box?.addEventListener('keydown', key, true);
    return () => box?.removeEventListener('keydown', key, true);
  });
  const shown = options.find((o) => o.value === value)?.label ?? 'Auto';
  return h('div', { class: 'menu who', ref: root },
    h('button', { type: 'button', class: 'pick', 'aria-haspopup': 'listbox', 'aria-expanded': String(isOpen), 'aria-label': `Who answers: ${shown}`, 'data-testid': 'who', onClick: () => setOwn(!own) }, h('span', null, shown), h(Icon, { name: 'chevron-down', small: true })),
    isOpen ? h('div', { class: 'popup' },
      own ? h('input', { type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'who-list', 'aria-activedescendant': fitting[at] ? `who-${at}` : undefined, 'aria-label': 'Find who answers', placeholder: 'Find', autocomplete: 'off', value: written, 'data-testid': 'who-filter', onInput: (/** @type {any} */ e) => { setWritten(e.currentTarget.value); setAt(0); }, onKeyDown: key }) : null,
      h('div', { role: 'listbox', id: 'who-list', 'aria-label': 'Who answers' }, fitting.map((o, i) => h('div', { key: o.value, id: `who-${i}`, role: 'option', class: i === at ? 'at' : '', 'aria-selected': String(o.value === value), 'data-testid': 'who-option', 'data-value': o.value, onPointerDown: (/** @type {Event} */ e) => e.preventDefault(), onClick: () => pick(o.value) }, h('b', null, o.label), h('small', { dir: 'auto' }, o.about))))) : null);
}
