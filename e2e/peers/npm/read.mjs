// Reads answers with the libraries that people use for it in JavaScript. stdin has a
// line of JSON for each: {name, api, base}. stdout gets one for each library that
// speaks the protocol: {name, reader, text, thoughts, calls, error}. With an argument
// only that library reads.
import { createInterface } from 'node:readline';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import OpenAI from 'openai';

const said = [{ role: 'user', content: 'hello' }];
const call = (id, name, args) => ({ id, name, arguments: JSON.parse(args || '{}') });

async function openaiChat(base) {
  const client = new OpenAI({ baseURL: base, apiKey: 'sk-test', maxRetries: 0 });
  const stream = client.chat.completions.stream({ model: 'judged', messages: said });
  const message = (await stream.finalChatCompletion()).choices[0].message;
  return {
    text: (message.content ?? '') + (message.refusal ?? ''),
    calls: (message.tool_calls ?? []).map((c) => call(c.id, c.function.name, c.function.arguments)),
  };
}

async function openaiResponses(base) {
  const client = new OpenAI({ baseURL: base, apiKey: 'sk-test', maxRetries: 0 });
  const answer = await client.responses.stream({ model: 'judged', input: 'hello' }).finalResponse();
  const contents = answer.output.filter((i) => i.type === 'message').flatMap((i) => i.content);
  if (answer.status === 'failed') throw new Error(answer.error?.message ?? 'failed');
  return {
    text: contents.map((c) => c.text ?? c.refusal ?? '').join(''),
    thoughts: answer.output.filter((i) => i.type === 'reasoning').flatMap((i) => i.summary ?? []).map((s) => s.text).join(''),
    calls: answer.output.filter((i) => i.type === 'function_call').map((c) => call(c.call_id, c.name, c.arguments)),
  };
}

async function anthropic(base) {
  const client = new Anthropic({ baseURL: base.replace(/\/v1$/, ''), apiKey: 'sk-test', maxRetries: 0 });
  const message = await client.messages.stream({ model: 'judged', max_tokens: 1000, messages: said }).finalMessage();
  if (message.stop_reason === 'refusal') throw new Error('refusal');
  const of = (type, member) => message.content.filter((b) => b.type === type).map((b) => b[member]).join('');
  return {
    text: of('text', 'text'),
    thoughts: of('thinking', 'thinking'),
    calls: message.content.filter((b) => b.type === 'tool_use').map((b) => ({ id: b.id, name: b.name, arguments: b.input })),
  };
}

async function aiSDK(base) {
  const provider = createOpenAICompatible({ name: 'judged', baseURL: base, apiKey: 'sk-test' });
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }];
  const { stream } = await provider.chatModel('judged').doStream({ prompt });
  const read = { text: '', thoughts: '', calls: [] };
  for await (const part of stream) {
    switch (part.type) {
      case 'text-delta': read.text += part.delta; break;
      case 'reasoning-delta': read.thoughts += part.delta; break;
      case 'tool-call': read.calls.push(call(part.toolCallId, part.toolName, part.input)); break;
      case 'error': throw part.error;
      case 'finish':
        if (part.finishReason?.raw === 'content_filter') throw new Error('content filter');
    }
  }
  return read;
}

const readers = {
  'chat/completions': { openai: openaiChat, 'ai-sdk': aiSDK },
  responses: { openai: openaiResponses },
  messages: { anthropic },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { name, api, base } = JSON.parse(line);
  for (const [reader, read] of Object.entries(readers[api])) {
    if (process.argv[2] && process.argv[2] !== reader) continue;
    const answer = await read(base).catch((e) => ({ error: String(e?.message ?? e) || 'error' }));
    console.log(JSON.stringify({ name, reader, ...answer }));
  }
}
