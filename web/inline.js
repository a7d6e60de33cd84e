// The inline part of Markdown: emphasis, code, links, breaks. The text is a
// model's and is not trusted; every scan below is bounded, so that no text costs
// more than a fixed amount a character.

import { el, link, text } from './dom.js';

const deepest = 16; // open emphases at once
const special = /[\\`*_~[!<&\n]|https?:\/\//g;
const punctuation = /[!-/:-@[-`{-~\p{P}\p{S}]/u;
const destination = /\(\s*(<[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()]{0,200}\)[^\s()]{0,200}){0,8})(?:\s+(?:"[^"]{0,300}"|'[^']{0,300}'))?\s*\)/y;
const bareAddress = /https?:\/\/[^\s<>"'`\]|]{1,2000}/y;
const angleAddress = /<(https?:\/\/[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/y;
const lineBreak = /<br ?\/?>/iy;
const entity = /&(amp|lt|gt|quot|nbsp|#39);/y;
/** @type {Record<string, string>} */
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0', '#39': "'" };
/** @type {Record<string, 'em' | 'strong' | 'del'>} */
const elements = { '*': 'em', _: 'em', '**': 'strong', __: 'strong', '~~': 'del' };

/**
 * @param {string} source
 * @param {boolean} [open]  more may follow: what is not closed yet is shown as if it were
 * @returns {Node[]}
 */
export const inline = (source, open = false) => new Inline(source, open, false).nodes();

/** @param {RegExp} sticky @param {string} s @param {number} at */
function matchAt(sticky, s, at) {
  sticky.lastIndex = at;
  return sticky.exec(s);
}

class Inline {
  /** @type {{ mark: string, nodes: Node[] }[]} the open emphases, outermost first */
  #levels = [{ mark: '', nodes: [] }];
  #plain = ''; // text that has no node yet
  /** @type {Map<number, number> | null} */
  #brackets = null;
  /** @type {Map<number, number[]> | null} */
  #ticks = null;

  /** @param {string} source @param {boolean} open @param {boolean} inLink */
  constructor(source, open, inLink) {
    this.source = source;
    this.open = open;
    this.inLink = inLink;
  }

  nodes() {
    let at = 0;
    for (;;) {
      const found = matchAt(special, this.source, at);
      if (!found) break;
      this.#plain += this.source.slice(at, found.index);
      at = this.#take(found[0], found.index);
    }
    this.#plain += this.source.slice(at);
    while (this.#levels.length > 1) this.#leave(this.open);
    this.#flush();
    return this.#levels[0].nodes;
  }

  /**
   * Takes what begins with mark at a place, and returns the place after it.
   * @param {string} mark @param {number} at
   */
  #take(mark, at) {
    switch (mark) {
      case '\\': return this.#escape(at);
      case '`': return this.#code(at);
      case '[': return this.#bracket(at, at);
      case '!': return this.source[at + 1] === '[' ? this.#bracket(at + 1, at) : this.#literal(mark, at);
      case '<': return this.#angle(at);
      case '&': return this.#entity(at);
      case '\n': return this.#newline(at);
      case '*': case '_': case '~': return this.#emphasis(mark, at);
    }
    return this.#bare(mark, at);
  }

  /** @param {string} s @param {number} at */
  #literal(s, at) {
    this.#plain += s;
    return at + s.length;
  }

  #flush() {
    if (this.#plain) this.#top().nodes.push(text(this.#plain));
    this.#plain = '';
  }

  #top() { return this.#levels[this.#levels.length - 1]; }

  /** @param {Node} node */
  #push(node) {
    this.#flush();
    this.#top().nodes.push(node);
  }

  /** @param {number} at */
  #escape(at) {
    const next = this.source[at + 1];
    if (next === '\n') {
      this.#push(el('br'));
      return at + 2;
    }
    return next && /[!-/:-@[-`{-~]/.test(next) ? this.#literal(next, at + 1) : this.#literal('\\', at);
  }

  /** @param {number} at */
  #entity(at) {
    const m = matchAt(entity, this.source, at);
    if (!m) return this.#literal('&', at);
    this.#plain += entities[m[1]];
    return at + m[0].length;
  }

  /** @param {number} at */
  #newline(at) {
    if (this.#plain.endsWith('  ')) {
      this.#plain = this.#plain.trimEnd();
      this.#push(el('br'));
    } else {
      this.#plain += '\n';
    }
    return at + 1;
  }

  /**
   * HTML is text. Only a line break is understood: models write it into tables.
   * @param {number} at
   */
  #angle(at) {
    const br = matchAt(lineBreak, this.source, at);
    if (br) {
      this.#push(el('br'));
      return at + br[0].length;
    }
    const m = this.inLink ? null : matchAt(angleAddress, this.source, at);
    if (!m) return this.#literal('<', at);
    this.#push(link(m[1].includes('://') ? m[1] : `mailto:${m[1]}`));
    return at + m[0].length;
  }

  /** @param {string} mark @param {number} at */
  #bare(mark, at) {
    const m = matchAt(bareAddress, this.source, at);
    if (!m || this.inLink || /\w/.test(this.source[at - 1] ?? '')) return this.#literal(mark, at);
    const address = withoutEnd(m[0]);
    this.#push(link(address));
    return at + address.length;
  }

  /** @param {number} at */
  #code(at) {
    let end = at;
    while (this.source[end] === '`') end++;
    const length = end - at;
    let close = this.#closingTicks(length, end);
    if (close < 0) {
      if (!this.open) return this.#literal(this.source.slice(at, end), at);
      close = this.source.length;
    }
    const inside = this.source.slice(end, close).replaceAll('\n', ' ');
    const spaced = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '';
    if (inside) this.#push(el('code', {}, spaced ? inside.slice(1, -1) : inside));
    return Math.min(close + length, this.source.length);
  }

  /**
   * Where the next run of so many backticks is, or -1. All runs are looked up once.
   * @param {number} length @param {number} after
   */
  #closingTicks(length, after) {
    if (!this.#ticks) {
      this.#ticks = new Map();
      for (const m of this.source.matchAll(/`+/g)) {
        const places = this.#ticks.get(m[0].length);
        if (places) places.push(m.index);
        else this.#ticks.set(m[0].length, [m.index]);
      }
      for (const places of this.#ticks.values()) places.reverse();
    }
    const places = this.#ticks.get(length) ?? [];
    while (places.length > 0 && places[places.length - 1] < after) places.pop();
    return places.at(-1) ?? -1;
  }

  /**
   * A link, or an image, which is shown as a link and never fetched.
   * @param {number} at of the bracket
   * @param {number} from where the whole begins: an image has a ! before it
   */
  #bracket(at, from) {
    const image = from < at;
    const start = this.source.slice(from, at + 1);
    const close = this.inLink ? undefined : this.#closing(at);
    if (close === undefined) return this.open && !this.inLink ? at + 1 : this.#literal(start, from);
    const label = this.source.slice(at + 1, close);
    const m = matchAt(destination, this.source, close + 1);
    const coming = this.open && !m && this.source[close + 1] === '(' && !/[\s)]/.test(this.source.slice(close + 2));
    if (!m && !coming) return this.#literal(start, from);
    const shown = image ? [text(label ? `Image: ${label}` : 'Image')] : new Inline(label, false, true).nodes();
    if (!m) { // its address is still arriving
      this.#push(el('span', {}, ...shown));
      return this.source.length;
    }
    this.#push(link(m[1].replace(/^<|>$/g, ''), ...shown));
    return close + 1 + m[0].length;
  }

  /** @param {number} at */
  #closing(at) {
    if (!this.#brackets) {
      this.#brackets = new Map();
      const waiting = [];
      for (const m of this.source.matchAll(/\\.|[[\]]/g)) {
        if (m[0] === '[') waiting.push(m.index);
        const start = m[0] === ']' ? waiting.pop() : undefined;
        if (start !== undefined) this.#brackets.set(start, m.index);
      }
    }
    return this.#brackets.get(at);
  }

  /** @param {string} mark @param {number} at */
  #emphasis(mark, at) {
    let end = at;
    while (this.source[end] === mark) end++;
    if (this.open && end === this.source.length) return end; // half a mark, or one that closes what is closed below anyway
    const { opens, closes } = flanks(mark, this.source[at - 1] ?? ' ', this.source[end] ?? ' ');
    let left = end - at;
    while (closes && left > 0) {
      const taken = this.#close(mark, left);
      if (taken === 0) break;
      left -= taken;
    }
    while (left > 3 || (left > 0 && !opens)) left -= this.#literal(mark, 0);
    while (left > 0) left -= this.#enter(mark.repeat(Math.min(left, 2)));
    return end;
  }

  /** @param {string} mark */
  #enter(mark) {
    if (this.#levels.length > deepest || !elements[mark]) return this.#literal(mark, 0);
    this.#flush();
    this.#levels.push({ mark, nodes: [] });
    return mark.length;
  }

  /**
   * Closes the innermost emphasis that the mark, so many times, can close.
   * @param {string} mark @param {number} length
   * @returns {number} how many it took
   */
  #close(mark, length) {
    for (let i = this.#levels.length - 1; i > 0; i--) {
      const open = this.#levels[i].mark;
      if (open[0] !== mark || open.length > length) continue;
      while (this.#levels.length > i + 1) this.#leave(false);
      this.#leave(true);
      return open.length;
    }
    return 0;
  }

  /** @param {boolean} closed  otherwise its mark was a text */
  #leave(closed) {
    this.#flush();
    const level = this.#levels.pop();
    if (!level) return;
    const into = this.#top().nodes;
    if (!closed) into.push(text(level.mark), ...level.nodes);
    else if (level.nodes.length > 0) into.push(el(elements[level.mark], {}, ...level.nodes));
  }
}

/**
 * The rule of CommonMark for what a run of marks may open and close.
 * @param {string} mark @param {string} before @param {string} after
 */
function flanks(mark, before, after) {
  const space = [/\s/.test(before), /\s/.test(after)];
  const sign = [punctuation.test(before), punctuation.test(after)];
  const left = !space[1] && (!sign[1] || space[0] || sign[0]);
  const right = !space[0] && (!sign[0] || space[1] || sign[1]);
  if (mark !== '_') return { opens: left, closes: right };
  return { opens: left && (!right || sign[0]), closes: right && (!left || sign[1]) };
}

/**
 * Signs at the end of an address belong to the sentence.
 * @param {string} address
 */
function withoutEnd(address) {
  let end = address.length;
  while (end > 0 && '.,;:!?*_~)'.includes(address[end - 1])) {
    if (address[end - 1] === ')' && address.slice(0, end).includes('(')) break;
    end--;
  }
  return address.slice(0, end);
}
