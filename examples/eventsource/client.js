// ask runs one chat turn over EventSource and returns a function that stops it.
//
//   event(type, data)  each event of the turn in order: start, thinking, tool_call,
//                      response_delta, response_reset, error, and at the end always done
//   lost(opened)       the connection broke before done: nobody knows what the turn
//                      did. If it never opened, the gateway may have refused it, and
//                      EventSource does not tell why
//
// If the gateway keeps turns (SLUICE_STORE), the rest of one whose connection breaks is
// asked for, and comes from whichever gateway goes on with it; lost is called only when
// nothing has come for half a minute.
export function ask(gateway, input, { event, lost }) {
  const url = new URL('/chat/stream', gateway);
  url.search = new URLSearchParams({
    input,
    accumulated: 'false', // each delta brings the new text alone
    // A connection that dies before the first event is opened again by the browser.
    // The key tells the gateway that this is the same turn.
    idempotency_key: crypto.randomUUID(), // needs https or localhost
  });
  let source, task, turn, number, opened = false, again, broken;

  const tell = ({ type, data, lastEventId }) => {
    clearTimeout(broken);
    broken = undefined;
    [turn, number] = lastEventId.split(':');
    const parsed = JSON.parse(data);
    if (type === 'start') task = parsed.task_id; // undefined: the turn is not kept
    event(type, parsed);
  };
  const close = () => {
    clearTimeout(again);
    clearTimeout(broken);
    source.close();
  };
  const giveUp = () => {
    close(); // or it would come back
    lost(opened);
  };
  const open = (address) => {
    source = new EventSource(address);
    source.onopen = () => { opened = true; };
    for (const type of ['start', 'thinking', 'tool_call', 'response_delta', 'response_reset']) {
      source.addEventListener(type, tell);
    }
    source.addEventListener('done', (e) => {
      tell(e);
      close(); // EventSource would come back, for the end of a stream is no end to it
    });
    source.addEventListener('error', (e) => {
      if (typeof e.data === 'string') return tell(e); // an event of the turn; done follows
      if (!task) return giveUp(); // the connection's error
      // Another gateway goes on within 21 seconds with the turns of one that died. The browser
      // asks for the rest, unless somebody answers with an error: then we do.
      broken ??= setTimeout(giveUp, 30_000);
      if (source.readyState !== EventSource.CLOSED) return;
      const rest = new URL(`/tasks/${task}/events?turn=${turn}&after=${number}`, gateway);
      again = setTimeout(open, 1000, rest);
    });
  };
  open(url);
  return () => {
    close();
    // A gateway that keeps turns does not end one because its client leaves.
    if (task) fetch(new URL(`/tasks/${task}/cancel`, gateway), { method: 'POST' }).catch(() => {});
  };
}
