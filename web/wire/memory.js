// The turn under way, kept for after a reload, which cuts its stream, and the turn too if
// the gateway has no store.

const name = 'sluice.running';

/** @typedef {{ input: string, id: string, conversation: string, task: string, turn: string }} Kept  task and turn are empty if the gateway keeps no turns */

/** @param {Kept} turn */
export function remember(turn) {
  try {
    sessionStorage.setItem(name, JSON.stringify(turn));
  } catch {
    // Without storage a reload leaves no trace.
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept either.
  }
}

/**
 * The turn that a reload has cut, once.
 * @returns {Kept | null}
 */
export function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? 'null');
    forget();
    if (!kept) return null;
    const { input, id, conversation, task, turn } = kept;
    return { input: String(input), id: String(id), conversation: String(conversation ?? ''), task: plain(task), turn: plain(turn) };
  } catch {
    return null; // not ours, or no storage
  }
}

/** @param {unknown} id  which becomes part of an address */
const plain = (id) => (typeof id === 'string' && /^\w+$/.test(id) ? id : '');
