// A message of WhatsApp as WhatsApp shows it: it hides the marks, and shows what they mark.

import { el, text } from './dom.js';

/** @type {Record<string, 'strong' | 'em' | 'del'>} */
const tags = { '*': 'strong', _: 'em', '~': 'del' };

// A mark stands at the edge of a word on its outside and beside no space on its inside. The
// gateway puts a word joiner, which is not shown, behind what is to be read as it is.
const span = /(?<![\p{L}\p{N}])(?:`(?!\u2060)([^`\n]+)`|([*_~])(?![\s\u2060])(.+?)(?<=\S)\2)(?![\p{L}\p{N}\u2060])/u;

/** @param {string} message @returns {Node[]} */
export function marked(message) {
  return message.split(/^```\n?([^]*?)\n?```$/m).flatMap((piece, i) => (i % 2 > 0 ? [el('code', { class: 'fence' }, piece)] : quoted(i > 0 ? piece.replace(/^\n/, '') : piece)));
}

/** @param {string} piece  without fences */
function quoted(piece) {
  return piece.split(/^((?:> .*(?:\n|$))+)/m).flatMap((lines, i) =>
    (i % 2 > 0 ? [el('blockquote', {}, ...spans(lines.replace(/^> /gm, '').trimEnd()))] : spans(lines)));
}

/** @param {string} s @returns {Node[]} */
function spans(s) {
  const nodes = [];
  for (let found = span.exec(s); found; found = span.exec(s)) {
    const [whole, code, mark, inside] = found;
    nodes.push(text(s.slice(0, found.index)), code ? el('code', {}, code) : el(tags[mark], {}, ...spans(inside)));
    s = s.slice(found.index + whole.length);
  }
  return s ? [...nodes, text(s)] : nodes;
}
