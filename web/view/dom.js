// Elements are made here. What the gateway, a model or a tool says becomes text,
// never markup.

const SVG = 'http://www.w3.org/2000/svg';

// An attribute that is not named here cannot be set: no handler, no style, and no
// address, which only link gives.
const allowed = /^(?:aria-[a-z]+|data-[a-z-]+|class|colspan|dir|disabled|for|height|hidden|id|max|maxlength|name|open|placeholder|preserveAspectRatio|role|rx|scope|start|tabindex|title|type|value|viewBox|width|x|y|d)$/;

/**
 * @param {Element} node
 * @param {string} name
 * @param {string | number | boolean | null | undefined} value  false, null and undefined remove it
 */
export function attribute(node, name, value) {
  if (!allowed.test(name)) throw new Error(`attribute ${name} is not allowed`);
  if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : String(value));
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const name in attributes) attribute(node, name, attributes[name]);
  fill(node, children);
  return node;
}

/**
 * @param {string} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) attribute(node, name, attributes[name]);
  fill(node, children);
  return node;
}

/** @param {Node} node @param {Child[]} children */
function fill(node, children) {
  for (const child of children) {
    if (child) node.appendChild(typeof child === 'string' ? text(child) : child);
  }
}

/**
 * Puts children in the place of all that node holds.
 * @param {Element} node
 * @param {...Child} children
 */
export function set(node, ...children) {
  node.replaceChildren();
  fill(node, children);
}

/** @param {string} s */
export const text = (s) => document.createTextNode(visible(s));

/**
 * Characters that turn the direction of what follows could make a text, a link or
 * a file name read as another one. They are written out instead.
 * @param {string} s
 */
export const visible = (s) =>
  s.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`);

/**
 * A link that says where it leads, or the text alone if that is not a web or mail
 * address. Nothing is asked of the place before a click.
 * @param {string} address
 * @param {...Node} label  none: the address itself
 */
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

/**
 * A frame that shows a document which may run, load and send nothing: it has an origin
 * of its own and no rights. Its content policy is this page's.
 * @param {string} html
 * @param {string} title
 */
export function frame(html, title) {
  const node = el('iframe', { title, tabindex: 0 });
  node.sandbox.value = '';
  node.referrerPolicy = 'no-referrer';
  const address = URL.createObjectURL(new Blob([html], { type: 'text/html;charset=utf-8' }));
  node.addEventListener('load', () => URL.revokeObjectURL(address), { once: true });
  node.src = address;
  return node;
}

/** @param {string} id */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`there is no #${id}`);
  return node;
}

/**
 * A button that copies what get returns, and says whether it could.
 * @param {string} label
 * @param {() => string} get
 * @param {Attributes} [attributes]
 */
export function copyButton(label, get, attributes) {
  const button = el('button', { type: 'button', class: 'quiet', ...attributes }, label);
  /** @param {string} words @param {Attributes[string]} name  none: the words */
  const read = (words, name) => {
    button.textContent = words;
    attribute(button, 'aria-label', name); // speech control finds a button by the words that it shows
  };
  button.addEventListener('click', async () => {
    const done = await copy(get());
    read(done ? 'Copied' : 'Not copied', null);
    say(done ? 'Copied' : 'The browser did not allow copying');
    setTimeout(() => read(label, attributes?.['aria-label']), 1500);
  });
  return button;
}

/**
 * The clipboard of a page that came over plain http is only reachable through a
 * selection.
 * @param {string} s
 */
async function copy(s) {
  if (navigator.clipboard) return navigator.clipboard.writeText(s).then(() => true, () => false);
  const area = el('textarea', { class: 'offscreen' });
  area.value = s;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

/**
 * Announces to screen readers only.
 * @param {string} what
 */
export function say(what) {
  byId('status').textContent = what;
}
