// Figures and faults, in words.

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.floor(ms / 60_000)} min ${Math.round(ms / 1000) % 60} s`;
}

/**
 * A time that may be as long as a person takes to answer.
 * @param {number} ms
 */
export function span(ms) {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return duration(ms);
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A point in time: of today without the day. @param {Date} at */
export const when = (at) => (at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString());

/** @param {number} bytes */
export const size = (bytes) => (bytes < 10_000 ? `${number(bytes)} B` : `${number(Math.round(bytes / 1024))} KiB`);

/** @param {number} n */
export const number = (n) => n.toLocaleString('en');

/** @param {number} n @param {string} noun */
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

/**
 * JSON as people read it; any other text as it is.
 * @param {string} s
 */
export function pretty(s) {
  try {
    return JSON.stringify(JSON.parse(s), null, 2);
  } catch {
    return s;
  }
}

/**
 * What a person can do about an error of the stream.
 * @type {Record<string, string>}
 */
const advice = {
  tool_execution_failed: 'The model was told why, and may try another way or explain it.',
  mcp_unavailable: 'The server of these tools is unavailable. The model was told and goes on without them.',
  model_unavailable: 'The model did not answer completely, or is not asked for a while because it failed before (its circuit breaker is open). Wait, then try again.',
  model_rate_limited: 'The model gets more requests than it allows. Wait, then try again.',
  model_blocked: 'The model refused this for safety. The same words would be refused again: put it differently.',
  model_error: 'The model refused the request itself, for example its key or name. Trying again does not help; the operator finds the reason in the log under the request id.',
  timeout: 'It took longer than the gateway allows. What tools did until then stays done.',
  turn_lost: 'The gateway that ran this turn is gone, and another one has closed it. What tools did until then stays done.',
  shutting_down: 'The gateway is being stopped, perhaps to be replaced. Try again in a moment.',
  internal_error: 'This is a fault of the gateway. Its operator finds the cause in the log under the request id.',
  validation_error: 'Nothing was run. Change what is named above, and send it again.',
  payload_too_large: 'Nothing was run. Send a shorter message.',
  unauthorized: 'This gateway wants to know who asks: enter an API key or a token at the top of the page.',
  forbidden: 'The credential does not allow this. Its issuer can give it more scopes.',
  rate_limited: 'A limit is used up for now. The same words can be sent again after the time that is named.',
  auth_unavailable: 'The gateway cannot check the token at the moment, because its issuer does not answer. Nothing was run.',
  origin_refused: 'Nothing was run. The gateway does not answer pages of this address.',
  duplicate_request: 'The gateway has seen this very request before and does not run it twice. Browsers repeat a request by themselves when its connection breaks: then the first one may have run, and what it did is not known here.',
  overloaded: 'The gateway has reached its limits: try again in a moment.',
  approval_invalid: 'Nothing was run. The question is of another gateway or another user.',
  approval_expired: 'Nothing was run. Ask again.',
  approval_used: 'The question was answered before, perhaps in another window.',
  approval_conflict: 'Nothing was run. The task does not wait for this any more.',
  request_timeout: 'Nothing was run. The message took too long to arrive.',
};

/** @type {Record<string, string>} */
const toolAdvice = {
  timeout: 'The tool took longer than the gateway allows. The model was told and goes on.',
};

/** @param {string} type @param {boolean} fatal */
export const adviceFor = (type, fatal) => (!fatal && toolAdvice[type]) || advice[type] || '';

/**
 * Whether a refusal before the stream is worth sending again.
 * @param {string} type
 */
export const passing = (type) => ['overloaded', 'shutting_down', 'request_timeout'].includes(type);

/** @type {Record<string, string>} */
export const endings = {
  stop: 'Answered',
  max_tokens: 'Cut short at the most text the model may write',
  max_steps: 'Answered at the limit of model steps',
  input_required: 'Asks you something',
  approval_required: 'Waits for your decision',
  client_tools: 'Waits for its client to run a tool',
  error: 'Failed',
  timeout: 'Out of time',
  cancelled: 'Cancelled',
  shutdown: 'Ended by a shutdown of the gateway',
};

/** @param {string} reason */
export const ending = (reason) => endings[reason] ?? reason;

/**
 * A text as one word of a POSIX shell.
 * @param {string} s
 */
export const quoted = (s) => `'${s.replaceAll("'", "'\\''")}'`;

/**
 * @param {import('./types').Route} route
 * @returns {string} what a router decided, for a person
 */
export function decided(route) {
  const sure = `${Math.round(route.confidence * 100)}% sure`;
  if (route.decision === 'clarify') return `Not sure who this is for (${sure}): asking back.`;
  if (route.decision === 'fallback') return 'None of the agents fits.';
  const agents = [route.agent_id, ...route.additional_agents].join(', ');
  return route.method === 'model' ? `Routed to ${agents} (${sure}).` : `Routed to ${agents}.`;
}

/** @type {Map<import('./model/branch.js').State, string>} what a branch of a turn does, or how it ended */
export const states = new Map([['next', 'is next'], ['running', 'works'], ['retrying', 'tries again'], ['done', 'completed'], ['failed', 'failed'],
  ['stopped', 'stopped'], ['waiting', 'waits for a person'], ['skipped', 'skipped'], ['lost', 'its end was not seen'], ['struck', '']]);

/** @type {Map<string, string>} what is done with an answer before it is sent */
export const phases = new Map([['planning', 'Planning'], ['extracting', 'Gathering'], ['composing', 'Writing'], ['formatting', 'Formatting'], ['validating', 'Checking'],
  ['refining', 'Writing again'], ['sending', 'Sending'], ['failed', 'Withheld']]);

/**
 * A name, which may have any length.
 * @param {string} s
 */
export const short = (s) => (s.length > 80 ? `${Array.from(s.slice(0, 160)).slice(0, 79).join('')}…` : s);

/**
 * One line that says what a text is about: the heading of a last thought, or its beginning.
 * @param {string} s
 */
export function gist(s) {
  const start = s.lastIndexOf('\n**') + 1;
  const heading = /^\*\*(.{1,120}?)\*\*/.exec(s.slice(start, start + 130));
  return heading ? heading[1] : s.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 90);
}
