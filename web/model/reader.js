// Markdown into tokens. marked does it; here is what it must not do for a text that
// anyone may have written: take HTML for markup, nest without end, or think for long.

import { getDefaults, Lexer, Tokenizer } from '../vendor/marked.js';
import { closed } from './unfinished.js';

const deepestBlock = 12; // quotes and list items within each other
const deepestMark = 16; // emphases and links within each other
const mostMarks = 512; // in one paragraph: marked's time grows with their square
const mostDefinitions = 200; // of links, in the whole text: each is looked for in every paragraph
const mostColumns = 64; // each row of a table has as many cells as its head

/** @param {string} source @param {Links} links  the definitions known so far; gains those of source @param {boolean} open  the text is not complete: what it leaves open is read as if it were closed @returns {Token[]} */
export function read(source, links, open) {
  try {
    return new Reader(links).read(source, open);
  } catch { // a fault in marked, or too deep for the stack
    return [paragraph(source)];
  }
}

/** @param {string} source @returns {Token} */
const words = (source) => ({ type: 'text', raw: source, text: source });

/** @param {string} source @returns {Token} */
const paragraph = (source) => ({ ...words(source), type: 'paragraph', tokens: [words(source)] });

/** HTML is text. Only a line break is understood: models write it into tables. */
class PlainTokenizer extends Tokenizer {
  html() { return undefined; }

  /** @param {string} source @returns {any} the type allows for HTML only */
  tag(source) {
    const [raw] = /^<br ?\/?>/i.exec(source) ?? [];
    return raw ? { type: 'br', raw } : undefined;
  }

  def(/** @type {string} */ source) {
    const token = super.def(source);
    return token && Object.keys(this.lexer.tokens.links).length < mostDefinitions ? token : undefined;
  }

  table(/** @type {string} */ source) {
    return source.split('\n', 1)[0].split('|').length > mostColumns + 2 ? undefined : super.table(source);
  }
}

// Mathematics and footnotes, which are looked for before marked sees a backslash. "$5 and $6" is money:
// within the marks of a formula there is no space at an edge, and no digit behind them.
const display = /^ {0,3}(?:\$\$((?:\\.|[^\\$]){1,4000}?)\$\$|\\\[((?:[^\\]|\\(?!\])){1,4000}?)\\\])/;
const inline = /^(?:\$(?![\s$])((?:\\.|[^\\$\n]){1,4000}?)(?<![\s])\$(?![\w{$])|\\\(((?:[^\\\n]|\\(?!\))){1,4000}?)\\\))/;
const note = /^\[\^([^\]\s^]{1,40})\]:[ \t]+(.*(?:\n(?!\[\^|[ \t]*(?:\n|$)).*)*)(?:\n|$)/;
const reference = /^\[\^([^\]\s^]{1,40})\]/;

/** @param {RegExp} form @param {boolean} isDisplay @param {boolean} isBlock @returns {(source: string) => any} */
const formula = (form, isDisplay, isBlock) => (source) => {
  const found = form.exec(source);
  if (!found || isBlock && !/^[ \t]*(?:\n|$)/.test(source.slice(found[0].length))) return undefined;
  const raw = isBlock ? found[0] + (/^[ \t]*\n?/.exec(source.slice(found[0].length))?.[0] ?? '') : found[0];
  return { type: 'math', raw, text: (found[1] ?? found[2]).trim(), display: isDisplay };
};

/** @this {{ lexer: Lexer }} @param {string} source @returns {any} */
function footnote(source) {
  const found = note.exec(source);
  return found ? { type: 'footnote', raw: found[0], label: found[1], text: found[2], tokens: this.lexer.inline(found[2], []) } : undefined;
}

/** @param {string} source @returns {any} */
function footnoteMark(source) {
  const found = reference.exec(source);
  return found ? { type: 'reference', raw: found[0], label: found[1] } : undefined;
}

/** @type {any} the form that marked's options have */
const extensions = {
  block: [formula(display, true, true), footnote],
  inline: [formula(display, true, false), formula(inline, false, false), footnoteMark],
  startBlock: [(/** @type {string} */ s) => s.search(/\n {0,3}(?:\$\$|\\\[)|\n\[\^/) + 1 || -1],
  startInline: [(/** @type {string} */ s) => s.search(/\$|\\[([]|\[\^/)],
  childTokens: {}, renderers: {},
};

class Reader extends Lexer {
  #blocks = 0; // the depth that has been reached
  #marks = 0;

  constructor(/** @type {Links} */ links) {
    super({ ...getDefaults(), tokenizer: new PlainTokenizer(), extensions });
    this.tokens.links = links;
  }

  read(/** @type {string} */ source, /** @type {boolean} */ open) {
    this.blockTokens(source, this.tokens);
    const queue = this.inlineQueue; // of the paragraphs and the like, in their order
    for (const [i, { src: text, tokens }] of queue.entries()) {
      const unfinished = open && i === queue.length - 1 && source.trimEnd().endsWith(text.slice(text.lastIndexOf('\n') + 1).trim());
      this.inlineTokens(unfinished ? closed(text) : text, tokens);
    }
    return this.tokens;
  }

  /** @override @param {string} source @param {Token[]} [tokens] @param {boolean} [clipped] @returns {any} the same as in Lexer, where it is overloaded */
  blockTokens(source, tokens = [], clipped) {
    if (this.#blocks < deepestBlock) {
      this.#blocks++;
      super.blockTokens(source, tokens, clipped);
      this.#blocks--;
    } else {
      tokens.push(paragraph(source));
    }
    return tokens;
  }

  /** @override @param {string} source @param {Token[]} [tokens] */
  inlineTokens(source, tokens = []) {
    const crowded = this.#marks === 0 && (source.match(/\*+|_+|~+|\$+|[![<@]/g)?.length ?? 0) > mostMarks;
    if (!crowded && this.#marks < deepestMark) {
      this.#marks++;
      super.inlineTokens(source, tokens);
      this.#marks--;
    } else {
      tokens.push(words(source));
    }
    return tokens;
  }
}
