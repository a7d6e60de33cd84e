// marked's tokens become nodes here. What dom.js does not know to make is not made:
// HTML, and any token without a case below, is shown as text.

import { attribute, copyText, el, link, text } from './dom.js';

const unseen = ['checkbox', 'def', 'space']; // list_item has a box for the first

/** @type {WeakMap<Node, { token: Token, last: boolean }>} what a node was drawn from */
const drawn = new WeakMap();

/** Draws blocks as the children of parent after the first kept ones. Nodes that would be the same stay, and code grows in place: a reader may be at work in them. @param {Node} parent @param {Token[]} tokens @param {number} [kept] */
export function draw(parent, tokens, kept = 0) {
  let at = kept;
  const shown = tokens.filter((t) => !unseen.includes(t.type));
  for (const [i, token] of shown.entries()) {
    const node = parent.childNodes[at++];
    const last = i === shown.length - 1; // and may be drawn as if it were closed
    if (!node) parent.appendChild(block(token, parent));
    else if (!same(node, token, last)) parent.replaceChild(block(token, parent), node);
    drawn.set(parent.childNodes[at - 1], { token, last });
  }
  while (parent.childNodes.length > at) parent.removeChild(/** @type {Node} */ (parent.lastChild));
}

/** Whether a node shows a token, perhaps after a change. @param {Node} node @param {Token} token @param {boolean} last */
function same(node, token, last) {
  const before = drawn.get(node);
  if (!before || shape(before.token) !== shape(token)) return false;
  if (!last && !before.last && before.token.raw === token.raw) return true;
  if (token.type === 'lines') return grow(/** @type {Text} */ (node.firstChild), before.token, token);
  const inside = parts(token);
  if (inside.length > 0) draw(holder(node, token), inside);
  return inside.length > 0;
}

const shape = (/** @type {Token} */ token) => [token.type, token.ordered, token.start, token.lang, token.task, token.midLine, token.header?.map((/** @type {Token} */ c) => c.text)].join();

function grow(/** @type {Text} */ node, /** @type {Token} */ before, /** @type {Token} */ token) {
  if (!token.text.startsWith(before.text)) return false;
  node.appendData(text(token.text.slice(before.text.length)).data);
  return true;
}

/** The blocks within a block. @param {Token} token @param {boolean} [midLine]  it goes on in the middle of a line @returns {Token[]} */
export function parts(token, midLine = false) {
  switch (token.type) {
    case 'blockquote': return token.tokens ?? [];
    case 'code': // '' has no line, and a line feed at the end is one too many
      return token.text ? [{ type: 'lines', raw: token.raw, text: token.text.replace(/\n$/, ''), midLine }] : [];
    case 'list': return token.items;
    case 'list_item': return [...(token.task ? [{ type: 'box', raw: '', checked: token.checked }] : []), ...(token.tokens ?? [])];
    case 'table': return token.rows.map((/** @type {Token[]} */ cells) => ({ type: 'row', raw: cells.map((c) => c.text).join('|'), cells }));
  }
  return [];
}

/** The node that holds the nodes of a block's parts. @param {Node} node @param {Token} token @returns {Node} */
export function holder(node, token) {
  switch (token.type) {
    case 'code': return /** @type {Node} */ (node.lastChild);
    case 'table': return /** @type {Node} */ (node.firstChild?.lastChild);
  }
  return node;
}

function block(/** @type {Token} */ token, /** @type {Node} */ parent) {
  const node = shell(token);
  if (token.type === 'row') steer(/** @type {HTMLTableElement} */ (parent.parentNode), token.cells);
  // An item or a quote has one direction, as its marker or bar has one side. It is that of
  // its text, and a browser looks past text whose own direction is given.
  if (/^(?:li|blockquote)$/i.test(/** @type {Element} */ (parent).tagName) && /^(?:p|h\d)$/i.test(node.tagName)) attribute(node, 'dir', null);
  const inside = parts(token);
  if (inside.length > 0) draw(holder(node, token), inside);
  return node;
}

/** The direction of a row, by its first letter that has one; null: it has none. A browser with dir=auto would look through the whole table at each row that comes. @param {Token[]} cells */
function direction(cells) {
  const [letter] = /\p{L}/u.exec(cells.map((c) => c.text).join(' ')) ?? [];
  return letter ? (/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter) ? 'rtl' : 'ltr') : null;
}

/** Gives a table whose rows so far have no direction that of one more. @param {HTMLTableElement} table @param {Token[]} cells */
function steer(table, cells) {
  if (!table.dir) attribute(table, 'dir', direction(cells));
}

