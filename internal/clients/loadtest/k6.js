// The main checks of sluice loadtest for plain k6, without an extension:
//
//   URL=http://127.0.0.1:8080 VUS=10 DURATION=30s k6 run internal/clients/loadtest/k6.js
//
// k6 hands over a body when it is complete. So this sees what is in a stream and how
// long it took, but not when each event came: sluice loadtest sees that too.
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';

const base = (__ENV.URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const body = JSON.stringify({ input: __ENV.INPUT || 'what is on my list?', accumulated: false });
const events = new Counter('sse_events');

export const options = {
  vus: Number(__ENV.VUS || 10),
  duration: __ENV.DURATION || '10s',
  // One stream that is not as promised fails the run: exit code 99.
  thresholds: { checks: ['rate==1'], http_req_failed: ['rate==0'] },
};

export default function () {
  const res = http.post(`${base}/chat/stream`, body, {
    headers: { 'Content-Type': 'application/json' },
    timeout: '60s',
  });
  const frames = parse(res.body || '');
  const last = frames[frames.length - 1];
  // With a store the ids are those of the turn, which its first event names.
  const turn = frames.length > 0 && frames[0].data ? frames[0].data.turn_id : undefined;
  events.add(frames.length);
  check(res, {
    'status is 200': (r) => r.status === 200,
    'it is an event stream': (r) => /^text\/event-stream\b/.test(r.headers['Content-Type'] || ''),
    'every event is framed and holds JSON': () => frames.length > 0 && frames.every((f) => f.data !== undefined),
    'ids count without a gap': (r) => frames.every((f, i) => f.id === `${turn || r.headers['X-Request-Id']}:${i + 1}`),
    'start comes first, and once': () => frames.findIndex((f) => f.event === 'start') === 0 && count(frames, 'start') === 1,
    'exactly one done, at the end': () => count(frames, 'done') === 1 && last.event === 'done',
    'nothing is cut': (r) => /\n\n$/.test(r.body || ''),
    'the deltas are the final output': () => !!last && !!last.data && joined(frames) === last.data.final_output,
    'the turn succeeded': () => !!last && !!last.data && last.data.success === true,
  });
}

// parse takes a body apart. A block that is not id, event and one line of JSON
// data has no data.
function parse(text) {
  const blocks = text.split('\n\n').map((block) => block.split('\n').filter((line) => !/^(:|retry: \d+$|$)/.test(line)));
  return blocks.filter((lines) => lines.length > 0).map((lines) => {
    const frame = { id: value(lines[0], 'id'), event: value(lines[1], 'event') };
    try {
      if (lines.length === 3) frame.data = JSON.parse(value(lines[2], 'data'));
    } catch (_) {
      // no data: the check tells
    }
    return frame;
  });
}

function value(line, name) {
  return line && line.startsWith(`${name}: `) ? line.slice(name.length + 2) : undefined;
}

function count(frames, event) {
  return frames.filter((f) => f.event === event).length;
}

function joined(frames) {
  let text = '';
  for (const { event, data } of frames) {
    if (event === 'response_delta' && data) text += data.delta;
    if (event === 'response_reset' && data) text = data.accumulated;
  }
  return text;
}
