// How an answer is checked: the phases as they come, and at the end the receipt.

import { attribute, el, set } from './dom.js';
import { counted, duration, number, phases } from '../words.js';

/** @typedef {import('../types').Criterion} Criterion */
/** @typedef {import('../model/checks.js').Checks} Checks */

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

  /** @param {Checks} checks */
  constructor(checks) {
    this.checks = checks;
    this.node = el('section', { class: 'scorecard', 'data-testid': 'scorecard', 'aria-label': 'Scorecard' }, el('h3', {}, 'Scorecard'), this.#phases, this.#found);
  }

  draw() {
    const { phases: all, open, passed, failed, receipt } = this.checks;
    set(this.#phases, ...all.map((p, i) => phaseItem(p, open && i === all.length - 1)));
    attribute(this.node, 'data-outcome', receipt?.outcome);
    if (receipt) set(this.#found, ...verdict(receipt));
    else if (passed.length + failed.length > 0) set(this.#found, list([...failed.map((id) => ({ id, passed: false })), ...passed.map((id) => ({ id, passed: true }))]));
  }
}

/** @param {import('../model/checks.js').Phase} phase @param {boolean} isNow */
function phaseItem({ phase, attempt, elapsed, chars, failed }, isNow) {
  const title = `${phases.get(phase) ?? phase}${phase === 'validating' && attempt > 1 ? ' again' : ''}`;
  return el('li', { 'data-phase': phase, 'data-failed': failed, 'aria-current': isNow ? 'step' : null },
    title, el('span', { class: 'faint' }, chars ? ` ${number(chars)} characters` : ` at ${duration(elapsed)}`));
}

/** @param {import('../types').Receipt} receipt */
function verdict({ outcome, passed, criteria, ms }) {
  const times = [ms.plan && `planner ${duration(ms.plan)}`, ms.judge && `judge ${duration(ms.judge)}`, ms.refine && `second writing ${duration(ms.refine)}`,
    ms.held && `held back for ${duration(ms.held)}`].filter(Boolean);
  return [
    el('p', { class: passed ? 'good' : criteria.length > 0 ? 'bad' : 'faint', 'data-testid': 'outcome' }, el('b', {}, outcomes[outcome] ?? outcome),
      criteria.length > 0 ? ` · ${criteria.filter((c) => c.passed).length} of ${counted(criteria.length, 'criterion').replace('criterions', 'criteria')} passed` : ''),
    criteria.length > 0 ? list(criteria) : null,
    times.length > 0 ? el('p', { class: 'faint small' }, times.join(' · ')) : null,
  ];
}

/** @param {(Partial<Criterion> & { id: string })[]} criteria */
const list = (criteria) => el('ul', { class: 'criteria', 'aria-label': 'Criteria' }, ...criteria.map(criterion));

/** @param {Partial<Criterion> & { id: string }} criterion */
function criterion({ id, by, must = true, planned, passed, not_applicable: without, failed_first: first }) {
  const word = passed === null || passed === undefined ? 'no verdict' : passed ? 'passed' : 'failed';
  const notes = [by === 'judge' && 'judged', planned && 'planned', without && 'not applicable', first && 'failed at first', !must && 'optional'].filter(Boolean);
  return el('li', { 'data-testid': 'criterion', 'data-id': id, 'data-passed': String(passed ?? 'open') },
    el('code', {}, id), ` ${word}`, notes.length > 0 ? el('span', { class: 'faint' }, ` (${notes.join(', ')})`) : null);
}
