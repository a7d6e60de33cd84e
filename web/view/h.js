// Elements of the views. A text from elsewhere becomes text and never markup, and an attribute that
// is not named here cannot be set: no style, no markup, and no address of another place.

import { h as make } from '../vendor/preact.js';
import { visible } from './dom.js';

const allowed = /^(?:aria-[a-z]+|data-[a-z-]+|on[A-Z][A-Za-z]+|key|ref|class|role|id|hidden|inert|dir|lang|title|type|value|checked|selected|disabled|name|for|placeholder|rows|tabindex|autocomplete|autocapitalize|spellcheck|maxlength|min|max|step|inputmode|enterkeyhint|open|scope|colspan|label|href|download|viewBox|width|height|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|d|points|fill|stroke|stroke-[a-z]+|preserveAspectRatio)$/;
const own = /^(?:[#?][\w=.-]*|[a-z]+(?:\.yaml)?)$/; // addresses of the page

/** @template P @param {string | ((props: any) => Child)} tag @param {P | null} [props] @param {...Child} children */
export function h(tag, props, ...children) {
  if (typeof tag !== 'string' || !props) return make(tag, props ?? null, ...children.map(shown));
  /** @type {Record<string, any>} */
  const checked = {};
  for (const [name, value] of Object.entries(props)) {
    if (!allowed.test(name)) throw new Error(`attribute ${name} is not allowed`);
    if (name === 'href' && !own.test(value)) throw new Error(`address ${value} is not allowed`);
    checked[name] = name === 'title' || name === 'aria-label' ? visible(String(value ?? '')) || undefined : value;
  }
  return make(tag, checked, ...children.map(shown));
}

/** @param {Child} child @returns {Child} */
const shown = (child) => (typeof child === 'string' ? visible(child) : Array.isArray(child) ? child.map(shown) : child);
