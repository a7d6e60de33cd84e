// The conversations of this browser: the open one, the list, and what a person does with them.

import { computed, signal } from '../vendor/signals.js';
import { call } from '../wire/credential.js';
import { ask, Feed } from '../wire/feed.js';
import * as gateway from '../wire/gateway.js';
import { changeTalk, forgetTalk, noteTalk, recall, recallTalk, talks } from '../wire/talk.js';
import { Conversation } from './conversation.js';
import { beginning, titleOf } from './past.js';

/** @typedef {{ id: string, at: number, title: string, state?: string }} Entry  of the list */

const undoFor = 5000; // milliseconds
const mostLooked = 500; // entries that a search reads

/** @type {Map<string, Conversation>} that this page has opened, by id */
const opened = new Map();
/** @type {import('./conversation.js').Watch} */
const watch = {
  begun(conversation, text) {
    if (text) noteBegin(conversation, text);
    begun.value++;
  },
  ended(conversation, turn) {
    if (turn.approvals.length > 0) changeTalk(conversation.id, { waits: true });
    ended.value++;
  },
};

/** @param {Conversation} conversation @param {string} text  of its newest message */
function noteBegin(conversation, text) {
  conversation.isNew = false;
  opened.set(conversation.id, conversation); // before the list is made again
  const title = notes.peek().find((n) => n.id === conversation.id)?.title || beginning(text) || 'New chat';
  noteTalk({ ...talks().find((t) => t.id === conversation.id), id: conversation.id, at: Date.now(), title });
  notes.value = withOwn(talks(), { id: conversation.id, at: Date.now(), title });
}

/** Notes with one that storage may have refused. @param {Entry[]} list @param {Entry} entry */
const withOwn = (list, entry) => [entry, ...list.filter((n) => n.id !== entry.id), ...notes.peek().filter((n) => n.id !== entry.id && !list.some((l) => l.id === n.id))];

export const notes = signal(/** @type {Entry[]} */ (talks()));
const found = signal(/** @type {Entry[]} */ ([])); // of the gateway, for a person whom it knows
export const hasMore = signal(false);
export const looked = signal(0); // how many entries a search has read
export const removed = signal(/** @type {Entry | null} */ (null)); // a moment ago
export const begun = signal(0); // turns
export const ended = signal(0);
export const current = signal(new Conversation(watch));
export const isReady = signal(false); // the first conversation is there

/** @type {import('../vendor/signals.js').ReadonlySignal<Entry[]>} last turn first */
export const entries = computed(() => {
  const all = new Map(found.value.map((e) => [e.id, e]));
  for (const note of notes.value) all.set(note.id, { ...all.get(note.id), ...note });
  const isHere = (/** @type {Entry} */ e) => gateway.keeps.value || opened.has(e.id) || recallTalk(e.id).length > 0;
  return [...all.values()].filter((e) => e.id !== removed.value?.id && isHere(e)).sort((a, b) => b.at - a.at);
});

/** @param {string} id @returns {'' | 'runs' | 'waits'} */
export function stateOf(id) {
  if (opened.get(id)?.running.value) return 'runs';
  if (gateway.waiting.value.some((a) => a.conversation_id === id) || openQuestions(opened.get(id)).length > 0) return 'waits';
  const state = found.value.find((e) => e.id === id)?.state;
  return state === 'working' || state === 'submitted' ? 'runs' : state === 'input-required' ? 'waits' : '';
}

/** The questions of a conversation that are still open. @param {Conversation | undefined} conversation */
export function openQuestions(conversation) {
  if (!conversation) return [];
  const asked = conversation.turns.value.flatMap((t) => (t.version.value, t.isRunning ? [] : t.approvals.map((a) => conversation.question(a, t.record))));
  const inTurns = new Set(asked);
  const listed = gateway.waiting.value.filter((a) => a.conversation_id === conversation.id || conversation.turns.value.some((t) => t.task && t.task === a.task_id)).map((a) => conversation.question(a));
  return [...asked, ...listed.filter((q) => !inTurns.has(q))].filter((q) => q.isOpen);
}

/** The title of a conversation. @param {string} id */
export const titleFor = (id) => entries.value.find((e) => e.id === id)?.title ?? '';

/** Opens a conversation. @param {string} id */
export function open(id) {
  const conversation = opened.get(id) ?? new Conversation(watch, id);
  opened.set(id, conversation);
  current.value = conversation;
  if (gateway.keeps.peek()) conversation.complete(true);
  else conversation.isMissing.value = conversation.turns.peek().length === 0 && gateway.ready.peek() !== undefined;
  return conversation;
}

