// Runs the script of examples/chatkit/index.html beside a stand-in for the component,
// and sends with the page's own fetch what the component would.
//
//     node chatkit_page.mjs GATEWAY
//
// Writes {"options", "turn", "stopped"}: what the component was told, the frames of a
// turn, and how a turn ended that was stopped at its first frame.
import { readFile } from 'node:fs/promises';

const gateway = process.argv[2];
const page = await readFile(new URL('../../../examples/chatkit/index.html', import.meta.url), 'utf8');
const script = /<script type="module">([^]*)<\/script>/.exec(page)[1];

let options;
const stored = {};
const globals = {
  location: { search: `?gateway=${encodeURIComponent(gateway)}&history=1` },
  localStorage: { getItem: (k) => stored[k] ?? null, setItem: (k, v) => { stored[k] = v; } },
  customElements: { whenDefined: async () => {} },
  document: { getElementById: () => ({ setOptions: (o) => { options = o; } }) },
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
await import(`data:text/javascript,${encodeURIComponent(script)}`);

const ask = (text, signal) => options.api.fetch(options.api.url, {
  method: 'POST', signal, headers: { Accept: 'text/event-stream' },
  body: JSON.stringify({
    type: 'threads.create',
    params: { input: { content: [{ type: 'input_text', text }], attachments: [], inference_options: {} } },
  }),
});

const turn = await (await ask('what is on my list?')).text();
const stop = new AbortController();
let stopped = 'not at all';
try {
  for await (const _ of (await ask('what is on my list?', stop.signal)).body) stop.abort();
} catch (e) {
  stopped = e.name;
}
console.log(JSON.stringify({ options, turn, stopped }));
