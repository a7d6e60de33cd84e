// Plays turns through OpenAI's SDK. The input is JSON with the package's name, the address below
// which the turns are, their paths, and those that are refused as a document; the output says,
// for each, what the SDK has of it.
const { sdk, base, turns, refused } = JSON.parse(await new Response(process.stdin).text());
const { default: OpenAI } = await import(sdk);
const messages = [{ role: 'user', content: 'go' }];

const completed = ({ choices: [choice] }) => ({
  Text: choice.message.content ?? '',
  Calls: (choice.message.tool_calls ?? []).map((call) => call.function.name),
  Verdict: choice.finish_reason,
});

const responded = (response) => ({
  Text: response.output.flatMap((item) => (item.type === 'message' ? item.content.map((part) => part.text) : [])).join(''),
  Calls: response.output.filter((item) => ['mcp_call', 'function_call'].includes(item.type)).map((item) => item.name),
  Verdict: response.status,
});

async function streamed(client) {
  const run = client.chat.completions.stream({ model: 'sluice', messages });
  let text = '';
  run.on('content', (_, snapshot) => { text = snapshot; });
  try {
    return completed(await run.finalChatCompletion());
  } catch (e) {
    return { Text: text, Calls: [], Verdict: `error ${e.error?.message ?? e.message}` };
  }
}

async function response(client) {
  const run = client.responses.stream({ model: 'sluice', input: 'go' });
  let last;
  for await (const event of run) last = event;
  const seen = responded(last.response);
  if (seen.Verdict === 'completed') {
    const final = await run.finalResponse();
    if (final.output_text !== seen.Text) seen.Text = `${seen.Text}, but in the end ${final.output_text}`;
  }
  return seen;
}

const played = {};
for (const turn of turns) {
  const client = new OpenAI({ baseURL: `${base}/${turn}/v1`, apiKey: 'none', maxRetries: 0 });
  played[turn] = { Stream: await streamed(client), Response: await response(client) };
  if (refused.includes(turn)) continue;
  played[turn].Document = completed(await client.chat.completions.create({ model: 'sluice', messages }));
  played[turn].ResponseDocument = responded(await client.responses.create({ model: 'sluice', input: 'go' }));
}
console.log(JSON.stringify(played));
