import assert from 'node:assert/strict';
import { test } from 'node:test';

import './dom.mjs';

document.baseURI = 'https://sluice.example/app/';
const { Feed, Missing } = await import('../wire/feed.js');
const { changeTalk, draftOf, forgetTalk, keepDraft, keepTalk, noteTalk, recallTalk, talks } = await import('../wire/talk.js');
const { titleOf, turnsOf } = await import('../model/past.js');
const { effortOf, whose } = await import('../dev/tasks.js');

const task = (id, second, more = {}) => ({ id, status: { state: 'completed', timestamp: new Date(second * 1000).toISOString() }, ...more });
const ids = (tasks) => tasks.map((t) => t.id);

/** A gateway with these pages of each conversation, and what it was asked. */
function gateway(pages) {
  const asked = [];
  globalThis.fetch = async (url) => {
    const query = url.searchParams;
    const key = query.get('conversation_id') ?? '';
    asked.push(`${key}${query.get('cursor') ? `@${query.get('cursor')}` : ''}`);
    const n = Number(query.get('cursor') || 0);
    const page = pages[key][n];
    if (typeof page === 'number') return Response.json({ error_type: 'store_unavailable' }, { status: page });
    return Response.json({ tasks: page, ...(n + 1 < pages[key].length ? { next_cursor: String(n + 1) } : {}) });
  };
  return asked;
}

test('tasks of several conversations come newest first, and no list is asked before it may be of use', async () => {
  const asked = gateway({ a: [[task('a1', 90), task('a2', 50)], [task('a3', 10)]], b: [[task('b1', 80), task('b2', 20)]], c: [[task('c1', 5)]] });
  const feed = new Feed({}, [{ id: 'a', at: 90_000 }, { id: 'b', at: 80_000 }, { id: 'c', at: 5000 }]);
  assert.deepEqual(ids(await feed.next()), ['a1', 'b1', 'a2', 'b2', 'a3', 'c1']);
  assert.deepEqual(asked, ['a', 'b', 'a@1', 'c']);
  assert.ok(feed.ended);
  assert.deepEqual(await feed.next(), []);
});

test('a list of all is read page by page, and what is not wanted is passed over', async () => {
  const many = (from) => Array.from({ length: 20 }, (_, i) => task(`t${from + i}`, 10_000 - from - i, { metadata: { workflow: (from + i) % 2 ? 'refund' : '' } }));
  const asked = gateway({ '': [many(0), many(20), many(40)] });
  const feed = new Feed({ state: 'failed' }, null);
  const found = await feed.next((t) => whose(t).includes('refund'));
  assert.equal(found.length, 20);
  assert.deepEqual(ids(found).slice(0, 2), ['t1', 't3']);
  assert.deepEqual(asked, ['', '@1']);
  assert.ok(!feed.ended);
  assert.equal((await feed.next((t) => whose(t).includes('refund'))).length, 10);
  assert.ok(feed.ended);
});

test('a filter that nothing fits ends after some requests', async () => {
  const asked = gateway({ '': Array.from({ length: 30 }, (_, i) => [task(`t${i}`, 100 - i)]) });
  assert.deepEqual(await new Feed({}, null).next(() => false), []);
  assert.ok(asked.length <= 10, `${asked.length} requests`);
});

test('a list that is not there says why, and can be asked for again', async () => {
  const pages = { '': [503] };
  gateway(pages);
  const feed = new Feed({}, null);
  await assert.rejects(feed.next(), (e) => e instanceof Missing && e.status === 503 && e.message === 'The store does not answer at the moment.');
  pages[''] = [[task('t', 1)]];
  assert.deepEqual(ids(await feed.next()), ['t']);
  globalThis.fetch = async () => { throw new TypeError('no'); };
  await assert.rejects(new Feed({}, null).next(), (e) => e.status === 0 && e.message === 'The gateway does not answer.');
});

/** A storage of so many characters. */
function storage(most = 1e9) {
  const all = {};
  return { all, getItem: (k) => all[k] ?? null, removeItem: (k) => { delete all[k]; }, setItem(k, v) { if (v.length > most) throw new Error('quota'); all[k] = v; } };
}
const past = (i, answer = 'x') => ({ input: `q${i}`, answer, line: '', state: 'done', task: '', turn: '', at: i });

