// Has a conversation with the gateway through the AI SDK's own Chat and transport.
//
//     echo '{"package": "ai-6.0.326", "gateway": "http://127.0.0.1:8080", "asking": "http://127.0.0.1:8081"}' | node chat.mjs
//
// asking is a gateway that has calls confirmed. Writes {"turns": [[part…]…], "messages", "events",
// "calls", "errors", "resent", "asked", "both"}: the parts of each answer, the names of the events that
// came as data-sluice, the client's calls, its errors, of a call of a tool of its own the parts
// of the message that the answer continued, of a call that a person was asked about the
// parts after a yes, after a no, and in a client that cannot ask, and of two such calls the requests
// when the first is answered, and when both are.
import { json } from 'node:stream/consumers';

const { package: name, gateway, asking } = await json(process.stdin);
const user = name.replaceAll('.', '_');
const thing = `milk${name.replaceAll(/\D/g, '')}`; // the list is everybody's
const library = await import(name);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } = library;

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
  ...options, transport: new DefaultChatTransport({ api: `${gateway}/api/chat`, body: { user_id: user } }),
  onToolCall: ({ toolCall }) => seen.calls.push(toolCall.toolName),
});
for (const text of [`Remind me to buy ${thing} tomorrow`, 'What is on my list?', `Mark ${thing} as done`]) {
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

// What a person answers about a call goes out by itself when all of a step are answered. ai 5 does
// not know the question, so it says that it cannot ask.
const complete = library.lastAssistantMessageIsCompleteWithApprovalResponses;
function asked(canAsk, over) {
  const counted = { requests: 0 };
  counted.chat = new Chat({
    onError: (error) => { seen.errors.push(error.message); over(); },
    onToolCall: ({ toolCall }) => seen.calls.push(toolCall.toolName),
    sendAutomaticallyWhen: complete,
    transport: new DefaultChatTransport({
      api: `${asking}/api/chat`, body: { user_id: user, approvals: canAsk },
      fetch: (url, init) => { counted.requests++; return fetch(url, init); },
    }),
    onFinish: () => { if (!canAsk || counted.requests > 1) over(); },
  });
  return counted;
}
const waiting = (chat) => chat.messages.at(-1).parts.filter((part) => part.state === 'approval-requested');
const settled = () => new Promise(setImmediate); // until the chat has noticed what is over

async function ask(approved) {
  const { promise, resolve } = Promise.withResolvers();
  const page = asked(approved !== undefined, resolve);
  await page.chat.sendMessage({ text: `Remind me to buy eggs for ${thing} tomorrow` });
  for (const part of approved === undefined ? [] : waiting(page.chat)) {
    await page.chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: approved ? undefined : 'Not now' });
  }
  await promise;
  await settled();
  const parts = page.chat.messages.at(-1).parts.map(short);
  await page.chat.sendMessage({ text: 'What is on my list?' });
  return { requests: page.requests, parts, next: page.chat.messages.at(-1).parts.map(short) };
}

async function askBoth() {
  const { promise, resolve } = Promise.withResolvers();
  const page = asked(true, resolve);
  await page.chat.sendMessage({ text: 'Buy both' });
  const [one, other] = waiting(page.chat);
  await page.chat.addToolApprovalResponse({ id: one.approval.id, approved: true });
  await settled();
  const early = page.requests;
  await page.chat.addToolApprovalResponse({ id: other.approval.id, approved: false });
  await promise;
  await settled();
  return { early, requests: page.requests, parts: page.chat.messages.at(-1).parts.map(short) };
}

seen.asked = { cannot: await ask() };
if (complete) {
  Object.assign(seen.asked, { yes: await ask(true), no: await ask(false) });
  seen.both = await askBoth();
}

process.stdout.write(JSON.stringify({ ...seen, events: [...seen.events] }));
