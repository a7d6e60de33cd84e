// The client under test, as the conformance package starts it. The real one is the
// gateway: this tells the Go test which server to use and ends when that has been
// done.
const url = process.argv.at(-1);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const reply = await fetch(process.env.SLUICE_CONFORMANCE_TEST, { method: 'POST', body: JSON.stringify({ url, context }) });
if (!reply.ok) process.exit(1);
