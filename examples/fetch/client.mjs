// A client of Sluice over fetch, for browsers and for Node 20 or newer.

/** The gateway did not run the turn. problem says why (RFC 9457). */
export class Refused extends Error {
  constructor(status, problem) {
    super(`${status} ${problem.detail ?? problem.title ?? ''}`);
    this.status = status;
    this.problem = problem;
  }
}

/** The stream ended without done: what the turn did is unknown. */
export class Lost extends Error {}

/**
 * ask runs one chat turn and yields its events as {event, data}. The last one is
 * done; without it, Lost is thrown. Abort the signal, or leave the loop, and the
 * gateway stops working on the turn.
 *
 * Nothing is sent twice. Who wants to send the turn again after Lost gives the same
 * key: if the first one has reached the gateway, the second is Refused with 409.
 */
export async function* ask(gateway, input, { signal, key = crypto.randomUUID() } = {}) {
  const response = await fetch(new URL('/chat/stream', gateway), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify({ input, accumulated: false }),
    signal,
  }).catch((cause) => { throw lost(cause, signal); });
  if (!isStream(response)) throw new Refused(response.status, await response.json().catch(() => ({})));

  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
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

// frames reads the frames of an event stream. A chunk ends anywhere, so a line is
// looked at when its end is there, and a frame when the blank line after it is. That
// is all that Sluice's streams need: their lines end with LF, and an event has one
// line of data. Comments (heartbeats) have no name before the colon.
async function* frames(reader) {
  let rest = '', frame = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return; // half a frame is no frame
    const lines = (rest + value).split('\n');
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
