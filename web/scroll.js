// The end of the conversation stays in sight, unless the reader has gone elsewhere.

import { byId } from './dom.js';

/** On a wide screen the conversation scrolls by itself, else the whole page. */
export const wide = matchMedia('(min-width: 64rem)');

const log = byId('log');
const latest = byId('latest');

let pinned = true;
let reached = 0; // how far it was scrolled

const scroller = () => (wide.matches ? log : document.documentElement);

/** How much of the conversation is out of sight below. */
function below() {
  const { scrollHeight, scrollTop, clientHeight } = scroller();
  const after = wide.matches ? 0 : byId('panel').offsetHeight;
  return scrollHeight - after - scrollTop - clientHeight;
}

/** Goes to the end, and stays there. */
export function pin() {
  pinned = true;
  follow();
}

/** Goes to the end if that is where the reader was. */
export function follow() {
  if (pinned) scroller().scrollTop += Math.max(0, below());
  latest.hidden = pinned;
}

// Only who scrolls back has gone elsewhere: text that has come since the last
// picture may have moved the end away.
function scrolled() {
  const top = scroller().scrollTop;
  if (below() < 80) pinned = true;
  else if (top < reached) pinned = false;
  reached = top;
  latest.hidden = pinned;
}

for (const target of [log, document]) target.addEventListener('scroll', scrolled, { passive: true });
latest.addEventListener('click', pin);
