// Tasks that the gateway keeps, newest first, whichever lists they stand in: one of all that the
// caller may see, or one for each conversation that this browser began.

import { call } from './credential.js';

/** @typedef {{ query: Record<string, string>, bound: number, tasks: Task[], ended: boolean }} Source  bound: no task that is still to come is newer */

const page = 20;
const mostRequests = 10; // for what one click asks for

/** Why a list, or a task, is not there. */
export class Missing extends Error {
  /** @param {number} status  0: nothing answered @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** A reply as JSON. @param {string} path @returns {Promise<any>} @throws {Missing} */
export async function ask(path) {
  const response = await call(path, { signal: AbortSignal.timeout(15_000) }).catch(() => null);
  const body = await response?.json().catch(() => null);
  if (response?.ok && body) return body;
  throw new Missing(response?.status ?? 0, why(response?.status ?? 0, body?.error_type));
}

/** @param {number} status @param {string} [type] */
function why(status, type) {
  if (type === 'store_unavailable') return 'The store does not answer at the moment.';
  if (type === 'overloaded' || status === 429) return 'The gateway makes enough lists at the moment.';
  if (status === 0) return 'The gateway does not answer.';
  if (status === 401) return 'The gateway wants to know who asks.';
  if (status === 403) return 'This credential does not allow it.';
  if (status === 404) return 'There is no such task, or it is not yours.';
  return `The gateway answered ${status}.`;
}

/** When a task changed last, in milliseconds. @param {Task} task */
export const changed = (task) => Date.parse(task.status?.timestamp ?? '') || 0;

export class Feed {
  /** @type {Source[]} */
  #sources;

  /** @param {Record<string, string>} filter  that the gateway knows @param {{ id: string, at: number }[] | null} conversations  null: all that the caller may see */
  constructor(filter, conversations) {
    this.#sources = (conversations ?? [{ id: '', at: Infinity }]).map(({ id, at }) => (
      { query: { ...filter, limit: String(page), ...(id ? { conversation_id: id } : {}) }, bound: at, tasks: [], ended: false }));
  }

  /** Whether nothing more comes. */
  get ended() { return this.#sources.every((s) => s.ended && s.tasks.length === 0); }

  /** The next tasks. It looks at so many as a few requests bring. @param {(task: Task) => boolean} [wanted] @returns {Promise<Task[]>} */
  async next(wanted = () => true) {
    const found = [];
    let requests = 0;
    while (found.length < page) {
      const newest = this.#newest();
      if (!newest) break;
      const task = newest.tasks.shift();
      if (task && wanted(task)) found.push(task);
      if (task) continue;
      if (++requests > mostRequests) break;
      await this.#read(newest);
    }
    return found;
  }

  // One that may have the newest task is asked before a task of another is shown.
  #newest() {
    const at = (/** @type {Source} */ s) => (s.tasks.length > 0 ? changed(s.tasks[0]) : s.bound);
    const left = this.#sources.filter((s) => s.tasks.length > 0 || !s.ended);
    return left.length === 0 ? null : left.reduce((a, b) => (at(b) > at(a) ? b : a));
  }

  async #read(/** @type {Source} */ source) {
    const reply = await ask(`tasks?${new URLSearchParams(source.query)}`);
    source.tasks = Array.isArray(reply.tasks) ? reply.tasks : [];
    source.ended = !reply.next_cursor;
    source.query = { ...source.query, cursor: reply.next_cursor ?? '' };
    if (source.tasks.length > 0) source.bound = changed(source.tasks[source.tasks.length - 1]);
  }
}
