// How the parts of a branch look: each has a view, which draws again when its part has changed.

import { ForkView } from './branches.js';
import { el, set, text } from './dom.js';
import { GraphView } from './flow.js';
import { Markdown } from './markdown.js';
import { notice, retryButton } from './notice.js';
import { preview } from './preview.js';
import { Scorecard } from './scorecard.js';
import { ToolCard } from './tool.js';
import { adviceFor, decided, gist } from '../words.js';

/** @typedef {import('../model/branch.js').Part} Part */
/** @typedef {{ node: Element, draw: () => void }} PartView */
/** @typedef {import('./turn.js').TurnView} TurnView */

/**
 * @param {Part} part @param {TurnView} turn
 * @returns {PartView}
 */
export function viewOf(part, turn) {
  switch (part.kind) {
    case 'text': return new TextView(part, part.role === 'earlier' ? 'Earlier drafts' : part.role === 'output' ? 'Result' : '', turn);
    case 'thoughts': return new TextView(part, 'Thought', turn);
    case 'tool': return new ToolCard(part, (fault) => faultNotice(fault, turn));
    case 'fork': return new ForkView(part, turn);
    case 'checks': return new Scorecard(part);
    case 'graph': return new GraphView(turn);
    case 'change': return fixed(el('p', { class: 'faint', 'data-testid': 'model-change' }, `${part.model} (${part.key}) answers in place of ${part.previous}: ${part.reason.replaceAll('_', ' ')}`));
    case 'fault': return fixed(faultNotice(part.fault, turn));
    case 'route': return fixed(el('p', { class: 'route', 'data-testid': 'route' }, el('strong', {}, decided(part.route)),
      part.route.reasoning ? el('span', { class: 'faint', dir: 'auto' }, ` ${part.route.reasoning}`) : ''));
    case 'message': return fixed(preview(part.message));
    case 'approval': return fixed(turn.question(part.approval).node);
  }
}

/** @param {Element} node @returns {PartView} */
const fixed = (node) => ({ node, draw() {} });

/** @param {import('../types').Fault} fault @param {TurnView} turn */
function faultNotice(fault, turn) {
  const again = fault.fatal && fault.recoverable && !turn.record.ask.approval;
  return notice({
    title: fault.message,
    advice: adviceFor(fault.error_type, fault.fatal),
    facts: `${fault.error_type}${fault.service ? `, service ${fault.service}` : ''}`,
    tone: fault.fatal ? 'bad' : 'note',
    hooks: { 'data-testid': 'error', 'data-error-type': fault.error_type, 'data-fatal': String(fault.fatal) },
  }, ...(again ? [retryButton(fault.retry_after_ms, () => turn.actions.again(turn.record.ask.input))] : []));
}

/** A text as it comes: of the answer, of a branch, or what a model thinks, which is folded. */
class TextView {
  #shown = 0;
  #cuts = 0;
  #line = el('span', { class: 'line', dir: 'auto' });
  #isDone = false;

  /** @param {import('../model/branch.js').Text | import('../model/branch.js').Thoughts} part @param {string} title  of what is folded @param {TurnView} turn */
  constructor(part, title, turn) {
    this.part = part;
    const isAnswer = title === '' && turn.fold.turn.parts.includes(part);
    this.inside = isAnswer ? el('div', { class: 'prose answer', 'data-testid': 'answer' }) : el('div', { class: 'prose', 'data-copy': part.kind === 'text' && part.copy });
    this.doc = new Markdown(this.inside);
    this.isFolded = title !== '';
    this.node = title === '' ? this.inside : el('details', { class: 'thoughts', ...(part.kind === 'thoughts' ? { 'data-testid': 'thoughts' } : {}) },
      el('summary', {}, el('span', { class: 'faint' }, `${title}: `), this.#line), this.inside);
  }

  draw() {
    const { text: all, cuts, done } = this.part;
    if (cuts !== this.#cuts || (this.#isDone && all.length > this.#shown)) this.#restart();
    this.#cuts = cuts;
    if (all.length > this.#shown) this.doc.append(all.slice(this.#shown));
    this.#shown = all.length;
    if (this.isFolded) set(this.#line, text(gist(all)));
    if (done && !this.#isDone) this.doc.end();
    else if (!done) this.doc.draw();
    this.#isDone = done;
  }

  #restart() {
    this.inside.replaceChildren();
    this.doc = new Markdown(this.inside);
    this.#shown = 0;
    this.#isDone = false;
  }
}
