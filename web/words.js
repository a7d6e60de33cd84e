// The words of the page, and figures in words.

export function duration(/** @type {number} */ ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.floor(ms / 60_000)} min ${Math.round(ms / 1000) % 60} s`;
}

/** A duration with one digit, for people who only want to know about how long. @param {number} ms */
export const about = (ms) => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms));

/** A time that may be as long as a person takes to answer. @param {number} ms */
export function span(ms) {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return duration(ms);
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A point in time: of today without the day. @param {Date} at */
export const when = (at) => (at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString());

export const size = (/** @type {number} */ bytes) => (bytes < 10_000 ? `${number(bytes)} B` : `${number(Math.round(bytes / 1024))} KiB`);

export const number = (/** @type {number} */ n) => n.toLocaleString('en');

export const counted = (/** @type {number} */ n, /** @type {string} */ noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

/** Names as a sentence has them: "a, b and c". @param {string[]} names */
export const listed = (names) => (names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`);

/** JSON as people read it; any other text as it is. @param {string} s */
export function pretty(s) {
  try {
    return JSON.stringify(JSON.parse(s), null, 2);
  } catch {
    return s;
  }
}

/** The sentence for each type of error: the fact, and the next step where there is one. @type {Record<string, string>} */
const sentences = {
  tool_execution_failed: 'A tool did not work.',
  mcp_unavailable: 'Some tools are not there at the moment. I answered without them.',
  mcp_unauthorized: 'Some tools need a new sign-in.',
  model_unavailable: 'The model did not answer.',
  model_rate_limited: 'The model has too much to do.',
  model_blocked: 'The model refused to answer this.',
  model_error: 'The model could not take this request. Details are in Developer.',
  timeout: 'It took too long, and was stopped.',
  turn_lost: 'The connection was lost. It cannot go on.',
  shutting_down: 'The gateway is about to restart. Try again in a moment.',
  internal_error: 'Something broke in the gateway. Details are in Developer.',
  validation_error: 'The gateway did not accept this message.',
  payload_too_large: 'This message is too long.',
  unauthorized: 'This gateway needs a key. Ask its operator for one.',
  forbidden: 'Your key does not allow this.',
  rate_limited: 'You have used up your requests for now.',
  auth_unavailable: 'Your key cannot be checked at the moment. Try again in a moment.',
  origin_refused: 'The gateway does not answer pages of this address.',
  duplicate_request: 'This message was sent before, and may have run.',
  overloaded: 'The gateway has too much to do. Try again in a moment.',
  request_timeout: 'The message took too long to arrive.',
  approval_invalid: 'This question is not yours to answer.',
  approval_expired: 'Your answer came too late. Ask again.',
  approval_used: 'This question was answered already.',
  approval_conflict: 'This question was answered already.',
  quality_failed: 'This answer did not pass its checks.',
};

/** @param {string} type @param {string} message  of the gateway, for a type without a sentence */
export const sentenceFor = (type, message) => sentences[type] ?? message;

/** Whether a failure may be gone the next time. @param {string} type */
export const isPassing = (type) => ['overloaded', 'shutting_down', 'request_timeout', 'rate_limited', 'auth_unavailable'].includes(type);

export const texts = {
  headline: 'What would you like to get done?',
  ask: 'Ask anything',
  next: 'Ask next, or add to this',
  stopped: 'Stopped. What tools did stays done.',
  unfinished: 'The page was reloaded, and the answer broke off here.',
  lost: 'The connection was lost. The answer continues here.',
  unreached: 'The gateway could not be reached.',
  mayHaveRun: 'The message may have run. Look before you send it again.',
  queued: 'Your message waits for this answer.',
  demo: 'Demo model: a simulator answers. It knows todos and the example house.',
  needsKey: 'This gateway needs a key',
  askForKey: 'Ask its operator for one. It stays in memory: a reload asks again.',
  wrongKey: 'The gateway does not accept this key.',
  oddKey: 'A key cannot have such characters.',
  notKept: 'This conversation is not stored any more. Its title is all that I know.',
  takenBack: 'A part of the answer was taken back.',
  twice: 'Trying again may do it twice.',
  late: 'It came too late',
  taken: 'Answered already',
  notYours: 'Not yours to answer',
  notTaken: 'The answer was not accepted. Check it, and send it again.',
};

/** @type {Record<string, string>} */
export const endings = {
  stop: 'Answered',
  max_tokens: 'Cut short at the most text the model may write',
  max_steps: 'Answered at the limit of model steps',
  input_required: 'Asks you something',
  approval_required: 'Waits for your answer',
  client_tools: 'Waits for its client to run a tool',
  error: 'Failed',
  timeout: 'Out of time',
  cancelled: 'Cancelled',
  shutdown: 'Ended by a shutdown of the gateway',
};

export const ending = (/** @type {string} */ reason) => endings[reason] ?? reason;

/** A text as one word of a POSIX shell. @param {string} s */
export const quoted = (s) => `'${s.replaceAll("'", "'\\''")}'`;

/** @param {Route} route @returns {string} the decision of a router, for a person */
export function decided(route) {
  if (route.decision === 'clarify') return 'I am not sure of the right agent, and ask.';
  if (route.decision === 'fallback') return 'Not one of the agents fits.';
  return `Asked ${listed([route.agent_id, ...route.additional_agents])}.`;
}

/** @type {Map<BranchState, string>} the state of a branch */
export const states = new Map([['next', 'is next'], ['running', 'works'], ['retrying', 'tries again'], ['done', 'done'], ['failed', 'did not work'],
  ['stopped', 'stopped'], ['waiting', 'waits for a person'], ['skipped', 'skipped'], ['lost', 'its end was not seen'], ['struck', '']]);

/** @type {Map<string, string>} the work on an answer before it is sent */
export const phases = new Map([['planning', 'Planning'], ['extracting', 'Gathering'], ['composing', 'Writing'], ['formatting', 'Formatting'], ['validating', 'Checking the answer'],
  ['refining', 'Writing again'], ['sending', 'Sending'], ['failed', 'Withheld']]);

/** A name of any length, shortened. @param {string} s */
export const short = (s) => (s.length > 80 ? `${Array.from(s.slice(0, 160)).slice(0, 79).join('')}…` : s);

/** One line about a text: the heading of a last thought, or its beginning. @param {string} s */
export function gist(s) {
  const start = s.lastIndexOf('\n**') + 1;
  const heading = /^\*\*(.{1,120}?)\*\*/.exec(s.slice(start, start + 130));
  return heading ? heading[1] : s.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 90);
}
