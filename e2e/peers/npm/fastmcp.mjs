// A server on the TypeScript framework fastmcp: over stdio without an argument,
// over streamable HTTP with "http" or "stateless", at 127.0.0.1:$PORT/mcp.
import { setTimeout as sleep } from 'node:timers/promises';
import { FastMCP, UserError, imageContent } from 'fastmcp';
import { z } from 'zod';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const server = new FastMCP({ name: 'fastmcp-peer', version: '1.0.0' });
const readOnly = { readOnlyHint: true, openWorldHint: false };

server.addTool({
  name: 'echo',
  description: 'Repeats a text',
  parameters: z.object({ message: z.string().min(1) }),
  annotations: { ...readOnly, title: 'Echo' },
  execute: async ({ message }) => `fastmcp says ${message}`,
});

server.addTool({
  name: 'add',
  description: 'Adds two numbers; the answer has a structure',
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  outputSchema: z.object({ sum: z.number() }),
  annotations: readOnly,
  execute: async ({ a, b }) => ({ structuredContent: { sum: a + b }, content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }] }),
});

server.addTool({
  name: 'about',
  description: 'Tells about this server; takes no arguments',
  annotations: readOnly,
  execute: async () => 'a server for tests',
});

server.addTool({
  name: 'refuse',
  description: 'Always fails, with words meant for the user',
  execute: async () => { throw new UserError('This is not allowed'); },
});

server.addTool({
  name: 'crash',
  description: 'Always throws',
  execute: async () => { throw new Error('a bug in the tool'); },
});

server.addTool({
  name: 'picture',
  description: 'Returns an image and a text',
  annotations: readOnly,
  execute: async () => ({
    content: [{ type: 'text', text: 'One pixel:' }, await imageContent({ buffer: Buffer.from(pixel, 'base64') })],
  }),
});

server.addTool({
  name: 'long',
  description: 'Returns so many characters',
  parameters: z.object({ length: z.number().int().max(1_000_000) }),
  annotations: readOnly,
  execute: async ({ length }) => 'ä'.repeat(length),
});

server.addTool({
  name: 'slow',
  description: 'Works for so many milliseconds, reports its progress, streams and logs',
  parameters: z.object({ ms: z.number().int().max(60_000) }),
  execute: async ({ ms }, { log, reportProgress, streamContent }) => {
    for (let i = 1; i <= 4; i++) {
      await sleep(ms / 4);
      log.info('working', { step: i });
      await reportProgress({ progress: i, total: 4 });
      await streamContent({ type: 'text', text: `step ${i}` });
    }
    return 'done slowly';
  },
});

server.addTool({
  name: 'exit',
  description: 'Ends the process in the middle of a call',
  execute: async () => process.exit(1),
});

const mode = process.argv[2];
await server.start(
  mode
    ? {
        transportType: 'httpStream',
        httpStream: { host: '127.0.0.1', port: Number(process.env.PORT ?? 0), stateless: mode === 'stateless' },
      }
    : { transportType: 'stdio' },
);