test('of a long conversation the tab stores the end, with its versions', () => {
  globalThis.sessionStorage = storage();
  assert.ok(keepTalk('conv_1', Array.from({ length: 1100 }, (_, i) => ({ ...past(i), parent: i - 1 }))));
  assert.deepEqual([recallTalk('conv_1').length, recallTalk('conv_1').at(-1).input, recallTalk('conv_1')[0].parent, recallTalk('conv_1')[5].parent], [1000, 'q1099', -1, 4]);
  assert.deepEqual(recallTalk('conv_2'), []);
  keepTalk('conv_1', Array.from({ length: 10 }, (_, i) => past(i, 'x'.repeat(100_000))));
  assert.deepEqual(recallTalk('conv_1').map((t) => t.input), ['q7', 'q8', 'q9']);
  globalThis.sessionStorage = storage(10);
  assert.equal(keepTalk('conv_1', [past(1)]), false);
  for (const bad of ['', '{', '7', '{"conversation":7,"turns":[]}', 'null']) {
    globalThis.sessionStorage = storage();
    sessionStorage.all['sluice.talk.c'] = bad;
    assert.deepEqual(recallTalk('c'), [], bad);
  }
  sessionStorage.all['sluice.talk.c'] = JSON.stringify([{ input: 1 }, past(2), null]);
  assert.deepEqual(recallTalk('c'), [past(2)]);
});

test('a browser knows its last conversations, their titles and drafts', () => {
  globalThis.localStorage = storage();
  globalThis.sessionStorage = storage();
  for (let i = 0; i < 240; i++) noteTalk({ id: `conv_${i}`, at: i, title: `Title ${i}` });
  noteTalk({ id: 'conv_220', at: 300, title: 'Again' });
  const list = talks().map((t) => t.id);
  assert.deepEqual([list.length, list[0], list[1], new Set(list).size], [200, 'conv_220', 'conv_239', 200]);
  changeTalk('conv_239', { title: 'Renamed' });
  assert.equal(talks()[1].title, 'Renamed');
  keepDraft('conv_239', 'half a');
  assert.equal(draftOf('conv_239'), 'half a');
  forgetTalk('conv_239');
  assert.deepEqual([draftOf('conv_239'), talks().length], ['', 199]);
  localStorage.all['sluice.conversations'] = '[{"id":"old","at":1},{"id":7},null]';
  assert.deepEqual(talks(), [{ id: 'old', at: 1, title: '' }], 'as a former version has noted them');
});

test('the turns of a task, with what was asked and said in each', () => {
  const history = [
    { role: 'user', content: 'one', messageId: 'turn_a:user', timestamp: '2026-01-02T03:04:05Z' }, { role: 'assistant', content: 'first', messageId: 'turn_a:1', agentId: 'x' },
    { role: 'assistant', content: 'second', messageId: 'turn_a:2', agentId: 'y' }, { role: 'user', content: 'two', messageId: 'theirs', turnId: 'turn_b' },
  ];
  const turns = turnsOf(task('t', 1, { history, status: { state: 'failed' } }));
  assert.deepEqual(turns.map((t) => [t.turn, t.input, t.answer, t.state]), [['turn_a', 'one', 'first\n\nsecond', 'done'], ['turn_b', 'two', '', 'failed']]);
  assert.deepEqual(turnsOf(task('t', 1)), []);
});

test('what a task is called, whose it is, and what it cost', () => {
  assert.equal(titleOf(task('t', 1, { history: [{ role: 'user', content: ' Buy eggs\nand milk' }] })), 'Buy eggs');
  assert.equal(titleOf(task('t', 1)), 't');
  assert.deepEqual(whose(task('t', 1, { metadata: { workflow: 'refund', agentSelections: ['a', 'refund', 7] } })), ['refund', 'a']);
  assert.deepEqual(whose(task('t', 1, { metadata: { agentSelections: 'a' } })), []);
  const usage = { input_tokens: 1000, output_tokens: 200, thinking_tokens: 34 };
  assert.equal(effortOf({ steps: [{ step_name: 'turn', duration_ms: 700, usage }, { step_name: 'step', duration_ms: 300, usage }, { step_name: 'turn', duration_ms: 800 }] }), '1.50 s · 1,234 tokens');
});
