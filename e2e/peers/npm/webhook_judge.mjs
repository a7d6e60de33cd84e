// Verifies signatures of webhooks with the library of Standard Webhooks. Reads an array of
// {secret, headers, body, ok} from stdin.
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const requests = JSON.parse(await text(process.stdin));
for (const { secret, headers, body, ok } of requests) {
  let verified = true;
  const lower = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]));
  try {
    new Webhook(secret).verify(body, lower);
  } catch (e) {
    verified = false;
    if (ok) console.log(e.message);
  }
  if (verified !== ok) process.exit(1);
}
console.log(`${requests.length} as expected`);
