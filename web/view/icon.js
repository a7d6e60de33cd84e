// Icons and the small parts that most views use.

import { icons } from '../vendor/icons.js';
import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { copyText } from './dom.js';
import { h } from './h.js';

export function Icon(/** @type {{ name: string, small?: boolean }} */ { name, small }) {
  const edge = small ? 16 : 18;
  return h('svg', { class: 'glyph', width: edge, height: edge, viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.75, 'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true' },
    ...(icons[name] ?? []).map(([tag, shape]) => h(tag, shape)));
}

/** A button that has an icon and no words. @param {Record<string, any> & { icon: string, label: string }} props */
export const IconButton = ({ icon, label, class: more = '', small, ...others }) =>
  h('button', { type: 'button', class: `icon ${more}`, 'aria-label': label, title: label, ...others }, h(Icon, { name: icon, small }));

/** The mark while something runs. */
export const Flow = () => h('svg', { class: 'flow', width: 18, height: 14, viewBox: '0 0 18 14', 'aria-hidden': 'true' },
  h('rect', { x: 1, y: 1, width: 16, height: 2.2, rx: 1.1 }), h('rect', { x: 1, y: 6, width: 11.5, height: 2.2, rx: 1.1 }), h('rect', { x: 1, y: 11, width: 7, height: 2.2, rx: 1.1 }));

export const Mark = () => h('svg', { class: 'mark', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
  h('rect', { width: 16, height: 16, rx: 3.5, fill: '#0b6472' }), h('path', { d: 'M3.5 5h9M3.5 8h6.5M3.5 11h4', stroke: '#fff', 'stroke-width': 1.5, 'stroke-linecap': 'round' }));

/** @param {{ get: () => string, label: string, words?: string, testid?: string }} props  words: beside the icon */
export function Copy({ get, label, words, testid }) {
  const [done, setDone] = useState(/** @type {boolean | null} */ (null));
  useEffect(() => {
    if (done === null) return;
    const timer = setTimeout(() => setDone(null), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const name = done === null ? label : done ? 'Copied' : 'Not copied';
  return h('button', { type: 'button', class: words === undefined ? 'icon' : 'plain', 'aria-label': words === undefined ? name : undefined, title: name, 'data-testid': testid, 'data-copied': done === null ? undefined : String(done), onClick: async () => setDone(await copyText(get())) },
    h(Icon, { name: done ? 'check' : 'copy', small: words !== undefined }), words === undefined ? null : done === null ? words : name);
}

/** A place for nodes that are made without a view. @param {{ make: () => Node, class?: string }} props */
export function Mount({ make, class: name }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => { ref.current?.replaceChildren(make()); }, [make]);
  return h('div', { ref, class: name });
}

/** A value again and again while it is seen. @param {number} ms @param {boolean} isOn */
export function useTicks(ms, isOn) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => tick((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, [ms, isOn]);
}

/** Arguments or facts as a table of two columns. @param {{ of: Record<string, unknown> | [string, Child][] }} props */
export function Facts({ of }) {
  const rows = Array.isArray(of) ? of : Object.entries(of ?? {}).map(([name, value]) => /** @type {[string, Child]} */ ([name, lineOf(value)]));
  return h('dl', { class: 'kv' }, ...rows.flatMap(([name, value]) => [h('dt', { dir: 'auto' }, name), h('dd', { dir: 'auto' }, value)]));
}

function lineOf(/** @type {unknown} */ value) {
  const line = typeof value === 'string' ? value : JSON.stringify(value) ?? '';
  return line === value || line.length < 80 ? line : JSON.stringify(value, null, 2);
}
