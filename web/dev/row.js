// One row of a trace: what it is, when it was, and of a model's call what came of it.

import { gist, isModel } from './detail.js';
import { el, svg, visible } from '../view/dom.js';
import { span } from '../words.js';

/** @typedef {import('../model/timeline.js').Row} Row */
/** @typedef {import('../model/timeline.js').Scale} Scale */

/**
 * A row of a trace, as it is drawn.
 * @param {Row} row @param {Scale} scale
 */
export function item(row, scale) {
  const { kind, name, level, status, lane, lanes } = row;
  return el('div', {
    class: 'trace-row', role: 'treeitem', tabindex: -1, 'aria-level': level, 'aria-selected': 'false', 'data-testid': 'trace-row', 'data-kind': kind,
    'data-level': Math.min(level, 8), 'data-status': status || null, 'data-lane': lanes > 1 ? ((lane - 1) % 4) + 1 : null,
  },
  el('span', { class: 'what', title: visible(name) }, el('span', { class: 'twist', 'aria-hidden': 'true' }), el('span', { class: 'name', dir: 'auto' }, name), ...badges(row)),
  unseen(`, from ${span(row.from)} on, `), track(row, scale),
  el('span', { class: 'ms' }, row.open ? 'runs' : row.ms === 0 ? unseen('a moment') : span(row.ms)),
  isModel(row) && row.step && gist(row.step) !== '' ? el('span', { class: 'gist', title: gist(row.step) }, unseen(', '), gist(row.step)) : null);
}

/** @param {string} words  for those who do not see the picture */
const unseen = (words) => el('span', { class: 'offscreen' }, words);

/** @type {Record<string, string>} */
const signs = { error: '✕ ', warning: '▲ ' };

/**
 * What is to be seen of a row at once. Words that would leave the name no room are in its
 * details.
 * @param {Row} row @returns {Node[]}
 */
function badges({ status, word, lanes, lane, step, call }) {
  const list = [];
  if (!call && step?.attempt && step.attempt > 1) list.push(unseen(', attempt '), el('span', { class: 'badge', title: `Attempt ${step.attempt}` }, `#${step.attempt}`));
  if (lanes > 1) {
    list.push(unseen(`, lane ${lane} of ${lanes}`), el('span', { class: 'badge lane', title: `At the same time as others: lane ${lane} of ${lanes}`, 'aria-hidden': 'true' }, `∥${lane}`));
  }
  if (word) {
    const short = word.length <= 7;
    list.push(unseen(short ? ', ' : `, ${word}`), el('span', { class: `badge ${status}`, title: word, 'aria-hidden': short ? null : 'true' },
      el('span', { 'aria-hidden': 'true' }, signs[status] ?? (short ? '' : '·')), short ? word : ''));
  }
  return list;
}

/** @param {Row} row @param {Scale} scale */
function track(row, scale) {
  const { kind, from, ms, open, status } = row;
  const x = Math.min(scale.at(from), 99.5);
  const to = open ? 100 : scale.at(from + ms);
  return svg('svg', { class: 'timeline', height: 14, width: '100%', 'aria-hidden': 'true' },
    ...scale.gaps.map((gap) => svg('rect', { class: 'gap', x: `${scale.at(gap.from)}%`, y: 0, width: `${scale.at(gap.to) - scale.at(gap.from)}%`, height: 14 })),
    svg('rect', { class: `bar-${kind} ${status}`, x: `${x}%`, y: 2, width: `${Math.max(0.5, to - x)}%`, height: 10, rx: 2 }),
    ...first(row, scale));
}

/** What was waited for the first token of a model. @param {Row} row @param {Scale} scale */
function first(row, scale) {
  const ms = isModel(row) ? row.step?.first_token_ms ?? 0 : 0;
  if (ms <= 0 || ms > row.ms) return [];
  const x = scale.at(row.from);
  return [svg('rect', { class: 'silent', x: `${x}%`, y: 2, width: `${Math.max(0, scale.at(row.from + ms) - x)}%`, height: 10 })];
}
