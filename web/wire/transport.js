// The two ways to ask: fetch, which posts JSON and reads the stream itself, and
// EventSource, which can only GET: the request is posted before, for a ticket that the GET
// shows. Each runs one turn once.

import { call } from './credential.js';
import { eventNames } from './events.js';
import { Parser } from './sse.js';

/**
 * @typedef {object} Listener
 * @property {(requestId: string) => void} opened  by fetch alone: EventSource hides the headers
 * @property {(frame: Frame) => void} frame
 * @property {(count: number) => void} comments
 * @property {() => void} interrupted  the rest is asked for
 */

/** A key of 32 hex digits; crypto.randomUUID is missing on plain http pages. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

/** Where a turn is asked for: at the task that waits, if it is answered by that. @param {Ask} ask */
const pathOf = (ask) => (ask.approval?.task ? `tasks/${ask.approval.task}/decision` : 'chat/stream');

export const endpoint = (/** @type {Ask} */ ask) => new URL(pathOf(ask), document.baseURI).href;

export function body(/** @type {Ask} */ { approval, ...ask }) {
  if (approval?.task) {
    const { task: _, ...answer } = approval;
    return JSON.stringify(answer);
  }
  if (approval) return JSON.stringify({ approval, accumulated: false });
  return JSON.stringify({ ...ask, accumulated: false });
}

/** A request as an EventSource sends it, without a history. @param {Ask} ask @returns {Ask} */
export const alone = ({ history: _, ...ask }) => ask;

/** @param {Ask} ask @param {Listener} listener @param {AbortSignal} signal @param {string} key  the same again is the same turn @returns {Promise<Outcome>} */
export async function post(ask, listener, signal, key) {
  let sent = false;
  try {
    const response = await call(pathOf(ask), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: body(ask),
      signal,
    });
    const kind = response.headers.get('Content-Type') ?? '';
    if (response.status !== 200 || !response.body || !kind.startsWith('text/event-stream')) {
      return { how: 'refused', problem: await problemOf(response) };
    }
    sent = true;
    listener.opened(response.headers.get('X-Request-ID') ?? '');
    return (await read(response.body, listener)) ? { how: 'done' } : { how: 'lost', sent };
  } catch {
    return signal.aborted ? { how: 'stopped' } : { how: 'lost', sent };
  }
}

/** Reads up to the done event, and then leaves the stream. False: it never came. @param {ReadableStream<Uint8Array>} stream @param {Listener} listener */
export async function read(stream, listener) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const parser = new Parser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false; // what is left is not a whole frame
      for (const frame of parser.push(decoder.decode(value, { stream: true }))) {
        listener.frame(frame);
        if (frame.event === 'done') return true;
      }
      listener.comments(parser.comments);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The problem document (RFC 9457) of a refusal, or what can be said without one. @param {Response} response @returns {Promise<Problem>} */
async function problemOf(response) {
  const problem = await response.json().catch(() => null);
  const wait = Number(response.headers.get('Retry-After'));
  return {
    errors: [],
    error_type: response.status === 204 ? 'duplicate_request' : 'unexpected_reply',
    detail: response.status === 204 ? 'The gateway takes this for a repetition.' : `Something between here and the gateway answered ${response.status}.`,
    request_id: response.headers.get('X-Request-ID') ?? undefined,
    ...(problem?.error_type ? problem : {}),
    status: response.status,
    retry_after_ms: wait > 0 ? wait * 1000 : undefined,
  };
}

/** @type {Problem} */
const hidden = {
  status: 0,
  error_type: 'refused',
  detail: 'The gateway did not open a stream.',
  errors: [],
};

/** @param {Ask} ask @param {Listener} listener @param {AbortSignal} signal @param {string} key @returns {Promise<Outcome>} */
export async function listen(ask, listener, signal, key) {
  try {
    const response = await call('chat/tickets', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...alone(ask), accumulated: false, idempotency_key: key }),
      signal,
    });
    if (response.status !== 201) return { how: 'refused', problem: await problemOf(response) };
    const { url } = await response.json();
    return await open(new URL(`.${url}`, document.baseURI), listener, signal); // a path there, which here may have a prefix
  } catch {
    return signal.aborted ? { how: 'stopped' } : { how: 'lost', sent: false };
  }
}

/** @param {URL} address @param {Listener} listener @param {AbortSignal} signal @returns {Promise<Outcome>} */
function open(address, listener, signal) {
  return new Promise((resolve) => {
    const source = new EventSource(address);
    let sent = false;
    let kept = false;
    const end = (/** @type {Outcome} */ outcome) => {
      source.close(); // or the browser would ask again, after a clean end too
      resolve(outcome);
    };
    signal.addEventListener('abort', () => end({ how: 'stopped' }));
    source.addEventListener('open', () => { sent = true; });
    for (const event of [...eventNames, 'message']) {
      source.addEventListener(event, (e) => {
        // The gateway's error event has data; that of the connection has none.
        if (e instanceof MessageEvent && typeof e.data === 'string') {
          kept = e.lastEventId.startsWith('turn_');
          listener.frame({ id: e.lastEventId, event, data: e.data });
          if (event === 'done') end({ how: 'done' });
        } else if (!sent && source.readyState === EventSource.CLOSED) {
          end({ how: 'refused', problem: hidden });
        } else if (kept && source.readyState === EventSource.CONNECTING) {
          listener.interrupted(); // the browser asks for the rest
        } else {
          end({ how: 'lost', sent });
        }
      });
    }
  });
}
