// Plays recorded turns, and talks with a gateway, through CopilotKit: its runtime as a server, in
// front of it HttpAgents, and its core as the page.
//
//     echo '{"tape": "http://…", "runs": {"NAME": 2}, "gateway": "http://…"}' | node play.mjs
//
// tape answers POST /NAME/RUN with the frames of a recorded turn; each is a thread of its own
// here. Writes {"runs": {"NAME": [run…]}, "talks": {…: [run…]}}; see play.mjs of AG-UI's client.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { collect } from '../thread.mjs';

process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true'; // it is read when the packages are
const { HttpAgent } = await import('@ag-ui/client');
const { CopilotKitCore } = await import('@copilotkit/core');
const { CopilotRuntime } = await import('@copilotkit/runtime/v2');
const { createCopilotNodeListener } = await import('@copilotkit/runtime/v2/node');
const { z } = await import('zod');

const { tape, runs, gateway } = await json(process.stdin);

const complaints = [];
for (const kind of ['warn', 'error']) console[kind] = (...words) => complaints.push(words.map(String).join(' '));

const agents = { sluice: new HttpAgent({ url: `${gateway}/agui` }) };
for (const [name, count] of Object.entries(runs)) {
  for (let i = 0; i < count; i++) agents[`${name}-${i}`] = new HttpAgent({ url: `${tape}/${name}/${i}` });
}
const server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath: '/api/copilotkit' }));
await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });

globalThis.window = globalThis; // the core connects in a page only
const copilotkit = new CopilotKitCore({ runtimeUrl: `http://127.0.0.1:${server.address().port}/api/copilotkit` });
await new Promise((resolve) => {
  copilotkit.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => { if (status === 'connected') resolve(); } });
});

let ids = 0;
// run lets an agent answer in its thread, and returns what is new of that.
async function run(agent, text) {
  const known = new Set(agent.messages.map((m) => m.id));
  const seen = { text: '', thoughts: '', calls: [], results: {}, verdict: '', complaints: [] };
  complaints.length = 0;
  const subscription = agent.subscribe({
    onRunFinishedEvent: ({ event }) => { seen.verdict = event.outcome?.type ?? 'success'; },
    onRunErrorEvent: ({ event }) => { seen.verdict = `${event.code} ${event.message}`; },
  });
  agent.addMessage({ id: `user-${++ids}`, role: 'user', content: text });
  try {
    await copilotkit.runAgent({ agent });
  } catch (error) {
    seen.complaints.push(`thrown: ${error.message}`);
  }
  subscription.unsubscribe();
  seen.complaints.push(...complaints);
  collect(seen, agent, known);
  return seen;
}

const seen = { runs: {}, talks: {} };
for (const [name, count] of Object.entries(runs)) {
  seen.runs[name] = [];
  for (let i = 0; i < count; i++) seen.runs[name].push(await run(copilotkit.getAgent(`${name}-${i}`), 'go'));
}

// Two threads with the gateway: three turns, and one with a tool of the page's.
const talk = async (thread, ...texts) => {
  const agent = copilotkit.getAgent('sluice').clone();
  agent.threadId = thread;
  seen.talks[thread] = [];
  for (const text of texts) seen.talks[thread].push(await run(agent, text));
};
await talk('turns', '[turns] one', 'two', 'three');
copilotkit.addTool({ name: 'pick_color', description: 'Lets the user pick a color', parameters: z.object({}), handler: async () => 'red' });
await talk('page', '[page] Which color?');

process.stdout.write(JSON.stringify(seen), () => process.exit());
