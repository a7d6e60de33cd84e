// The end of the conversation stays in sight, unless the reader has gone elsewhere.

import { byId } from './dom.js';

/** On a wide screen the conversation scrolls by itself, else the whole page. */
export const wide = matchMedia('(min-width: 64rem)');

export class Follower {
  #log = byId('log');
  #latest = byId('latest');
  #pinned = true;
  #reached = 0; // how far it was scrolled

  constructor() {
    for (const target of [this.#log, document]) target.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#latest.addEventListener('click', () => this.pin());
    this.#log.addEventListener('grown', () => this.follow());
  }

  get #scroller() { return wide.matches ? this.#log : document.documentElement; }

  /** How much of the conversation is out of sight below. */
  #below() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Goes to the end, and stays there. */
  pin() {
    this.#pinned = true;
    this.follow();
  }

  /** Goes to the end if that is where the reader was. */
  follow() {
    if (this.#pinned) this.#scroller.scrollTop += Math.max(0, this.#below());
    this.#latest.hidden = this.#pinned;
  }

  // Only who scrolls back has gone elsewhere: text that has come since the last
  // picture may have moved the end away.
  #scrolled() {
    const top = this.#scroller.scrollTop;
    if (this.#below() < 80) this.#pinned = true;
    else if (top < this.#reached) this.#pinned = false;
    this.#reached = top;
    this.#latest.hidden = this.#pinned;
  }
}
