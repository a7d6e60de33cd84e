// Uses a gateway through two versions of OpenAI's SDK and through LangChain. The input is JSON
// with the gateway's address and the question; the output says what each client got.
import { z } from 'zod';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';

const { gateway, question } = JSON.parse(await new Response(process.stdin).text());
const baseURL = gateway + '/v1';
const weather = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};
const asksForWeather = { role: 'user', content: 'What is the weather?' };
const Note = z.object({ title: z.string(), urgent: z.boolean() });

// fits says whether a value is a note.
const fits = (note) => Note.safeParse(note).success;

async function refused(call) {
  try {
    await call();
    return 'not refused';
  } catch (e) {
    return `${e.constructor.name} ${e.status} ${(e.requestID ?? e.headers?.get?.('x-request-id') ?? '').slice(0, 4)}`;
  }
}

async function sdk(version) {
  const { default: OpenAI } = await import(`openai-${version}`);
  const { zodResponseFormat } = await import(`openai-${version}/helpers/zod`);
  const { create, stream, parse } = Object.fromEntries(
    ['create', 'stream', 'parse'].map((name) => {
      const { completions } = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }).chat;
      return [name, completions[name].bind(completions)];
    }),
  );
  const messages = [{ role: 'user', content: question }];
  const whole = await create({ model: 'sluice', messages });
  const run = stream({ model: 'sluice', messages, stream_options: { include_usage: true } });
  const streamed = await run.finalChatCompletion();
  const asked = await create({ model: 'sluice', messages: [asksForWeather], tools: [weather], tool_choice: 'required' });
  const call = asked.choices[0].message.tool_calls?.[0];
  const answered = await create({
    model: 'sluice', tools: [weather],
    messages: [asksForWeather, asked.choices[0].message, { role: 'tool', tool_call_id: call?.id ?? '', content: 'minus 5' }],
  });
  const parsed = await parse({ model: 'sluice', messages, response_format: zodResponseFormat(Note, 'note') });
  return {
    text: whole.choices[0].message.content,
    streamed: streamed.choices[0].message.content,
    usage: streamed.usage?.total_tokens > 0,
    call: `${asked.choices[0].finish_reason} ${call?.function.name}`,
    answered: answered.choices[0].finish_reason,
    object: fits(parsed.choices[0].message.parsed),
    refused: await refused(() => create({ model: 'gpt-9', messages })),
  };
}

async function langchain() {
  const model = (name = 'sluice') => new ChatOpenAI({ model: name, apiKey: 'none', configuration: { baseURL }, maxRetries: 0 });
  const whole = await model().invoke(question);
  let streamed;
  for await (const chunk of await model().stream(question)) streamed = streamed?.concat(chunk) ?? chunk;
  const human = new HumanMessage(asksForWeather.content);
  const asked = await model().bindTools([weather], { tool_choice: 'any' }).invoke([human]);
  const call = asked.tool_calls?.[0];
  const answered = await model().bindTools([weather]).invoke([human, asked, new ToolMessage({ tool_call_id: call?.id ?? '', content: 'minus 5' })]);
  const object = await model().withStructuredOutput(Note).invoke(question);
  const called = await model().withStructuredOutput(Note, { method: 'functionCalling' }).invoke(question);
  return {
    text: whole.content,
    streamed: streamed.content,
    usage: streamed.usage_metadata?.total_tokens > 0,
    call: `${asked.response_metadata.finish_reason} ${call?.name}`,
    answered: answered.response_metadata.finish_reason,
    object: fits(object) && fits(called),
    refused: await refused(() => model('gpt-9').invoke(question)),
  };
}

const seen = {};
for (const [name, run] of [['openai 6.49.0', () => sdk('6.49.0')], ['openai 7.57.0', () => sdk('7.57.0')], ['langchain', langchain]]) {
  seen[name] = await run().catch((e) => ({ failed: String(e.stack ?? e) }));
}
console.log(JSON.stringify(seen));
