// Turns of before, as the gateway keeps them: their messages and answers, by task and turn.

import { ask, Feed } from '../wire/feed.js';

const cut = 2000; // bytes of a text of a list that may go on

/** @type {Record<string, string>} */
const states = { completed: 'done', failed: 'failed', canceled: 'stopped' };

/** The turns of a task: the message of each, and its answer. @param {Task} task @returns {Past[]} */
export function turnsOf(task) {
  /** @type {Map<string, Past>} */
  const turns = new Map();
  for (const { role, content, timestamp, turnId, messageId } of task.history ?? []) {
    const turn = turnId ?? messageId?.split(':', 1)[0] ?? '';
    const past = turns.get(turn) ?? { input: '', answer: '', line: '', state: 'done', task: task.id, turn, at: Date.parse(timestamp ?? '') || 0 };
    if (role === 'user') past.input += (past.input ? '\n' : '') + content;
    else past.answer += (past.answer ? '\n\n' : '') + content;
    turns.set(turn, past);
  }
  const all = [...turns.values()];
  const last = all.at(-1);
  if (last) last.state = states[task.status.state] ?? 'done';
  return all;
}

/** The last turns of a conversation, as the gateway has them, and the task that runs. @param {string} conversation */
export async function readTalk(conversation) {
  const tasks = await new Feed({}, [{ id: conversation, at: Infinity }]).next();
  const running = tasks.find((t) => t.status.state === 'working' || t.status.state === 'submitted') ?? null;
  const turns = (await Promise.all(tasks.reverse().map(async (task) => turnsOf(isCut(task) ? await ask(`tasks/${task.id}`).catch(() => task) : task)))).flat();
  return { turns: turns.sort((a, b) => a.at - b.at), running };
}

const isCut = (/** @type {Task} */ task) => (task.history ?? []).some((m) => new TextEncoder().encode(m.content).length > cut);

/** The title of a task: the beginning of its first message. @param {Task} task */
export const titleOf = (task) => beginning(task.history?.find((m) => m.role === 'user')?.content ?? '') || task.id;

/** The first line of a message, as a title. @param {string} text */
export function beginning(text) {
  const first = text.trim().split('\n', 1)[0];
  const letters = Array.from(first.slice(0, 180));
  return letters.length > 80 || first.length > 180 ? `${letters.slice(0, 80).join('')}…` : first;
}