/** The node of a block without its parts. @param {Token} token @returns {HTMLElement} */
function shell(token) {
  switch (token.type) {
    case 'blockquote': return el('blockquote', { dir: 'auto' });
    case 'box': return checkbox(token.checked);
    case 'code': return code(token.lang);
    case 'footnote': return el('p', { class: 'footnote', dir: 'auto' }, el('sup', {}, token.label), ' ', ...inlines(token.tokens));
    case 'heading': return el(/** @type {'h3'} */ (`h${Math.min(token.depth + 2, 6)}`), { dir: 'auto' }, ...inlines(token.tokens));
    case 'hr': return el('hr');
    case 'lines': return el('code', { class: token.midLine ? 'more' : null }, text(token.text));
    case 'list': return token.ordered ? el('ol', { start: token.start === 1 ? null : token.start }) : el('ul');
    case 'list_item': return el('li', { class: token.task ? 'task' : null, dir: 'auto' });
    case 'math': return el('p', { class: 'formula' }, formula(token));
    case 'paragraph': case 'text': return el('p', { dir: 'auto' }, ...inlines(token.tokens));
    case 'row': return row('td', token.cells);
    case 'table': return el('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'Table' }, el('table', { dir: direction(token.header) }, el('thead', {}, row('th', token.header)), el('tbody')));
  }
  return el('p', { dir: 'auto' }, token.raw.trimEnd());
}

function checkbox(/** @type {boolean} */ checked) {
  const box = el('input', { type: 'checkbox', disabled: true, 'aria-label': checked ? 'done' : 'not done' });
  box.checked = checked;
  return box;
}

/** @param {string} [info]  what stands behind the fence */
function code(info) {
  const pre = el('pre', { tabindex: 0, dir: 'ltr' });
  const whole = () => Array.from(pre.children, (c, i) => (i === 0 || c.className === 'more' ? '' : '\n') + c.textContent).join('');
  return el('div', { class: 'code' },
    el('div', { class: 'code-head' }, el('span', {}, info?.split(/[\s{]/)[0] || 'code'), copyButton(whole)), pre);
}

function copyButton(/** @type {() => string} */ get) {
  const button = el('button', { type: 'button', class: 'plain', title: 'Copy this code' }, 'Copy');
  button.addEventListener('click', async () => {
    button.textContent = (await copyText(get())) ? 'Copied' : 'Not copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return button;
}

/** A formula as its source, until it is set. @param {Token} token */
const formula = (token) => el('span', { class: token.display ? 'math display' : 'math', 'data-tex': token.text, tabindex: token.display ? 0 : null, role: token.display ? 'math' : null, 'aria-label': token.display ? token.text : null }, token.raw.trim());

const row = (/** @type {'th' | 'td'} */ tag, /** @type {Token[]} */ cells) => el('tr', {}, ...cells.map((c) =>
  el(tag, { class: c.align === 'left' ? null : c.align, scope: tag === 'th' ? 'col' : null }, ...inlines(c.tokens))));

/** @param {Token[]} [tokens] @param {boolean} [inLink]  links do not nest @returns {Node[]} */
function inlines(tokens = [], inLink = false) {
  /** @type {Node[]} */
  const nodes = [];
  let words = ''; // of tokens that share a node
  for (const token of tokens) {
    const node = inline(token, inLink);
    if (typeof node === 'string') words += node;
    if (typeof node === 'string') continue;
    if (words) nodes.push(text(words));
    words = '';
    nodes.push(node);
  }
  return words ? [...nodes, text(words)] : nodes;
}

function inline(/** @type {Token} */ token, /** @type {boolean} */ inLink) {
  switch (token.type) {
    case 'br': return el('br');
    case 'checkbox': return '';
    case 'codespan': return el('code', {}, token.text);
    case 'del': case 'em': case 'strong': return el(token.type, {}, ...inlines(token.tokens, inLink));
    case 'escape': return token.text;
    case 'image': return image(token, inLink);
    case 'link': return anchor(token, inLink);
    case 'math': return formula(token);
    case 'reference': return el('sup', { class: 'reference' }, token.label);
    case 'text': return token.tokens ? el('span', {}, ...inlines(token.tokens, inLink)) : plain(token.text);
  }
  return token.raw;
}

/** An address that stands for itself is its own label. @param {Token} token @param {boolean} inLink */
function anchor(token, inLink) {
  if (inLink) return el('span', {}, ...inlines(token.tokens, true));
  return token.autolink ? link(token.href) : link(plain(token.href), ...inlines(token.tokens, true));
}

/** A picture is never fetched: a link leads to it, which names its place. @param {Token} token @param {boolean} inLink */
function image(token, inLink) {
  const address = plain(token.href);
  const host = URL.canParse(address) ? new URL(address).host : '';
  const words = `Picture${host ? ` on ${host}` : ''}${token.text ? `: ${token.text}` : ''}`;
  if (inLink || !host) return text(words);
  const node = link(address);
  node.textContent = text(words).data;
  return node;
}

/** @type {Record<string, string>} the references to characters that models write; others stay as they are */
const characters = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', hellip: '…', ndash: '–', mdash: '—', larr: '←', rarr: '→', times: '×', copy: '©' };

const plain = (/** @type {string} */ s) => s.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
  if (name) return Object.hasOwn(characters, name) ? characters[name] : whole;
  const code = decimal ? Number(decimal) : parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : '\ufffd';
});
