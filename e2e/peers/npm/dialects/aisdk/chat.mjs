// Has a conversation with the gateway through the AI SDK's own Chat and transport.
//
//     echo '{"package": "ai-6.0.326", "gateway": "http://127.0.0.1:8080"}' | node chat.mjs
//
// Writes {"turns": [[part…]…], "messages", "events", "calls", "errors", "resent"}: the parts of
// each answer, the names of the events that came as data-sluice, the client's calls, its errors,
// and of a call of a tool of its own the parts of the message that the answer continued.
import { json } from 'node:stream/consumers';

const { package: name, gateway } = await json(process.stdin);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } = await import(name);

class Chat extends AbstractChat {
  constructor(options) {
    super({
      ...options,
      state: {
        messages: [], status: 'ready', error: undefined,
        pushMessage(m) { this.messages = [...this.messages, m]; },
        popMessage() { this.messages = this.messages.slice(0, -1); },
        replaceMessage(i, m) { this.messages = this.messages.with(i, structuredClone(m)); },
        snapshot: structuredClone,
      },
    });
  }
}

const seen = { turns: [], events: new Set(), calls: [], errors: [] };
const options = {
  onData: (part) => seen.events.add(part.data.event),
  onError: (error) => seen.errors.push(error.message),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
};
const short = (part) => [part.type, part.toolName ?? '', part.state ?? '', part.text ?? part.output ?? ''].join(' ').trim();

const chat = new Chat({
  ...options, transport: new DefaultChatTransport({ api: `${gateway}/api/chat`, body: { user_id: name.replaceAll('.', '_') } }),
  onToolCall: ({ toolCall }) => seen.calls.push(toolCall.toolName),
});
for (const text of ['Remind me to buy milk tomorrow', 'What is on my list?', 'Mark milk as done']) {
  await chat.sendMessage({ text });
  seen.turns.push(chat.messages.at(-1).parts.map(short));
}
seen.messages = chat.messages.length;
await chat.sendMessage({ text: ' ' }); // which is refused

// A call of a tool of the page's, as the gateway words it: the offline model calls none.
const call = [
  { type: 'start', messageId: 'msg_1' }, { type: 'start-step' },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'pick_color', input: {}, dynamic: true },
  { type: 'finish-step' }, { type: 'finish', finishReason: 'tool-calls' },
].map((part) => `data: ${JSON.stringify(part)}\n\n`).join('');
let requests = 0;
let over;
const ended = new Promise((resolve) => { over = resolve; });
const page = new Chat({
  ...options,
  transport: new DefaultChatTransport({
    api: `${gateway}/api/chat`,
    body: { tools: [{ type: 'function', function: { name: 'pick_color', parameters: { type: 'object' } } }] },
    fetch: (url, init) => (requests++ === 0 ? Promise.resolve(new Response(call)) : fetch(url, init)),
  }),
  // Without a promise: the chat would wait for a result that it puts behind what it waits for.
  onToolCall: ({ toolCall }) => { page.addToolResult({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: 'red' }); },
  onFinish: () => { if (requests > 1) over(); },
});
await page.sendMessage({ text: 'What is on my list?' });
await ended;
seen.resent = { requests, messages: page.messages.length, parts: page.messages.at(-1).parts.map(short) };

process.stdout.write(JSON.stringify({ ...seen, events: [...seen.events] }));
