// Developer: all that is known of one turn, of the tasks and of the gateway, one tab each.

import { useRef, useState } from '../vendor/hooks.js';
import { current, keepSetting } from '../model/chat.js';
import { h } from '../view/h.js';
import { chosen, developerWidth, isWide, tab } from '../view/state.js';
import { Events } from './events.js';
import { Gateway } from './gateway.js';
import { Request } from './request.js';
import { Tasks } from './tasks.js';
import { TurnTrace } from './turntrace.js';

/** @type {[string, string, (props: { turn: any }) => any][]} */
const tabs = [['trace', 'Trace', TurnTrace], ['events', 'Events', Events], ['request', 'Request', Request], ['tasks', 'Tasks', Tasks], ['gateway', 'Gateway', Gateway]];
const least = 360;

export function Panel() {
  const turn = chosen.value ?? current.value.turns.value.at(-1) ?? null;
  turn?.version.value;
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [, , View] = tabs.find(([id]) => id === tab.value) ?? tabs[0];
  const key = (/** @type {KeyboardEvent} */ e) => {
    const at = tabs.findIndex(([id]) => id === tab.peek());
    const to = { ArrowRight: (at + 1) % tabs.length, ArrowLeft: (at - 1 + tabs.length) % tabs.length, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    tab.value = tabs[to][0];
    /** @type {HTMLElement | null | undefined} */ (list.current?.querySelectorAll('button')[to])?.focus();
  };
  return [
    isWide.value ? h(Edge, { key: 'edge' }) : null,
    h('div', { key: 'tabs', class: 'tabs', role: 'tablist', 'aria-label': 'Developer', ref: list, onKeyDown: key }, tabs.map(([id, name]) => h('button', { key: id, type: 'button', role: 'tab', id: `tab-${id}`, 'aria-selected': String(tab.value === id), 'aria-controls': 'pane', tabindex: tab.value === id ? 0 : -1, 'data-testid': `tab-${id}`, onClick: () => { tab.value = id; } }, name))),
    h('div', { key: `pane-${tab.value}`, class: 'pane', id: 'pane', role: 'tabpanel', 'aria-labelledby': `tab-${tab.value}`, tabindex: 0 }, h(View, { turn })),
  ];
}

/** The edge that is dragged, or moved by the arrow keys. */
function Edge() {
  const [isDragged, setDragged] = useState(false);
  const put = (/** @type {number} */ width) => {
    developerWidth.value = Math.round(Math.min(Math.max(width, least), innerWidth * 0.6));
    keepSetting('width', developerWidth.value);
  };
  return h('div', { class: 'edge-bar', role: 'separator', tabindex: 0, 'aria-label': 'Width of Developer', 'aria-orientation': 'vertical', 'aria-valuenow': developerWidth.value, 'aria-valuemin': least, 'aria-valuemax': Math.round(innerWidth * 0.6), 'data-testid': 'edge',
    onPointerDown: (/** @type {any} */ e) => { e.currentTarget.setPointerCapture(e.pointerId); setDragged(true); }, onPointerUp: () => setDragged(false),
    onPointerMove: (/** @type {PointerEvent} */ e) => { if (isDragged) put(innerWidth - e.clientX); },
    onKeyDown: (/** @type {KeyboardEvent} */ e) => { const step = { ArrowLeft: 24, ArrowRight: -24 }[e.key]; if (step) { e.preventDefault(); put(developerWidth.peek() + step); } } });
}
