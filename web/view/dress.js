// Colours of code and formulas, in blocks that are complete. Their libraries are loaded when the first
// one is met, and work while the browser is idle.

import { el, styleSheet, text } from './dom.js';

const longestCode = 20_000; // characters
const longestFormula = 2000;

/** @type {Promise<typeof import('../vendor/highlight.js')> | null} */
let colours = null;
/** @type {Promise<any> | null} */
let formulas = null;

const whenIdle = (/** @type {() => void} */ work) => ('requestIdleCallback' in globalThis ? requestIdleCallback(work, { timeout: 1000 }) : setTimeout(work, 50));

/** Dresses the blocks of a text that will not change any more. @param {Node[]} blocks */
export function dress(blocks) {
  if (typeof HTMLElement === 'undefined') return;
  for (const block of blocks) {
    if (!(block instanceof HTMLElement)) continue;
    const all = [block, ...block.querySelectorAll('*')];
    for (const node of all) {
      if (node.classList.contains('code')) whenIdle(() => colour(node));
      else if (node.classList.contains('math')) whenIdle(() => typeset(node));
    }
  }
}

async function colour(/** @type {Element} */ block) {
  const language = block.firstElementChild?.firstElementChild?.textContent?.toLowerCase() ?? '';
  const [piece, more] = block.querySelectorAll('pre > code');
  const source = piece?.textContent ?? '';
  if (!piece || more || piece.childElementCount > 0 || source.length > longestCode) return;
  colours ??= import('../vendor/highlight.js');
  const library = (await colours.catch(() => null))?.default;
  if (!library?.getLanguage(language) || piece.textContent !== source) return;
  const { rootNode } = library.highlight(source, { language, ignoreIllegals: true })._emitter;
  const nodes = rootNode.children.map(scopeNode);
  if (nodes.map((n) => n.textContent).join('') === source) piece.replaceChildren(...nodes); // else some of it was cut
}

/** @param {import('../vendor/highlight.js').Scope | string} scope @returns {Node} */
function scopeNode(scope) {
  if (typeof scope === 'string') return text(scope);
  return el('span', { class: scope.scope ? `hl-${scope.scope.replaceAll(/\W+/g, '-')}` : null }, ...scope.children.map(scopeNode));
}

async function typeset(/** @type {Element} */ node) {
  const source = node.getAttribute('data-tex') ?? '';
  if (source.length > longestFormula || node.childElementCount > 0) return;
  formulas ??= import('../vendor/katex.js').then(() => styleSheet('vendor/katex.css'));
  await formulas.catch(() => null);
  const { katex } = /** @type {any} */ (globalThis);
  if (!katex || !node.isConnected) return;
  const shown = el('span');
  katex.render(source, shown, { displayMode: node.classList.contains('display'), trust: false, throwOnError: false, maxExpand: 1000, maxSize: 20 });
  if (!shown.querySelector('.katex-error')) node.replaceChildren(...shown.childNodes);
}
