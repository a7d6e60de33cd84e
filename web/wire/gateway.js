// The state of the gateway, as its own endpoints report it: models, servers, agents, tools, and the
// questions that wait for this person. It is read at intervals while the page is seen.

import { computed, signal } from '../vendor/signals.js';
import { askForKey, call, isShown, isWanted, onUnreachable } from './credential.js';

const every = 15_000;
const soon = 3000; // while the gateway is unavailable
const mostPages = 5; // of one list of questions
export const offlineModel = 'offline-demo';

/** null: it does not answer; undefined: it was not asked yet. @type {Signal<Ready | null | undefined>} */
export const ready = signal(undefined);
export const me = signal(/** @type {import('./credential.js').Me | null} */ (null));
export const agents = signal(/** @type {Agent[]} */ ([]));
export const tools = signal(/** @type {Tool[]} */ ([]));
export const workflows = signal(/** @type {Workflow[]} */ ([]));
export const channels = signal(/** @type {{ name: string }[]} */ ([]));
export const drafts = signal(true); // whether they may be asked for
export const waiting = signal(/** @type {Approval[]} */ ([]));
export const keeps = signal(false); // it has a store, as far as is known
export const asksWho = signal(false); // it reports more of itself to people whom it knows
export const asUser = signal(''); // the name to answer as, without authentication
export const readAt = signal(0); // when ready was read, by performance.now

let poll = 0;

/** ok, degraded, draining or unreachable. */
export const health = computed(() => (ready.value === undefined ? 'unknown' : ready.value?.status ?? 'unreachable'));
export const isDemo = computed(() => ready.value?.model === offlineModel);
/** Whether this person may see the list of all questions of the tenant. */
export const decides = computed(() => me.value?.scopes?.includes('approve') ?? false);

/** @param {string} path @returns {Promise<any>} null: it could not be read */
export async function getJSON(path) {
  try {
    const response = await call(path, { signal: AbortSignal.timeout(10_000) });
    return await response.json();
  } catch {
    return null;
  }
}

/** The conversations whose questions this person may see without authentication. @type {() => string[]} */
let conversations = () => [];

export function start(/** @type {() => string[]} */ list) {
  conversations = list;
  onUnreachable(() => { if (ready.peek()) refresh(); });
  document.addEventListener('visibilitychange', schedule);
  addEventListener('online', refresh);
  return refresh();
}

/** Asks again now, and then at intervals. */
export async function refresh() {
  clearTimeout(poll);
  const found = await getJSON('readyz');
  readAt.value = performance.now();
  const isUp = Boolean(found?.status);
  if (isUp) asksWho.value = !found.breakers;
  if (found?.breakers) keeps.value = found.store !== undefined;
  if (isUp && asksWho.peek() && !isShown()) askForKey();
  ready.value = isUp ? { model: '', breakers: [], mcp: [], ...found } : null;
  if (isUp && !isWanted() && (!asksWho.peek() || isShown())) await readMore();
  schedule();
}

function schedule() {
  clearTimeout(poll);
  const wait = Math.max(0, readAt.peek() + (ready.peek() ? every : soon) - performance.now());
  if (document.visibilityState === 'visible') poll = setTimeout(refresh, wait);
}

/** When the gateway is asked again, in milliseconds by performance.now. */
export const nextRead = () => readAt.peek() + soon;

/** @template T @param {Signal<T>} to @param {T} value  the same again changes nothing */
function put(to, value) {
  if (JSON.stringify(to.peek()) !== JSON.stringify(value)) to.value = value;
}

async function readMore() {
  if (isShown()) {
    const found = await getJSON('me');
    if (isWanted()) return;
    if (found?.scopes) put(me, found);
  }
  const [team, list, flows, forms] = await Promise.all(['agents', 'tools', 'workflows', 'channels'].map(getJSON));
  put(agents, team?.agents ?? []);
  put(tools, list?.tools ?? []);
  put(workflows, flows?.workflows ?? []);
  put(channels, forms?.channels ?? []);
  put(drafts, (forms?.channels ?? []).length > 0 && forms?.quality?.drafts !== 'never');
  await readWaiting();
}

/** Reads the questions that wait for this person. */
export async function readWaiting() {
  const asked = ready.peek()?.approvals ?? decides.peek();
  const who = asUser.peek() ? { user_id: asUser.peek() } : null;
  if (!asked) return put(waiting, []);
  const queries = me.peek()?.user || who ? [who ?? {}] : conversations().map((conversation_id) => ({ conversation_id }));
  const lists = await Promise.all(queries.map(readPages));
  put(waiting, lists.flat().filter((a, i, all) => all.findIndex((b) => b.approval_id === a.approval_id) === i));
}

/** A list of questions to its end, as far as that is reasonable. @param {Record<string, string>} query @returns {Promise<Approval[]>} */
async function readPages(query) {
  const list = [];
  let next = {};
  for (let page = 0; page < mostPages; page++) {
    const reply = await getJSON(`approvals?${new URLSearchParams({ ...query, ...next })}`);
    if (!reply?.approvals) break;
    list.push(...reply.approvals.map((/** @type {Approval} */ a) => ({ ...a, conversation_id: query.conversation_id ?? '' })));
    if (!reply.next_cursor) break;
    next = { cursor: reply.next_cursor };
  }
  return list;
}
