// Asks one question: node ask.mjs "What is on my list?"
//
// GATEWAY is http://localhost:8080 unless the environment says otherwise. Exit code 0:
// answered; 1: the turn failed, and the gateway has said why; 2: the gateway did not
// run it; 3: the connection broke, and what the turn did is unknown.
import { ask, Lost, Refused } from './client.mjs';

const gateway = process.env.GATEWAY ?? 'http://localhost:8080';
const input = process.argv[2];
if (!input) {
  console.error('usage: node ask.mjs TEXT');
  process.exit(2);
}

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
try {
  for await (const { event, data } of ask(gateway, input, { signal: stop.signal })) {
    if (event === 'response_delta') process.stdout.write(data.delta);
    // A terminal takes nothing back: the answer begins again with what stays of it.
    if (event === 'response_reset') process.stdout.write(`\n[begins again]\n${data.accumulated}`);
    if (event === 'tool_call') console.error(`${data.tool_name}: ${data.status}`);
    if (event === 'error') console.error(`${data.error_type}: ${data.message}`);
    if (event === 'done') {
      process.stdout.write('\n');
      process.exitCode = data.success ? 0 : 1;
    }
  }
} catch (e) {
  console.error(stop.signal.aborted ? 'stopped' : e.message);
  process.exitCode = e instanceof Refused ? 2 : e instanceof Lost ? 3 : 1;
}
