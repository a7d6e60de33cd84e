// A gateway that asks who its callers are.
import assert from 'node:assert/strict';
import { counts, text } from '../page.mjs';

const refused = /401 \(Unauthorized\)/;
const options = { first: 'credential', allow: refused };
const broken = { ...options, allow: /401 \(Unauthorized\)|net::ERR_INCOMPLETE_CHUNKED_ENCODING/ };

const isFocused = (locator) => locator.evaluate((node) => node === document.activeElement);

async function enter(v, key) {
  await v.at('credential').fill(key);
  await v.page.keyboard.press('Enter');
}

async function enters(v) {
  await enter(v, v.key);
  await v.at('me').getByText('ann').waitFor();
}

// The page says that it needs a key, in the place of the chat. A wrong one is no use, a right one
// lets turns run by both transports, and is nowhere but in one header.
export async function signIn(v) {
  assert.ok(await isFocused(v.at('credential')), 'the field has the focus');
  await v.page.getByRole('heading', { name: 'This gateway needs a key' }).waitFor();
  await counts(v.at('input'), 0); // nothing that would be refused
  const requests = [];
  v.page.on('request', (r) => requests.push(r));

  await enter(v, 'slk_wrong');
  await v.at('credential-hint').getByText('does not accept').waitFor();
  assert.equal(await v.at('credential').getAttribute('aria-invalid'), 'true');
  await v.prepare();
  await v.look('credential');
  await v.at('credential').fill('slk_\u00e9');
  await v.page.keyboard.press('Enter');
  await v.at('credential-hint').getByText('cannot have such characters').waitFor();
  await enters(v);
  await v.at('input').waitFor();
  await v.dev('gateway');
  await v.at('tool-list').getByText('create_todo').first().waitFor(); // what needs the key is read again

  await v.ask('plain-signed-in');
  assert.match(await text((await v.turn('done')).getByTestId('answer')), /^One two\.$/);
  await v.byEventSource();
  await v.ask('plain-ticket');
  assert.match(await text(v.page.locator('[data-testid=turn][data-state=done]').nth(1).getByTestId('answer')), /^One two\.$/);
  await v.turn('done');
  await v.dev('request');
  const curl = await text(v.at('curl'));
  assert.deepEqual(v.requests, ['POST', 'GET']);

  const { origin } = new URL(v.page.url());
  for (const r of requests) {
    const headers = await r.allHeaders();
    assert.ok(r.url().startsWith(origin), r.url());
    for (const [name, value] of Object.entries(headers)) {
      if (value.includes(v.key)) assert.deepEqual([name, value], ['authorization', `Bearer ${v.key}`], r.url());
    }
    assert.ok(!`${r.url()} ${r.postData()}`.includes(v.key), r.url());
    assert.ok(!r.url().includes('plain'), 'no text is in an address');
  }
  const [get] = requests.filter((r) => r.method() === 'GET' && new URL(r.url()).pathname === '/chat/stream');
  assert.match(get.url(), /\?ticket=slt1\.[\w-]+$/);
  assert.equal((await get.allHeaders()).authorization, undefined);
  const seen = await v.page.evaluate(() => [
    document.documentElement.outerHTML, document.cookie, location.href, document.title,
    JSON.stringify(localStorage), JSON.stringify(sessionStorage), JSON.stringify(history.state),
    ...performance.getEntries().map((e) => e.name),
  ]);
  assert.deepEqual(seen.filter((s) => s.includes(v.key)), []);
  assert.deepEqual(await v.context.cookies(), []);
  assert.ok(!curl.includes(v.key));
  return { curl };
}
signIn.options = options;

// A key ends with its page.
export async function signedOut(v) {
  await enters(v);
  await v.ask('plain-before');
  await v.turn('done');
  await v.page.reload();
  await v.at('credential').waitFor();
  assert.equal(await v.at('credential').inputValue(), '');
  await enters(v);
  await v.at('question').getByText('plain-before').waitFor(); // the conversation is there again
  await v.ask('plain-after');
  await v.page.locator('[data-testid=turn][data-state=done]').nth(1).waitFor();
  await v.settings();
  await v.at('sign-out').click();
  await v.at('credential').waitFor();
}
signedOut.options = options;

// The stream of the page's EventSource breaks off, and the browser resumes it by the ticket.
export async function ticketResumed(v) {
  await enters(v);
  await v.byEventSource();
  await v.ask('plain-resumed');
  const turn = await v.turn('done');
  assert.equal(await text(turn.getByTestId('answer')), 'One two.');
  assert.deepEqual(await v.events(), ['start', 'thinking', 'response_delta', 'response_delta', 'done']);
  assert.deepEqual(v.requests, ['GET', 'GET']);
}
ticketResumed.options = broken;

// Without a store the page says that the turn is lost, and nothing runs again.
export async function ticketDropped(v) {
  await enters(v);
  await v.byEventSource();
  await v.ask('plain-dropped');
  await v.turn('dropped');
  assert.match(await text(v.at('dropped')), /may have run/);
  assert.deepEqual(v.requests, ['GET']);
}
ticketDropped.options = broken;

// The same with nothing but the browser's own EventSource, which opens the ticket twice.
async function bare(v, question) {
  return { seen: await v.page.evaluate(async ({ key, input }) => {
    const issued = await fetch('/chat/tickets', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({ input, accumulated: false }),
    });
    const { url } = await issued.json();
    const listen = () => new Promise((resolve) => {
      const source = new EventSource(url);
      const seen = [];
      for (const event of ['start', 'thinking', 'response_delta', 'done']) {
        source.addEventListener(event, () => {
          seen.push(event);
          if (event !== 'done') return;
          source.close();
          resolve(seen.join(' '));
        });
      }
      source.addEventListener('error', () => {
        if (source.readyState === EventSource.CLOSED) resolve([...seen, 'CLOSED'].join(' '));
      });
    });
    return [await listen(), await listen()];
  }, { key: v.key, input: question }) };
}
export const bareKept = Object.assign((v) => bare(v, 'plain-kept'), { options: broken });
export const bareLost = Object.assign((v) => bare(v, 'plain-lost'), { options: broken });
