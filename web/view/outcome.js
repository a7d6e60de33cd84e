// How a turn ended, in words, and what is said where its stream broke off or never began.

import { editButton, notice, retryButton } from './notice.js';
import { adviceFor, counted, duration, ending, number, passing } from '../words.js';

/** @typedef {import('../model/record.js').TurnRecord} TurnRecord */
/** @typedef {import('../types').Outcome} Outcome */
/** @typedef {import('../types').Problem} Problem */
/** @typedef {import('../types').TurnState} TurnState */
/** @typedef {import('./turn.js').Actions} Actions */

/** @param {Outcome} outcome @param {TurnRecord} record @returns {TurnState} */
export function stateOf(outcome, record) {
  switch (outcome.how) {
    case 'stopped': return 'stopped';
    case 'lost': return 'dropped';
    case 'refused': return 'refused';
  }
  if (record.done?.finish_reason === 'cancelled') return 'stopped';
  return record.done?.success ? 'done' : 'failed';
}

/**
 * What happened, in one line.
 * @param {TurnRecord} record @param {Outcome} outcome
 */
export function summary(record, outcome) {
  const after = `after ${duration(record.now())}`;
  switch (outcome.how) {
    case 'stopped': return `Stopped by you ${after}. What tools did until then stays done.`;
    case 'lost': return outcome.sent ? `Connection lost ${after}.` : `No stream ${after}.`;
    case 'refused': return outcome.problem.error_type === 'duplicate_request' ? 'Already sent: how that turn ended is not known here.' : 'Refused.';
  }
  return record.done ? figures(record, record.done) : '';
}

/** @param {TurnRecord} record @param {import('../types').Done} done */
function figures(record, done) {
  if (done.finish_reason === 'cancelled') return `Cancelled after ${duration(done.timings.total_ms)}. What tools did until then stays done.`;
  const { model_ms: models, total_ms: total, first_delta_ms: first } = done.timings;
  const tokens = done.usage.input_tokens + done.usage.output_tokens + done.usage.thinking_tokens;
  return [
    `${ending(done.finish_reason)} ${done.success && done.finish_reason !== 'approval_required' ? 'in' : 'after'} ${duration(total)}`,
    record.model ?? '',
    first === undefined ? '' : `first text after ${duration(first)}`,
    counted(models.length, 'model call'),
    done.tools_called.length > 0 ? counted(done.tools_called.length, 'tool call') : '',
    tokens > 0 ? `${number(tokens)} tokens` : '',
  ].filter(Boolean).join(' · ');
}

/** @param {string} title @param {string} what @param {string} advice @param {TurnRecord} record @param {Actions} actions */
function broken(title, what, advice, record, actions) {
  return notice({ title, what, advice, facts: record.requestId, tone: 'bad', hooks: { 'data-testid': 'dropped' } },
    editButton(() => actions.edit(record.first.ask.input)));
}

/** @param {boolean} sent  something of the stream arrived @param {TurnRecord} record @param {Actions} actions */
export function lost(sent, record, actions) {
  const running = 'The turn may have run on, tools included. Look before you send it again: that would be a new turn.';
  return broken(
    sent ? 'The connection was lost before the turn was done' : 'The gateway could not be reached',
    sent ? 'The stream ended without its done event, so it is not known how the turn ended.' : 'No answer came. Is the gateway running, and the network there?',
    sent ? running : 'If the request did arrive, the turn may have run: sending it again is a new turn.', record, actions);
}

/** @param {TurnRecord} record @param {Actions} actions */
export const cutByReload = (record, actions) => broken('The page was reloaded while this turn was running',
  'That cut its stream, and what it did is not known here. It was not sent again.', 'Its tools may have taken effect: look before you send it again.', record, actions);

/** @param {Problem} problem @param {TurnRecord} record @param {Actions} actions */
export function refused(problem, record, actions) {
  const hidden = problem.status === 0;
  const advice = hidden
    ? 'EventSource does not say why: it may be a repetition, or a gateway that is full or stopping, or one of several that have no SLUICE_APPROVAL_KEY in common. Switch to fetch to see the reason.'
    : adviceFor(problem.error_type, true);
  const again = () => retryButton(problem.retry_after_ms, () => actions.again(record.ask.input));
  const edit = () => editButton(() => actions.edit(record.ask.input));
  return notice({
    title: problem.detail,
    list: problem.errors.length > 1 ? problem.errors.map((e) => `${e.field} ${e.message}`) : [],
    advice,
    facts: hidden ? undefined : `${problem.error_type}, status ${problem.status}`,
    tone: 'bad',
    hooks: { 'data-testid': 'error', 'data-error-type': problem.error_type, 'data-fatal': 'true' },
  }, ...(record.ask.approval ? [] : [passing(problem.error_type) ? again() : edit()]));
}
