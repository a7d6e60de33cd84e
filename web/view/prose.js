// A text as Markdown. One component owns its nodes: more text is appended to the last block, and the
// view's comparison never sees it.

import { useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { visible } from './dom.js';
import { h } from './h.js';

/** @type {typeof import('./markdown.js').Markdown | null} */
let Markdown = null;
// It comes right behind the scripts that draw the page, before a first answer can.
const comes = typeof IntersectionObserver === 'undefined' ? null : import('./markdown.js').then((library) => { Markdown = library.Markdown; });

/** A text that may still grow. @param {{ text: string, cuts?: number, done?: boolean, class?: string, testid?: string }} props  cuts: how often some of it was taken back */
export function Prose({ text, cuts = 0, done = true, class: name = 'prose', testid }) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const drawn = useRef({ doc: /** @type {import('./markdown.js').Markdown | null} */ (null), length: 0, cuts: 0, done: false });
  const [, setReady] = useState(false);
  useLayoutEffect(() => {
    const state = drawn.current;
    if (!root.current) return;
    if (!Markdown) {
      root.current.textContent = visible(text);
      comes?.then(() => setReady(true));
      return;
    }
    if (!state.doc || cuts !== state.cuts || text.length < state.length || (state.done && text.length > state.length)) {
      root.current.replaceChildren();
      Object.assign(state, { doc: new Markdown(root.current), length: 0, cuts, done: false });
    }
    if (text.length > state.length) state.doc?.append(text.slice(state.length));
    const isMore = text.length > state.length;
    state.length = text.length;
    if (done && !state.done) state.doc?.end();
    else if (!done && isMore) state.doc?.draw();
    state.done = done;
  });
  return h('div', { ref: root, class: name, 'data-testid': testid });
}
