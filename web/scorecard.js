// How an answer is checked: the phases as they come, drafts, and at the end the receipt.

import { attribute, el, say, set } from './dom.js';
import { Markdown } from './markdown.js';
import { counted, duration, number } from './words.js';

/** @typedef {import('./types').Quality} Quality */
/** @typedef {import('./types').Receipt} Receipt */
/** @typedef {import('./types').Criterion} Criterion */
/** @typedef {{ node: HTMLDetailsElement, line: HTMLElement, doc: Markdown, attempt: number }} Draft */

/** @type {Record<string, string>} */
const phases = {
  planning: 'Planning', extracting: 'Gathering', composing: 'Writing', formatting: 'Formatting', validating: 'Checking', refining: 'Writing again',
  sending: 'Sending', failed: 'Withheld',
};

/** @type {Record<string, string>} */
const outcomes = {
  passed: 'Passed at once',
  refined: 'Passed after it was written again',
  sent_failed: 'Sent, though not all criteria passed',
  graceful_failure: 'Withheld: no attempt passed',
  unjudged: 'Not judged',
  observed: 'Observed: it streamed, and was checked afterwards',
  not_evaluated: 'Not checked',
};

export class Scorecard {
  #phases = el('ol', { class: 'phases', 'aria-label': 'Phases' });
  #found = el('div', {});
  #node = el('section', { class: 'scorecard', 'data-testid': 'scorecard', 'aria-label': 'Scorecard' }, el('h3', {}, 'Scorecard'), this.#phases, this.#found);
  /** @type {HTMLElement | null} the phase that goes on */
  #now = null;
  #seen = ''; // it, and its attempt
  /** @type {string[]} ids that failed last */
  #failed = [];
  /** @type {Draft | null} the draft that is written */
  #draft = null;
  #add;

  /** @param {(node: Node) => void} add puts a node into the turn */
  constructor(add) {
    this.#add = add;
  }

  /** @param {Quality} state */
  phase({ phase, attempt, elapsed_ms: elapsed, chars, passed, failed }) {
    const key = `${phase} ${attempt}`;
    if (key !== this.#seen) {
      if (this.#seen === '') this.#add(this.#node);
      this.#seen = key;
      if (this.#now) attribute(this.#now, 'aria-current', null);
      this.#now = el('li', { 'data-phase': phase, 'aria-current': 'step' });
      this.#phases.append(this.#now);
      say(phases[phase] ?? phase);
    }
    const title = `${phases[phase] ?? phase}${phase === 'validating' && attempt > 1 ? ' again' : ''}`;
    if (this.#now) set(this.#now, title, el('span', { class: 'faint' }, chars ? ` ${number(chars)} characters` : ` at ${duration(elapsed)}`));
    if (passed && failed) this.#checked(passed, failed);
    if (phase === 'refining' || phase === 'failed') this.#strike(phase === 'refining' ? 'written again' : 'withheld');
    if (phase === 'sending' || phase === 'failed') {
      if (this.#now) attribute(this.#now, 'aria-current', null);
    }
  }

  /** @param {string[]} passed @param {string[]} failed */
  #checked(passed, failed) {
    this.#failed = failed;
    if (this.#now && failed.length > 0) attribute(this.#now, 'data-failed', true);
    set(this.#found, el('ul', { class: 'criteria', 'aria-label': 'Criteria' },
      ...failed.map((id) => criterion({ id, passed: false })), ...passed.map((id) => criterion({ id, passed: true }))));
  }

  /** @param {string} delta @param {number} attempt of a text that is not checked yet */
  draft(delta, attempt) {
    if (this.#draft?.attempt !== attempt) {
      const line = el('span', {}, `Draft ${attempt}, not checked yet`);
      const inside = el('div', { class: 'prose' });
      const node = el('details', { class: 'draft', 'data-testid': 'draft', 'data-attempt': attempt, open: true }, el('summary', {}, line), inside);
      this.#draft = { node, line, doc: new Markdown(inside), attempt };
      this.#add(node);
    }
    this.#draft.doc.append(delta);
  }

  draw() { this.#draft?.doc.draw(); }

  /** @param {string} why */
  #strike(why) {
    if (!this.#draft) return;
    this.#draft.doc.end();
    attribute(this.#draft.node, 'data-struck', true);
    const failed = this.#failed.length > 0 ? `: ${this.#failed.join(', ')} failed` : '';
    this.#draft.line.textContent = `Draft ${this.#draft.attempt}, ${why}${failed}`;
    this.#draft = null;
  }

  /** Drops the draft that is sent: the answer follows. */
  sent() {
    this.#draft?.node.remove();
    this.#draft = null;
  }

  /** Ends it, however the turn did. @param {Receipt | undefined} receipt */
  end(receipt) {
    this.#strike('not sent');
    if (this.#now) attribute(this.#now, 'aria-current', null);
    if (!receipt) return;
    if (this.#seen === '') this.#add(this.#node);
    const { outcome, passed, criteria, ms } = receipt;
    attribute(this.#node, 'data-outcome', outcome);
    const times = [ms.plan && `planner ${duration(ms.plan)}`, ms.judge && `judge ${duration(ms.judge)}`, ms.refine && `second writing ${duration(ms.refine)}`,
      ms.held && `held back for ${duration(ms.held)}`].filter(Boolean);
    set(this.#found,
      el('p', { class: passed ? 'good' : criteria.length > 0 ? 'bad' : 'faint', 'data-testid': 'outcome' }, el('b', {}, outcomes[outcome] ?? outcome),
        criteria.length > 0 ? ` · ${criteria.filter((c) => c.passed).length} of ${counted(criteria.length, 'criterion').replace('criterions', 'criteria')} passed` : ''),
      criteria.length > 0 ? el('ul', { class: 'criteria', 'aria-label': 'Criteria' }, ...criteria.map(criterion)) : null,
      times.length > 0 ? el('p', { class: 'faint small' }, times.join(' · ')) : null);
  }
}

/** @param {Partial<Criterion> & { id: string }} criterion */
function criterion({ id, by, must = true, planned, passed, not_applicable: without, failed_first: first }) {
  const word = passed === null || passed === undefined ? 'no verdict' : passed ? 'passed' : 'failed';
  const notes = [by === 'judge' && 'judged', planned && 'planned', without && 'not applicable', first && 'failed at first', !must && 'optional'].filter(Boolean);
  return el('li', { 'data-testid': 'criterion', 'data-id': id, 'data-passed': String(passed ?? 'open') },
    el('code', {}, id), ` ${word}`, notes.length > 0 ? el('span', { class: 'faint' }, ` (${notes.join(', ')})`) : null);
}
