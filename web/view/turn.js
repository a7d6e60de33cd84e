// One turn in the conversation: the question, then what came. What that is the fold says (see
// fold.js); here it is drawn, and of it what has changed since the last time.

import { ApprovalCard } from './approval.js';
import { attribute, copyButton, el, say, set } from './dom.js';
import { Fold } from '../model/fold.js';
import { PartList } from './list.js';
import { cutByReload, lost, refused, stateOf, summary } from './outcome.js';
import { viewOf } from './parts.js';

/** @typedef {import('../model/record.js').TurnRecord} TurnRecord */
/** @typedef {import('../types').Outcome} Outcome */
/** @typedef {import('../types').TurnState} TurnState */
/** @typedef {import('../model/branch.js').Part | import('../model/branch.js').Branch} Shown */
/** @typedef {import('./parts.js').PartView} PartView */
/**
 * @typedef {object} Actions
 * @property {(input: string) => void} again
 * @property {(input: string) => void} edit
 * @property {() => void} inspect
 * @property {(card: ApprovalCard, answer: import('../types').Answer) => void} [decide]
 */

/** @type {WeakMap<TurnRecord, TurnView>} that were shown */
const views = new WeakMap();

export class TurnView {
  fold = new Fold();
  /** @type {((changed: Shown[]) => void)[]} called after something was drawn */
  watchers = [];
  #items = el('div', { class: 'items' });
  #notices = el('div', { class: 'items' });
  #foot = el('div', { class: 'foot' });
  #waiting = el('p', { class: 'waiting', 'aria-hidden': 'true' }, 'Waiting for the first event');
  #interrupted = el('p', { class: 'faint', 'data-testid': 'interrupted' }, 'The connection was lost. The rest of the turn is asked for.');
  /** @type {Map<Shown, PartView>} */
  #views = new Map();
  #list = new PartList(this.fold.turn, this.#items, this);

  /** @param {TurnRecord} record @param {Actions} actions */
  constructor(record, actions) {
    this.record = record;
    this.actions = actions;
    views.set(record, this);
    // Only the end of a turn is read out, by say: not each piece of it.
    this.node = el('article', { class: 'turn', 'data-testid': 'turn', 'data-state': 'running', 'aria-busy': 'true', 'aria-live': 'off', 'aria-label': 'Turn' },
      el('p', { class: 'question', dir: 'auto' }, el('span', { class: 'offscreen' }, 'You: '), record.ask.input), this.#waiting, this.#items, this.#notices, this.#foot);
  }

  /** The turns that this one goes on with, as far as they are shown, and it: newest first. */
  get all() {
    /** @type {TurnView[]} */
    const all = [];
    for (let record = /** @type {TurnRecord | null} */ (this.record); record; record = record.after) all.push(...[views.get(record) ?? []].flat());
    return all;
  }

  /**
   * @param {string} event
   * @param {any} data
   */
  show(event, data) {
    this.#interrupted.remove();
    if (event === 'start') this.#waiting.textContent = 'The model is at work';
    const aloud = this.fold.add({ id: this.record.events.at(-1)?.id, event, data });
    if (aloud) say(aloud);
  }

  /** Says that the stream broke off, and that the rest is asked for. */
  interrupted() {
    this.node.insertBefore(this.#interrupted, this.#foot);
  }

  /** Draws what has come since the last time. */
  draw() {
    const changed = this.fold.flush();
    if (changed.includes(this.fold.turn)) this.#list.draw();
    for (const part of changed) this.#views.get(part)?.draw();
    if (this.fold.turn.parts.length > 0) this.#waiting.remove();
    for (const look of this.watchers) look(changed);
  }

  /**
   * The view of a part or a branch, which is made and drawn if there is none.
   * @param {Shown} of @param {() => PartView} make
   */
  view(of, make) {
    const known = this.#views.get(of);
    if (known) return known;
    const made = make();
    this.#views.set(of, made);
    made.draw();
    return made;
  }

  /** @param {import('../model/branch.js').Part} part */
  part(part) { return this.view(part, () => viewOf(part, this)); }

  /** Goes to the block of a branch. @param {import('../model/branch.js').Branch} branch */
  goTo(branch) {
    const view = /** @type {import('./branches.js').BranchView | undefined} */ (this.#views.get(branch));
    view?.show();
  }

  /** @param {import('../types').Approval} approval */
  question(approval) {
    /** @type {ApprovalCard} */
    const card = new ApprovalCard(approval, (answer) => this.actions.decide?.(card, answer));
    return card;
  }

  /** @param {Outcome} outcome */
  end(outcome) {
    this.#waiting.remove();
    this.#interrupted.remove();
    if (outcome.how === 'lost' && outcome.reloaded) {
      this.reloaded(this.record.requestId);
      return;
    }
    const state = stateOf(outcome, this.record);
    this.record.end(state);
    this.fold.end(state, this.record.done?.quality);
    this.draw();
    if (outcome.how === 'lost') this.lost(outcome.sent);
    if (outcome.how === 'refused') {
      if (outcome.problem.request_id) this.record.requestId = outcome.problem.request_id;
      this.record.status = outcome.problem.status;
      this.#notices.append(refused(outcome.problem, this.record, this.actions));
    }
    this.settle(state, summary(this.record, outcome));
  }

  /** @param {TurnState} state @param {string} line */
  settle(state, line) {
    attribute(this.node, 'data-state', state);
    attribute(this.node, 'aria-busy', null);
    const inspect = el('button', { type: 'button', class: 'quiet' }, 'Inspect');
    inspect.addEventListener('click', () => this.actions.inspect());
    const output = this.record.done?.final_output;
    set(this.#foot, el('p', { class: 'summary' }, line),
      output ? copyButton('Copy answer', () => output, { title: 'Copy the text of the answer, as Markdown' }) : null, inspect);
    say(`${line} ${output?.slice(0, 600) ?? ''}`);
  }

  /** @param {boolean} sent  something of the stream arrived */
  lost(sent) {
    this.#notices.append(lost(sent, this.record, this.actions));
  }

  /**
   * Says that a reload of the page has cut the turn.
   * @param {string} id
   */
  reloaded(id) {
    this.#waiting.remove();
    this.record.requestId = id;
    this.record.end('dropped');
    this.fold.end('dropped');
    this.draw();
    this.#notices.append(cutByReload(this.record, this.actions));
    this.settle('dropped', 'Cut by a reload.');
  }
}
