// Elements are made here. A text of the gateway, a model or a tool becomes text,
// never markup.

const SVG = 'http://www.w3.org/2000/svg';

// An attribute that is not named here cannot be set: no handler, no style, and no
// address, which only link gives.
const allowed = /^(?:aria-[a-z]+|data-[a-z-]+|class|colspan|dir|disabled|for|height|hidden|id|max|maxlength|name|open|placeholder|preserveAspectRatio|role|rx|scope|start|tabindex|title|type|value|viewBox|width|x|y|d)$/;

/** @param {Element} node @param {string} name @param {string | number | boolean | null | undefined} value  false, null and undefined remove it */
export function attribute(node, name, value) {
  if (!allowed.test(name)) throw new Error(`attribute ${name} is not allowed`);
  if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : String(value));
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */
/** @typedef {Node | string | null | undefined | false} Child */

/** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children @returns {HTMLElementTagNameMap[K]} */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const name in attributes) attribute(node, name, attributes[name]);
  fill(node, children);
  return node;
}

/** @param {string} tag @param {Attributes} attributes @param {...Child} children */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) attribute(node, name, attributes[name]);
  fill(node, children);
  return node;
}

/** Has the browser save a text as a file. @param {string} name @param {string} content  JSON */
export function save(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/json' }));
  const a = el('a', { hidden: true });
  a.href = address;
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // a person may be asked for a place
}

/** Loads a style sheet of the page. @param {string} address @returns {Promise<void>} */
export function styleSheet(address) {
  return new Promise((resolve, reject) => {
    const link = el('link');
    link.rel = 'stylesheet';
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', reject);
    link.href = address;
    document.head.append(link);
  });
}

const sheet = typeof CSSStyleSheet === 'undefined' ? null : new CSSStyleSheet();

/** Sets the width of Developer. @param {number} pixels */
export function setWidth(pixels) {
  if (!sheet) return;
  sheet.replaceSync(`:root { --developer: ${Math.round(pixels)}px }`);
  document.adoptedStyleSheets = [sheet];
}

function fill(/** @type {Node} */ node, /** @type {Child[]} */ children) {
  for (const child of children) {
    if (child) node.appendChild(typeof child === 'string' ? text(child) : child);
  }
}

/** Puts children in the place of all that node holds. @param {Element} node @param {...Child} children */
export function set(node, ...children) {
  node.replaceChildren();
  fill(node, children);
}

export const text = (/** @type {string} */ s) => document.createTextNode(visible(s));

/** Characters that turn the direction of what follows could make a text, a link or a file name read as another one. They are written out instead. @param {string} s */
export const visible = (s) =>
  s.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`);

/** A link that says where it leads, or the text alone if that is not a web or mail address. Nothing is asked of the place before a click. @param {string} address @param {...Node} label  none: the address itself */
export function link(address, ...label) {
  const target = URL.canParse(address) ? new URL(address) : null;
  if (!target || !['http:', 'https:', 'mailto:'].includes(target.protocol)) {
    return el('span', {}, ...label, label.length > 0 ? ` (${address})` : address);
  }
  const a = el('a', { title: target.href }, ...label);
  a.href = target.href;
  a.rel = 'noopener noreferrer nofollow';
  a.target = '_blank';
  a.referrerPolicy = 'no-referrer';
  const place = target.host || target.pathname;
  if (label.length === 0) {
    a.append(visible(target.protocol === 'mailto:' ? target.pathname : address));
    return a;
  }
  return el('span', { class: 'link' }, a, el('bdi', { class: 'host' }, ` (${place})`));
}

/** A frame that shows a document which may run, load and send nothing: it has an origin of its own and no rights. Its content policy is this page's. @param {string} html @param {string} title */
export function frame(html, title) {
  const node = el('iframe', { title, tabindex: 0 });
  node.sandbox.value = '';
  node.referrerPolicy = 'no-referrer';
  const address = URL.createObjectURL(new Blob([html], { type: 'text/html;charset=utf-8' }));
  node.addEventListener('load', () => URL.revokeObjectURL(address), { once: true });
  node.src = address;
  return node;
}

/** The clipboard of a page that came over plain http is only reachable through a selection. @param {string} s */
export async function copyText(s) {
  if (navigator.clipboard) return navigator.clipboard.writeText(s).then(() => true, () => false);
  const area = el('textarea', { class: 'off' });
  area.value = s;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
