// A client of Sluice over fetch, for browsers and for Node 20 or newer.

/** The gateway did not run the turn. problem says why (RFC 9457). */
export class Refused extends Error {
  constructor(status, problem) {
    super(`${status} ${problem.detail ?? problem.title ?? ''}`);
    this.status = status;
    this.problem = problem;
  }
}

/** The connection broke before done: what the turn did is unknown. */
export class Lost extends Error {}

/**
 * ask runs one chat turn and yields its events as {event, data}. The last one is
 * done; without it, Lost is thrown. Abort the signal, or leave the loop, and the
 * gateway stops working on the turn.
 *
 * If the gateway keeps turns (SLUICE_STORE), the rest of one whose connection breaks is
 * asked for, and comes from whichever gateway goes on with it.
 *
 * A browser sends even a POST again, by itself, when a connection that it uses once
 * more turns out to be closed. The key makes one turn of it: the gateway answers the
 * second with 409. So it does, for ten minutes, if you send the turn of a lost
 * connection again with its key; if it runs instead, it had not got there.
 */
export async function* ask(gateway, input, { signal, key = crypto.randomUUID() } = {}) {
  const address = new URL('/chat/stream', gateway);
  const turn = { last: '', over: false };
  try {
    yield* events(await begin(address, input, key, signal), turn, signal);
    for (let tries = 0; !turn.over && turn.last.startsWith('turn_') && tries < maxTries; tries++) {
      await pause(1000, signal);
      const before = turn.last;
      const response = await fetch(address, { headers: { 'Last-Event-ID': turn.last }, signal }).catch(() => null);
      if (response && isStream(response)) yield* events(response, turn, signal);
      else await response?.body?.cancel(); // a gateway may be back there soon
      if (turn.last !== before) tries = 0;
    }
  } finally {
    if (!turn.over && turn.task) cancel(gateway, turn.task);
  }
  if (!turn.over) throw turn.cause ?? new Lost('the stream ended without done');
}

// How often in a row the rest is asked for, a second apart: another gateway goes on within
// 21 seconds with the turns of one that died.
const maxTries = 30;

async function begin(address, input, key, signal) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify({ input, accumulated: false }),
    signal,
  }).catch((cause) => { throw lost(cause, signal); });
  if (response.status === 409) throw new Lost('the turn was there already');
  if (!isStream(response)) throw new Refused(response.status, await response.json().catch(() => ({})));
  return response;
}

// events yields the events of one reply, and notes in turn how far it is.
async function* events(response, turn, signal) {
  const reader = response.body.getReader();
  const stream = frames(reader);
  try {
    for (;;) {
      const { done, value } = await stream.next().catch((cause) => {
        turn.cause = lost(cause, signal);
        if (signal?.aborted) throw turn.cause;
        return { done: true };
      });
      if (done) return;
      const { id, event } = value, data = JSON.parse(value.data);
      turn.last = id;
      if (event === 'start') turn.task = data.task_id;
      turn.over = event === 'done';
      yield { event, data };
      if (turn.over) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // the connection closes, wherever the loop was left
  }
}

// cancel ends a turn: a gateway that keeps turns does not do so because its client leaves.
function cancel(gateway, task) {
  fetch(new URL(`/tasks/${task}/cancel`, gateway), { method: 'POST', keepalive: true }).catch(() => {});
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener('abort', stop); resolve(); }, ms);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function isStream(response) {
  return response.status === 200 && response.headers.get('Content-Type')?.startsWith('text/event-stream');
}

// lost is what a failure of the connection means; that it was aborted is no loss.
function lost(cause, signal) {
  return signal?.aborted ? cause : new Lost('the connection broke', { cause });
}

// frames reads the frames of an event stream. A chunk ends anywhere, also within a
// character, so a line is looked at when its end is there, and a frame when the blank
// line after it is. That is all that Sluice's streams need: their lines end with LF,
// and an event has one line of data. A comment (a heartbeat) has no name before its
// colon.
async function* frames(reader) {
  const decoder = new TextDecoder();
  let rest = '', frame = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return; // half a frame is no frame
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (frame.data !== undefined) yield frame;
        frame = {};
        continue;
      }
      const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
      frame[field] = text;
    }
  }
}
