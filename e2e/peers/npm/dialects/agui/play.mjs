// Plays recorded turns, and talks with a gateway, through AG-UI's own HttpAgent.
//
//     echo '{"package": "client-1.0.0", "tape": "http://…", "runs": {"NAME": 2}, "gateway": "http://…"}' | node play.mjs
//
// tape answers POST /NAME/RUN with the frames of a recorded turn; all runs of a name are one
// thread. Writes {"runs": {"NAME": [run…]}, "talks": {…: [run…]}}, where a run is what the
// thread has more than before it: {"text", "thoughts", "calls": [{id, name, arguments, result}],
// "results": {ID: "…"}, "verdict", "complaints": […]}. Results are also those of calls of an earlier
// run. What the client rejects or warns of is a complaint.
import { json } from 'node:stream/consumers';
import { collect } from '../thread.mjs';

const { package: name, tape, runs, gateway } = await json(process.stdin);
const { HttpAgent } = await import(name);

const complaints = [];
for (const kind of ['warn', 'error']) console[kind] = (...words) => complaints.push(words.map(String).join(' '));

// Of the first era no client sends answers to interrupts by itself.
class Agent extends HttpAgent {
  answers;

  requestInit(input) {
    const init = super.requestInit(input);
    return this.answers ? { ...init, body: JSON.stringify({ ...JSON.parse(init.body), resume: this.answers }) } : init;
  }
}

let ids = 0;
const said = (content) => ({ id: `user-${++ids}`, role: 'user', content });

// run lets the agent run once, and returns what is new of its thread. Interrupts are kept in
// agent.asked; answers are to those of the run before.
async function run(agent, parameters = {}, { answers, ...subscriber } = {}) {
  const known = new Set(agent.messages.map((m) => m.id));
  const seen = { text: '', thoughts: '', calls: [], results: {}, verdict: '', complaints: [] };
  complaints.length = 0;
  agent.asked = [];
  agent.answers = answers;
  try {
    await agent.runAgent({ ...parameters, ...(answers && { resume: answers }) }, {
      onRunFinishedEvent: ({ event }) => {
        agent.asked = event.outcome?.interrupts ?? [];
        seen.verdict = event.outcome?.type ?? 'success';
      },
      onRunErrorEvent: ({ event }) => { seen.verdict = `${event.code} ${event.message}`; },
      onRunFailed: ({ error }) => { seen.complaints.push(`failed: ${error.message}`); },
      ...subscriber,
    });
  } catch (error) {
    seen.complaints.push(`thrown: ${error.message}`);
  }
  seen.complaints.push(...complaints);
  collect(seen, agent, known);
  return seen;
}

const seen = { runs: {}, talks: {} };
for (const [thread, count] of Object.entries(runs)) {
  const agent = new Agent({ url: tape, threadId: thread });
  seen.runs[thread] = [];
  for (let i = 0; i < count; i++) {
    agent.url = `${tape}/${thread}/${i}`;
    const answers = agent.asked?.length ? agent.asked.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: true } })) : undefined;
    if (!answers) agent.addMessage(said('go'));
    seen.runs[thread].push(await run(agent, {}, { answers }));
  }
}

// talk has a conversation of its own, whose runs it collects.
async function talk(name, how) {
  const agent = new Agent({ url: `${gateway}/agui`, threadId: name });
  const all = seen.talks[name] = [];
  const more = (...args) => run(agent, ...args).then((r) => { all.push(r); return r; });
  const ask = (text, ...args) => { agent.addMessage(said(text)); return more(...args); };
  await how({ agent, ask, more });
}

if (gateway) {
  await talk('turns', async ({ ask }) => {
    for (const text of ['[turns] one', 'two', 'three']) await ask(text);
  });
  await talk('page', async ({ agent, ask, more }) => {
    const tools = [{ name: 'pick_color', description: 'Lets the user pick a color', parameters: { type: 'object', properties: {} } }];
    const { calls } = await ask('[page] Which color?', { tools });
    for (const { id } of calls) agent.addMessage({ id: `tool-${id}`, role: 'tool', toolCallId: id, content: 'red' });
    await more({ tools });
  });
  const decide = (name, payload) => talk(name, async ({ agent, ask, more }) => {
    await ask(`[${name}] Add milk`);
    await more({}, { answers: agent.asked.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })) });
    await ask('And now?');
  });
  await decide('approve', { approved: true });
  await decide('reject', { approved: false });
  await decide('edit', { approved: true, editedArgs: { title: 'oat milk' } });
  await talk('blocked', ({ ask }) => ask('[blocked] Say it'));
  await talk('refused', ({ ask }) => ask(' '));
  await talk('stop', ({ agent, ask }) => ask('[stop] Count', {}, { onTextMessageContentEvent: () => agent.abortRun() }));
}
process.stdout.write(JSON.stringify(seen));