/** Opens the conversation of a task; '' if that is not to be seen. @param {string} task */
export async function openTask(task) {
  const found = await ask(`tasks/${task}`).catch(() => null);
  if (!found?.contextId) return '';
  if (!notes.peek().some((n) => n.id === found.contextId)) notes.value = [{ id: found.contextId, at: Date.parse(found.status?.timestamp) || Date.now(), title: beginning(titleOf(found)) }, ...notes.peek()];
  open(found.contextId);
  return found.contextId;
}

/** Begins a conversation. Nothing of it exists before its first message. */
export function renew() {
  current.value = new Conversation(watch);
  return current.peek();
}

export function rename(/** @type {string} */ id, /** @type {string} */ title) {
  const entry = entries.peek().find((e) => e.id === id);
  if (!entry || !title.trim()) return;
  const named = { ...entry, title: title.trim().slice(0, 200) };
  if (!talks().some((t) => t.id === id)) noteTalk(named);
  changeTalk(id, { title: named.title });
  notes.value = notes.peek().some((n) => n.id === id) ? notes.peek().map((n) => (n.id === id ? { ...n, title: named.title } : n)) : [...notes.peek(), named];
}

let timer = 0;

/** Deletes a conversation in a moment, unless undo is called. @param {string} id */
export function remove(id) {
  finishRemoval();
  const entry = entries.peek().find((e) => e.id === id);
  if (!entry) return;
  opened.get(id)?.stop();
  removed.value = entry;
  if (current.peek().id === id) renew();
  timer = setTimeout(finishRemoval, undoFor);
}

export function undo() {
  clearTimeout(timer);
  const entry = removed.peek();
  removed.value = null;
  if (entry) open(entry.id);
}

/** Sends a deletion that may still be undone. @param {boolean} [isLeaving] */
export function finishRemoval(isLeaving = false) {
  clearTimeout(timer);
  const entry = removed.peek();
  if (!entry) return;
  forgetTalk(entry.id);
  opened.delete(entry.id);
  notes.value = notes.peek().filter((n) => n.id !== entry.id);
  found.value = found.peek().filter((n) => n.id !== entry.id);
  removed.value = null;
  if (gateway.keeps.peek()) call(`conversations/${encodeURIComponent(entry.id)}`, { method: 'DELETE', keepalive: isLeaving }).catch(() => {});
}

/** @type {Feed | null} */
let feed = null;

/** Reads the list of a person whom the gateway knows, from its begin. */
export async function readList() {
  if (!gateway.keeps.peek() || !gateway.me.peek()?.user) return;
  feed = new Feed({}, null);
  found.value = [];
  looked.value = 0;
  await readMore();
}

/** Reads the next entries. */
export async function readMore() {
  const tasks = await feed?.next().catch(() => []) ?? [];
  const all = new Map(found.peek().map((e) => [e.id, e]));
  for (const task of tasks) {
    const { contextId: id = '', status } = task;
    const before = all.get(id);
    if (id) all.set(id, { id, at: before?.at ?? (Date.parse(status.timestamp ?? '') || 0), state: before?.state ?? status.state, title: beginning(titleOf(task)) });
  }
  found.value = [...all.values()];
  looked.value += tasks.length;
  hasMore.value = feed !== null && !feed.ended;
  return tasks.length > 0;
}

/** Reads on until a search has enough to show. @param {() => number} fitting */
export async function search(fitting) {
  while (hasMore.peek() && fitting() < 20 && looked.peek() < mostLooked) if (!(await readMore())) break;
}

/** Begins: with the turns that a reload has cut, and the conversation that the address names. @param {string} id */
export function begin(id) {
  for (const kept of recall()) {
    if (!kept.conversation) continue;
    const conversation = new Conversation(watch, kept.conversation);
    opened.set(kept.conversation, conversation);
    conversation.resume(kept);
  }
  if (id) open(id);
  isReady.value = true;
}

/** Reads again what another tab or browser may have added. */
export function look() {
  notes.value = talks();
  if (gateway.keeps.peek()) current.peek().complete(true);
}

/** @param {boolean} isLeaving  whether the page is being left */
export function leave(isLeaving) {
  if (isLeaving) finishRemoval(true);
  for (const conversation of opened.values()) conversation.leave(isLeaving);
}

/** Whether a turn runs anywhere on this page. */
export const runs = () => [...opened.values()].some((c) => c.running.peek());

export const { agents, asUser, asksWho, channels, decides, drafts, health, isDemo, keeps, me, nextRead, ready, readAt, refresh, tools, waiting, workflows } = gateway;
export { door, isShown, useKey } from '../wire/credential.js';
export { draftOf, keepDraft, keepSetting, setting } from '../wire/talk.js';
