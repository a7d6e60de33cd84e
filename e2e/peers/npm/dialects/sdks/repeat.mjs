// Asks for turns whose connections are cut, and leaves it to OpenAI's SDK to send them again. The
// input is JSON with an address, a question and how many turns; the output says how they ended.
const { gateway, question, turns } = JSON.parse(await new Response(process.stdin).text());

async function repeat(version) {
  const { default: OpenAI } = await import(`openai-${version}`);
  const client = new OpenAI({ baseURL: gateway + '/v1', apiKey: 'none' });
  const ended = {};
  await Promise.all([...Array(turns).keys()].map(async (i) => {
    const content = `${question} thing-npm${version[0]}-${i}`;
    const how = await client.chat.completions
      .create({ model: 'sluice', stream: i % 2 === 1, messages: [{ role: 'user', content }] })
      .then(() => 'answered', (e) => `${e.status} ${e.code}`);
    ended[how] = (ended[how] ?? 0) + 1;
  }));
  return ended;
}

console.log(JSON.stringify({ 'npm 6.49.0': await repeat('6.49.0'), 'npm 7.57.0': await repeat('7.57.0') }));
