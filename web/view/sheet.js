// On a narrow screen the panel is a sheet that lies over the conversation when it is asked for.

import { attribute, byId } from './dom.js';
import { wide } from './scroll.js';

const panel = byId('panel');
const button = byId('sheet');
const behind = [byId('log'), byId('ask')];

/** @param {boolean} open */
function set(open) {
  attribute(document.body, 'data-sheet', open ? 'open' : null);
  attribute(button, 'aria-expanded', String(open));
  for (const node of behind) node.inert = open;
}

/** Shows the panel, wherever it is. */
export function showPanel() {
  if (!wide.matches) set(true);
}

function close() {
  set(false);
  button.focus();
}

/** @param {number} waiting  how many questions are in it */
export function countWaiting(waiting) {
  button.textContent = waiting > 0 ? `Panel (${waiting})` : 'Panel';
}

button.addEventListener('click', () => {
  if (button.getAttribute('aria-expanded') === 'true') return close();
  set(true);
  panel.focus();
});
byId('sheet-close').addEventListener('click', close);
panel.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || wide.matches) return;
  event.stopPropagation(); // or it would stop the turn
  close();
});
wide.addEventListener('change', () => set(false));
