// Single lines of Markdown: what they begin with, and what is in them.

const mostColumns = 64;

/** @typedef {import('./markdown.js').Container} Container */

/**
 * What of a line is within an open block; null: the line is outside.
 * @param {Container} container @param {string} line
 */
export function within(container, line) {
  if (container.kind === 'quote') {
    const m = /^ {0,3}> ?/.exec(line);
    return m ? line.slice(m[0].length) : null;
  }
  if (container.kind !== 'item' || line.trim() === '') return line;
  const indent = indentOf(line);
  return indent >= container.base + 2 ? line.slice(Math.min(indent, container.offset)) : null;
}

/** @typedef {{ mark: string, number: number, base: number, offset: number }} Marker */

/**
 * The mark of a list item that a line begins with. base is its indentation,
 * offset that of what follows it, number -1 where there is none.
 * @param {string} line
 * @returns {Marker | null}
 */
export function marker(line) {
  const m = /^( *)(?:([-*+])|(\d{1,9})([.)]))( {1,4}|$)/.exec(line);
  if (!m) return null;
  return { mark: m[2] ?? m[4], number: m[3] ? Number(m[3]) : -1, base: m[1].length, offset: m[0].length };
}

/** @param {string} line */
export const isRule = (line) => /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/.test(line);

/** @param {string} line */
export const beginsBlock = (line) => /^ *(?:>|#{1,6}(?: |$)|`{3}|~{3})/.test(line) || isRule(line) || marker(line) !== null;

/** @param {string} line */
export const indentOf = (line) => line.length - line.trimStart().length;

/**
 * A heading may have marks at its end too.
 * @param {string} title
 */
export function withoutMarks(title) {
  const trimmed = title.trim();
  let end = trimmed.length;
  while (trimmed[end - 1] === '#') end--;
  return end === 0 || trimmed[end - 1] === ' ' ? trimmed.slice(0, end).trimEnd() : trimmed;
}

/**
 * The cells of a table's row. A bar in code or after a backslash is none.
 * @param {string} line
 */
export function cells(line) {
  /** @type {string[]} */
  const found = [];
  let cell = '';
  let code = false;
  const row = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  for (let i = 0; i < row.length && found.length < mostColumns; i++) {
    if (row[i] === '`') code = !code;
    if (row[i] === '\\' && row[i + 1] === '|') cell += row[++i];
    else if (row[i] !== '|' || code) cell += row[i];
    else {
      found.push(cell.trim());
      cell = '';
    }
  }
  return [...found, cell.trim()];
}

/**
 * Where to cut a text before a limit: after a space if there is one near, and
 * never within a code point.
 * @param {string} s @param {number} limit
 */
export function cutBefore(s, limit) {
  const space = s.lastIndexOf(' ', limit - 1);
  if (space > limit - 256 && space > 0) return space + 1;
  const code = s.charCodeAt(limit - 1);
  return code >= 0xd800 && code < 0xdc00 ? limit - 1 : limit;
}
