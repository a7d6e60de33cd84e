// A server on @modelcontextprotocol/server, the TypeScript SDK of the 2026-07-28
// protocol. It speaks older ones, too, unless its second argument is "strict".
// Over stdio without an argument, over HTTP with "http", at 127.0.0.1:$PORT/mcp.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const readOnly = { readOnlyHint: true, openWorldHint: false };
const text = (s) => ({ content: [{ type: 'text', text: s }] });

let grown = false; // whether the tool "late" is offered: a new server is made for each request
let handler;

function make({ era }) {
  const server = new McpServer({ name: 'server2026-peer', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('echo', {
    description: 'Repeats a text',
    inputSchema: z.object({ message: z.string().min(1) }),
    annotations: readOnly,
  }, async ({ message }) => text(`server2026 says ${message}`));
  server.registerTool('add', {
    description: 'Adds two numbers; the answer has a structure',
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    outputSchema: z.object({ sum: z.number() }),
    annotations: readOnly,
  }, async ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }));
  server.registerTool('era', {
    description: 'Tells which era of the protocol this call came in; takes no arguments',
    annotations: readOnly,
  }, async () => text(era));
  server.registerTool('refuse', {
    description: 'Always fails',
  }, async () => ({ ...text('This is not allowed'), isError: true }));
  server.registerTool('crash', {
    description: 'Always throws',
  }, async () => { throw new Error('a bug in the tool'); });
  server.registerTool('picture', {
    description: 'Returns a text, an image and a link',
    annotations: readOnly,
  }, async () => ({
    content: [
      { type: 'text', text: 'One pixel:' },
      { type: 'image', data: pixel, mimeType: 'image/png' },
      { type: 'resource_link', uri: 'test://pixel', name: 'pixel' },
    ],
  }));
  server.registerTool('long', {
    description: 'Returns so many characters',
    inputSchema: z.object({ length: z.number().int().max(1_000_000) }),
    annotations: readOnly,
  }, async ({ length }) => text('ä'.repeat(length)));
  server.registerTool('slow', {
    description: 'Works for so many milliseconds and reports its progress if it was asked to',
    inputSchema: z.object({ ms: z.number().int().max(60_000) }),
  }, async ({ ms }, { mcpReq }) => {
    const token = mcpReq._meta?.progressToken;
    for (let i = 1; i <= 4; i++) {
      await sleep(ms / 4);
      if (token !== undefined) {
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: i, total: 4 } });
      }
    }
    return text('done slowly');
  });
  server.registerTool('ask', {
    description: 'Wants to be told a name before it answers',
  }, async ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'name');
    if (given) return text(`Hello, ${given.name}`);
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'Who are you?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        }),
      },
    });
  });
  server.registerTool('grow', {
    description: 'From now on there is one tool more, and the clients are told',
    annotations: { idempotentHint: true, destructiveHint: false },
  }, async () => {
    grown = true;
    handler?.notify.toolsChanged();
    return text('grown');
  });
  if (grown) {
    server.registerTool('late', { description: 'Came later', annotations: readOnly }, async () => text('here I am'));
  }
  return server;
}

if (process.argv[2] === 'http') {
  handler = createMcpHandler(make, { legacy: process.argv[3] === 'strict' ? 'reject' : 'stateless' });
  const http = createServer(toNodeHandler(handler));
  http.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
} else {
  serveStdio(make);
}
