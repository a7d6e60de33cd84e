// As much of a document as the scripts and preact need to draw, for tests without a browser.
// It counts the nodes that are made.

export let made = 0;

class Node {
  get parentElement() { return this.parentNode; }
  parentNode = null;
  childNodes = [];

  constructor() { made++; }

  get children() { return this.childNodes.filter((n) => n.tag); }
  get firstChild() { return this.childNodes[0] ?? null; }
  get lastChild() { return this.childNodes.at(-1) ?? null; }
  get nextSibling() { return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) + 1] ?? null; }
  get lastElementChild() { return this.children.at(-1) ?? null; }
  get childElementCount() { return this.children.length; }
  get textContent() { return this.childNodes.map((n) => n.textContent).join(''); }
  set textContent(s) { this.replaceChildren(s); }

  appendChild(node) {
    node.parentNode?.removeChild(node);
    node.parentNode = this;
    this.childNodes.push(node);
    return node;
  }

  append(...nodes) {
    for (const n of nodes) this.appendChild(typeof n === 'string' ? new Text(n) : n);
  }

  insertBefore(node, before) {
    if (!before) return this.appendChild(node);
    node.parentNode?.removeChild(node);
    const at = this.childNodes.indexOf(before);
    if (at < 0) throw new Error('no child of this node');
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }

  contains(node) {
    for (let at = node; at; at = at.parentNode) if (at === this) return true;
    return false;
  }

  removeChild(node) {
    const at = this.childNodes.lastIndexOf(node);
    if (at < 0) throw new Error('no child of this node');
    this.childNodes.splice(at, 1);
    node.parentNode = null;
  }

  replaceChild(node, old) {
    const at = this.childNodes.lastIndexOf(old);
    if (at < 0) throw new Error('no child of this node');
    node.parentNode?.removeChild(node);
    this.childNodes[at] = node;
    node.parentNode = this;
    old.parentNode = null;
  }

  remove() { this.parentNode?.removeChild(this); }

  replaceChildren(...nodes) {
    for (const n of this.childNodes) n.parentNode = null;
    this.childNodes = [];
    this.append(...nodes);
  }
}

class Text extends Node {
  constructor(data) {
    super();
    this.data = data;
  }

  get textContent() { return this.data; }
  get length() { return this.data.length; }
  appendData(more) { this.data += more; }
  deleteData(from, count) { this.data = this.data.slice(0, from) + this.data.slice(from + count); }
}

class Element extends Node {
  attributes = {};
  classList = { add: (name) => { this.className = name; } };

  constructor(tag) {
    super();
    this.tag = tag;
  }

  get tagName() { return this.tag.toUpperCase(); }

  get className() { return this.attributes.class ?? ''; }
  set className(name) { this.attributes.class = name; }
  before(node) { const all = this.parentNode.childNodes; node.parentNode?.removeChild(node); all.splice(all.indexOf(this), 0, node); node.parentNode = this.parentNode; }
  after(node) { const all = this.parentNode.childNodes; node.parentNode?.removeChild(node); all.splice(all.indexOf(this) + 1, 0, node); node.parentNode = this.parentNode; }
  prepend(node) { node.parentNode?.removeChild(node); this.childNodes.unshift(node); node.parentNode = this; }
  get dir() { return this.attributes.dir ?? ''; }
  setAttribute(name, value) { this.attributes[name] = value; }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener() {}
}

globalThis.matchMedia ??= () => ({ matches: true, addEventListener() {} });
globalThis.requestAnimationFrame ??= (f) => setTimeout(f, 0);
globalThis.cancelAnimationFrame ??= clearTimeout;

// Each id has an element.
globalThis.document = {
  documentElement: { dataset: {} },
  addEventListener() {},
  removeEventListener() {},
  getElementById: () => new Element('p'),
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  createTextNode: (data) => new Text(data),
};

export const root = () => new Element('root');

const quiet = ['dir', 'tabindex', 'title', 'class', 'scope', 'type', 'disabled', 'aria-label'];

/** Writes a tree as tests expect it: without what is the same everywhere. */
export function show(node) {
  if (node instanceof Text) return node.data;
  if (node.className === 'code') return show(node.children[1]);
  const attributes = Object.entries(node.attributes).filter(([name]) => !quiet.includes(name)).map(([name, value]) => ` ${name}=${value}`);
  const href = node.href ? ` href=${node.href}` : '';
  return `<${node.tag}${attributes.join('')}${href}>${node.childNodes.map(show).join('')}</${node.tag}>`;
}

/** All elements below a node. */
export function* elements(node) {
  for (const child of node.children) {
    yield child;
    yield* elements(child);
  }
}
