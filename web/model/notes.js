// The notes below an answer that did not end well: the fact, its effect, and one thing to do.

import { effectsOf } from './line.js';
import { about, isPassing, listed, sentenceFor, texts } from '../words.js';

/** @typedef {{ label: string, kind: 'retry' | 'edit' | 'goOn', wait: number }} Act  wait: milliseconds until it may be done */
/** @typedef {{ tone: 'bad' | 'warn' | 'soft', icon: string, title: string, text: string, list: string[], acts: Act[], hooks: Record<string, string> }} Note */

/** @type {(wait?: number) => Act} */
const retry = (wait = 0) => ({ label: 'Try again', kind: 'retry', wait });
/** @type {Act} */
const edit = { label: 'Edit', kind: 'edit', wait: 0 };
/** @type {Act} */
const goOn = { label: 'Go on', kind: 'goOn', wait: 0 };

/** @param {Partial<Note> & { title: string }} given @returns {Note} */
const note = (given) => ({ tone: 'bad', icon: 'triangle-alert', text: '', list: [], acts: [], hooks: {}, ...given });

/** @param {Turn} turn @param {Tool[]} tools @returns {Note[]} */
export function notesOf(turn, tools) {
  const effects = effectsOf(turn.fold.turn, tools);
  const notes = [...faultsOf(turn, effects), ...endOf(turn)];
  if (effects.unknown.length > 0 && !turn.isRunning) notes.push(note({ tone: 'warn', title: `It is not known whether ${listed(effects.unknown)} was done.` }));
  return notes;
}

/** The effect of a turn that failed, in a sentence. @param {{ done: string[] }} effects */
const consequence = ({ done }) => (done.length > 0 ? `${listed(done)} ${done.length > 1 ? 'are' : 'is'} done.` : 'Nothing was changed.');

/** @param {Turn} turn @param {{ done: string[], unknown: string[] }} effects @returns {Note[]} */
function faultsOf(turn, effects) {
  return turn.fold.turn.parts.flatMap((part) => {
    if (part.kind !== 'fault') return [];
    const { fault } = part;
    const hooks = { 'data-testid': 'error', 'data-error-type': fault.error_type, 'data-fatal': String(fault.fatal) };
    if (!fault.fatal) return shownApart.includes(fault.error_type) ? [note({ tone: 'warn', title: sentenceFor(fault.error_type, fault.message), text: failedChecks(turn), hooks })] : [];
    const ms = turn.record?.done?.timings.total_ms ?? 0;
    const title = fault.error_type === 'timeout' && ms > 0 ? `It took longer than ${about(ms)}, and was stopped.` : sentenceFor(fault.error_type, fault.message);
    const acts = turn.continues ? [] : [fault.recoverable ? retry(fault.retry_after_ms) : edit];
    return [note({ title, text: effects.unknown.length > 0 ? '' : consequence(effects), acts, hooks })];
  });
}

const shownApart = ['mcp_unavailable', 'mcp_unauthorized', 'quality_failed', 'quality_unavailable', 'store_unavailable', 'content_truncated'];

/** The checks that an answer did not pass. @param {Turn} turn */
function failedChecks({ record }) {
  const failed = record?.done?.quality?.criteria.filter((c) => c.passed === false).map((c) => c.id) ?? [];
  return failed.length > 0 ? `${listed(failed)}.` : '';
}

/** @param {Turn} turn @returns {Note[]} */
function endOf(turn) {
  const { outcome, record, state } = turn;
  if (turn.isInterrupted) return [note({ tone: 'warn', icon: 'clock', title: texts.lost, hooks: { 'data-testid': 'interrupted' } })];
  if (outcome?.how === 'refused') return [refused(turn, outcome.problem)];
  if (state === 'stopped') return [note({ tone: 'soft', icon: 'square', title: texts.stopped, acts: [retry(), ...(turn.answer.trim() && !turn.continues ? [goOn] : [])], hooks: { 'data-testid': 'stopped' } })];
  if (record?.done?.finish_reason === 'max_tokens') return [note({ tone: 'soft', icon: 'info', title: 'The answer was cut short at its longest.', acts: [goOn] })];
  if (state !== 'dropped') return [];
  const isCut = turn.past !== null || outcome?.how === 'lost' && outcome.reloaded;
  const title = isCut ? texts.unfinished : outcome?.how === 'lost' && !outcome.sent ? texts.unreached : sentenceFor('turn_lost', '');
  return [note({ title, text: texts.mayHaveRun, acts: [retry()], hooks: { 'data-testid': 'dropped' } })];
}

function refused(/** @type {Turn} */ turn, /** @type {Problem} */ problem) {
  const isOwn = problem.error_type === 'validation_error' || problem.error_type === 'payload_too_large';
  const hidden = problem.status === 0 ? 'EventSource does not report the reason.' : '';
  return note({
    title: isOwn ? problem.detail : sentenceFor(problem.error_type, problem.detail),
    text: hidden || (problem.error_type === 'duplicate_request' ? 'Look before you send it again.' : 'Nothing was run.'),
    list: problem.errors.length > 1 ? problem.errors.map((e) => `${e.field} ${e.message}`) : [],
    acts: turn.continues ? [] : [isPassing(problem.error_type) || problem.error_type === 'unauthorized' ? retry(problem.retry_after_ms) : edit],
    hooks: { 'data-testid': 'error', 'data-error-type': problem.error_type, 'data-fatal': 'true' },
  });
}

/** The reason to ask before a turn is tried again; empty: there is none. @param {Turn[]} turns  it, and the turns that went on with it @param {Tool[]} tools */
export function doubtOf(turns, tools) {
  const effects = turns.map((turn) => effectsOf(turn.fold.turn, tools));
  const names = [...new Set(effects.flatMap((e) => [...e.done, ...e.unknown]))];
  if (names.length > 0) return `This used ${listed(names)}. ${texts.twice}`;
  return turns.some((turn) => turn.state === 'dropped') ? `${texts.mayHaveRun} ${texts.twice}` : '';
}
