// ask runs one chat turn over EventSource and returns a function that stops it.
//
//   event(type, data)  each event of the turn in order: start, thinking, tool_call,
//                      response_delta, response_reset, error, and at the end always done
//   lost(opened)       the connection broke before done: nobody knows what the turn
//                      did. If it never opened, the gateway may have refused it, and
//                      EventSource does not tell why
//
// If the gateway keeps turns (SLUICE_STORE), the browser itself asks for the rest of one
// whose connection breaks, at whichever gateway goes on with it; lost is called only when
// that is refused, or nobody has answered for half a minute.
export function ask(gateway, input, { event, lost }) {
  const url = new URL('/chat/stream', gateway);
  url.search = new URLSearchParams({
    input,
    accumulated: 'false', // each delta brings the new text alone
    // A connection that dies before the first event is opened again by the browser.
    // The key tells the gateway that this is the same turn.
    idempotency_key: crypto.randomUUID(), // needs https or localhost
  });
  const source = new EventSource(url);
  let opened = false, task, kept = false, broken;
  source.onopen = () => { opened = true; };

  const tell = ({ type, data, lastEventId }) => {
    clearTimeout(broken);
    broken = undefined;
    kept = lastEventId.startsWith('turn_');
    const parsed = JSON.parse(data);
    if (type === 'start') task = parsed.task_id;
    event(type, parsed);
  };
  const giveUp = () => {
    clearTimeout(broken);
    source.close(); // or it would come back
    lost(opened);
  };
  for (const type of ['start', 'thinking', 'tool_call', 'response_delta', 'response_reset']) {
    source.addEventListener(type, tell);
  }
  source.addEventListener('done', (e) => {
    source.close(); // EventSource would come back, for the end of a stream is no end to it
    tell(e);
  });
  source.addEventListener('error', (e) => {
    if (typeof e.data === 'string') return tell(e); // an event of the turn; done follows
    // The connection's error. Another gateway goes on within 21 seconds with the turns of
    // one that died.
    if (kept && source.readyState === EventSource.CONNECTING) broken ??= setTimeout(giveUp, 30_000);
    else giveUp();
  });
  return () => {
    clearTimeout(broken);
    source.close();
    // A gateway that keeps turns does not end one because its client leaves.
    if (task) fetch(new URL(`/tasks/${task}/cancel`, gateway), { method: 'POST' }).catch(() => {});
  };
}
