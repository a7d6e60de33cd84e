// ask runs one chat turn over EventSource and returns a function that stops it.
//
//   event(type, data)  each event of the turn in order: start, thinking, tool_call,
//                      response_delta, response_reset, error, and at the end always done
//   lost(opened)       the connection broke before done: nobody knows what the turn
//                      did. If it never opened, the gateway may have refused it, and
//                      EventSource does not tell why
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
  let opened = false;
  source.onopen = () => { opened = true; };

  const tell = ({ type, data }) => event(type, JSON.parse(data));
  for (const type of ['start', 'thinking', 'tool_call', 'response_delta', 'response_reset']) {
    source.addEventListener(type, tell);
  }
  source.addEventListener('done', (e) => {
    source.close(); // EventSource would come back, for the end of a stream is no end to it
    tell(e);
  });
  source.addEventListener('error', (e) => {
    if (typeof e.data === 'string') return tell(e); // an event of the turn; done follows
    source.close(); // the connection's error: it would come back
    lost(opened);
  });
  return () => source.close();
}
