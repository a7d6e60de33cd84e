// Uses the gateway as a provider of models, through the AI SDK's packages for OpenAI's API.
//
//     echo '{"gateway": "http://127.0.0.1:8080", "responses": false}' | node provider.mjs
//
// Writes for each client {"text", "streamed", "calls", "thoughts", "usage", "finish", "colour", "steps",
// "object", "wrong", "broken"}: an answer, the same as a stream with what else came, an answer after
// a call of a tool of the client's, an object, an error by its class and status, and one in a stream.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, stepCountIs, streamText, tool } from 'ai-6.0.326';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;

const { gateway, responses } = await json(process.stdin);
const settings = { baseURL: `${gateway}/v1`, apiKey: 'none' };
const openai = createOpenAI(settings);
const compatible = (more) => createOpenAICompatible({ name: 'sluice', ...settings, ...more });
const clients = {
  chat: (model) => openai.chat(model),
  compatible: (model) => compatible({ supportsStructuredOutputs: true, includeUsage: true })(model),
  'compatible, plain': (model) => compatible({ includeUsage: true })(model),
  ...(responses && { responses: (model) => openai.responses(model) }),
};
const providerOptions = { openai: { store: false } };

async function use(client) {
  const seen = {};
  const model = client('sluice');
  const question = { model, prompt: 'Show my todos', maxRetries: 0, providerOptions };
  seen.text = (await generateText(question)).text;

  const stream = streamText(question);
  seen.streamed = '';
  for await (const delta of stream.textStream) seen.streamed += delta;
  seen.calls = (await stream.toolCalls).filter((call) => !call.providerExecuted).length;
  seen.thoughts = await stream.reasoningText ?? '';
  seen.usage = (await stream.usage).totalTokens;
  seen.finish = await stream.finishReason;

  const picked = streamText({
    ...question, prompt: 'Pick a colour', stopWhen: stepCountIs(3),
    tools: { pick_color: tool({ description: 'Picks a colour', inputSchema: z.object({}), execute: async () => 'red' }) },
  });
  seen.colour = await picked.text;
  seen.steps = (await picked.steps).map((step) => [step.finishReason, ...step.toolCalls.map((call) => call.toolName)].join(' '));

  const schema = z.object({ title: z.string(), urgent: z.boolean(), tags: z.array(z.string()) });
  // A client without structured outputs does not send the schema, so nobody knows it.
  const wanted = client === clients['compatible, plain'] ? { output: 'no-schema' } : { schema };
  seen.object = (await generateObject({ ...question, ...wanted })).object;

  try {
    await generateText({ ...question, model: client('gpt-9') });
  } catch (error) {
    seen.wrong = `${APICallError.isInstance(error)} ${error.statusCode} ${error.message}`;
  }
  const failing = streamText({ ...question, prompt: 'Break', onError: ({ error }) => { seen.broken = error.message ?? JSON.stringify(error); } });
  await failing.consumeStream();
  return seen;
}

const seen = {};
for (const [name, client] of Object.entries(clients)) seen[name] = await use(client);
process.stdout.write(JSON.stringify(seen));
