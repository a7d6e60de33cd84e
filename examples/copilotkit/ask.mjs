// Asks through CopilotKit's runtime, with a tool that runs here: a page without the page.
//
//     node ask.mjs "what is on my list?"
import { CopilotKitCore } from '@copilotkit/core';
import { z } from 'zod';

globalThis.window = globalThis; // CopilotKit connects in a page only

const copilotkit = new CopilotKitCore({
  runtimeUrl: process.env.RUNTIME_URL ?? 'http://127.0.0.1:4000/api/copilotkit',
  tools: [{
    name: 'pick_color',
    description: 'Lets the user pick a color',
    parameters: z.object({}),
    handler: async () => 'red',
  }],
});
await new Promise((resolve, reject) => {
  copilotkit.subscribe({
    onRuntimeConnectionStatusChanged: ({ status }) => (status === 'connected' ? resolve() : status === 'error' && reject(new Error('no runtime'))),
  });
});

// core.runAgent, and not agent.runAgent, runs the page's tools and sends their results.
const agent = copilotkit.getAgent('default');
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: process.argv[2] });
agent.subscribe({
  onToolCallStartEvent: ({ event }) => process.stderr.write(`${event.toolCallName}\n`),
  onTextMessageContentEvent: ({ event }) => process.stdout.write(event.delta),
  onTextMessageEndEvent: () => process.stdout.write('\n'),
  onRunErrorEvent: ({ event }) => { process.stderr.write(`${event.code}: ${event.message}\n`); process.exitCode = 1; },
});
await copilotkit.runAgent({ agent });
