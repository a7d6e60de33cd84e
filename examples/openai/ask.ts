// Asks the gateway through OpenAI's SDK for TypeScript: a stream, and a tool that this program runs.
//
//     npm install --prefix examples/openai
//     node examples/openai/ask.ts "what is on my list?"        (Node 22.18 or later)
import OpenAI from 'openai';

const gateway = process.env.SLUICE_URL ?? 'http://127.0.0.1:8080';
const client = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: 'none' });
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: process.argv[2] ?? 'what is on my list?' }];

async function batteryLevel(): Promise<string> {
  return '80 percent';
}

const run = client.chat.completions.runTools({
  model: 'sluice',
  stream: true,
  messages,
  tools: [
    {
      type: 'function',
      function: { name: 'battery_level', description: "Returns the charge of this device's battery.", parameters: { type: 'object', properties: {} }, function: batteryLevel },
    },
  ],
});
run.on('content', (delta) => process.stdout.write(delta));
await run.finalContent();
console.log();
