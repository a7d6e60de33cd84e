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
 * A browser sends even a POST again, by itself, when a connection that it uses once
 * more turns out to be closed. The key makes one turn of it: the gateway answers the
 * second with 409. So it does, for ten minutes, if you send the turn of a lost
 * connection again with its key; if it runs instead, it had not got there.
 */
export async function* ask(gateway, input, { signal, key = crypto.randomUUID() } = {}) {
  const response = await fetch(new URL('/chat/stream', gateway), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify({ input, accumulated: false }),
    signal,
  }).catch((cause) => { throw lost(cause, signal); });
  if (response.status === 409) throw new Lost('the turn was there already');
  if (!isStream(response)) throw new Refused(response.status, await response.json().catch(() => ({})));

  const reader = response.body.getReader();
  try {
    for await (const { event, data } of frames(reader)) {
      yield { event, data: JSON.parse(data) };
      if (event === 'done') return;
    }
  } catch (cause) {
    throw lost(cause, signal);
  } finally {
    reader.cancel().catch(() => {}); // the connection closes, wherever the loop was left
  }
  throw new Lost('the stream ended without done');
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
