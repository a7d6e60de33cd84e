// CopilotKit's runtime in front of a gateway: what a page of CopilotKit talks to.
//
//     SLUICE_URL=http://localhost:8080 PORT=4000 node runtime.mjs
import { createServer } from 'node:http';

import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const gateway = process.env.SLUICE_URL ?? 'http://localhost:8080';

// /agui is the default agent or the router; /agui/NAME would be one agent or workflow.
const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url: `${gateway}/agui` }) } });

const server = createServer(createCopilotNodeListener({ runtime, basePath: '/api/copilotkit', cors: true }));
server.listen(process.env.PORT ?? 4000, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
