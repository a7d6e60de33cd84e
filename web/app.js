// The page: one form, one POST /chat/stream a turn, its events as they come.
// Whatever comes from the server is set as text, never as markup.
'use strict';

const form = document.getElementById('ask');
const input = document.getElementById('input');
const send = document.getElementById('send');
const stop = document.getElementById('stop');
const turns = document.getElementById('turns');

let running = null; // AbortController of the turn under way

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (!running && input.value.trim() !== '') runTurn(input.value);
});
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener('click', () => running?.abort());

async function runTurn(question) {
  const view = newView(question);
  running = new AbortController();
  send.disabled = true;
  stop.disabled = false;
  input.value = '';
  try {
    const response = await post(question, running.signal);
    if (response.ok && response.body) await show(response.body, view);
    else await refused(response, view);
  } catch (err) {
    if (running.signal.aborted) view.line('done', 'stopped by you');
    else view.line('error', lost);
  }
  running = null;
  send.disabled = false;
  stop.disabled = true;
  input.focus();
}

const lost = 'The connection was lost before the turn was done. It may have run on, tools included: look before you send it again.';

// post sends a key of its own, so that the same turn can never run twice.
function post(question, signal) {
  const body = { input: question, accumulated: false };
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && zone !== 'Etc/Unknown') body.timezone = zone;
  return fetch('chat/stream', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': newKey() },
    body: JSON.stringify(body),
    signal,
  });
}

// newKey does without crypto.randomUUID, which plain http pages do not have.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

// show reads the stream up to its done event, and then leaves it.
async function show(body, view) {
  for await (const { event, data } of frames(body)) {
    view[event]?.(data);
    if (event === 'done') return;
  }
  view.line('error', lost);
}

// frames reads Server-Sent Events. The server ends lines with LF only and puts
// the data on one line; comments and retry are passed over.
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // what is left in rest is not a whole frame
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const event = /^event: (.*)$/m.exec(block);
        const data = /^data: (.*)$/m.exec(block);
        if (event && data) yield { event: event[1], data: JSON.parse(data[1]) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// refused shows a problem reply (RFC 9457), or the bare status.
async function refused(response, view) {
  const problem = await response.json().catch(() => null);
  view.line('error', problem?.detail ?? `The server answered ${response.status}.`);
  for (const e of problem?.errors ?? []) view.line('error', `${e.field}: ${e.message}`);
  const wait = response.headers.get('Retry-After');
  if (wait) view.line('done', `try again in ${wait} s`);
}

// newView makes the article of a turn. Its methods are named after the events.
function newView(question) {
  const article = document.createElement('article');
  const calls = new Map(); // call_id to its element
  let thoughts = null;
  let answer = null;
  turns.prepend(article);

  function line(kind, text, tag = 'p', parent = article) {
    const el = document.createElement(tag);
    el.className = kind;
    el.textContent = text;
    parent.append(el);
    return el;
  }
  line('question', question);

  return {
    line,
    start(data) {
      document.getElementById('offline').hidden = data.model !== 'offline-demo';
    },
    thinking(data) {
      if (!thoughts) {
        thoughts = line('thoughts', '', 'details');
        line('', 'Thoughts', 'summary', thoughts);
      }
      line('', data.content, 'p', thoughts);
    },
    tool_call(data) {
      const el = calls.get(data.call_id) ?? line('tool', '', 'div');
      calls.set(data.call_id, el);
      answer = null; // text after a call stands below it
      showCall(el, data, line);
    },
    response_delta(data) {
      answer ??= line('answer', '', 'div');
      answer.append(document.createTextNode(data.delta));
    },
    error(data) {
      const wait = data.retry_after_ms ? ` Try again in ${Math.ceil(data.retry_after_ms / 1000)} s.` : '';
      line('error', `${data.message} (${data.error_type})${wait}`);
    },
    done(data) {
      const u = data.usage;
      const tokens = u.input_tokens + u.output_tokens + u.thinking_tokens;
      const tools = data.tools_called.length;
      line('done', `${data.success ? 'done' : 'failed'}: ${data.finish_reason}, ${data.timings.total_ms} ms, ${tokens} tokens, ${tools} tool call${tools === 1 ? '' : 's'}, ${data.request_id}`);
    },
  };
}

function showCall(el, data, line) {
  const took = data.duration_ms === undefined ? '' : `, ${data.duration_ms} ms`;
  const server = data.server ? ` on ${data.server}` : '';
  el.dataset.status = data.status;
  const far = data.progress === undefined ? '' : ` ${data.progress}${data.total ? ` of ${data.total}` : ''}`;
  el.textContent = `${data.tool_name}${server}: ${data.status}${far}${took}`;
  line('', JSON.stringify(data.arguments), 'pre', el);
  const outcome = data.result ?? data.error ?? data.message;
  if (outcome) line('', outcome + (data.truncated ? ' …' : ''), 'pre', el);
}
