// What this browser remembers of conversations: of the tab what was said in its own, for after a
// reload, and by their ids those that were begun here, whose tasks can be listed where nobody is
// asked who they are.

/** @typedef {import('../types').Past} Past */

const tabs = 'sluice.talk';
const begun = 'sluice.conversations';
const mostChars = 400_000; // of all turns of the tab; browsers keep 5 million
const mostTurns = 500;
const mostBegun = 30;

/**
 * Keeps what was said, or the end of it. False: the browser refuses.
 * @param {string} conversation @param {Past[]} turns
 */
export function keepTalk(conversation, turns) {
  let left = mostChars;
  const last = turns.slice(-mostTurns);
  const from = last.findLastIndex((t) => (left -= t.input.length + t.answer.length + 200) < 0) + 1;
  try {
    sessionStorage.setItem(tabs, JSON.stringify({ conversation, turns: last.slice(from) }));
    return true;
  } catch {
    return false;
  }
}

/** @returns {{ conversation: string, turns: Past[] } | null} */
export function recallTalk() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(tabs) ?? 'null');
    if (typeof kept?.conversation !== 'string' || !Array.isArray(kept.turns)) return null;
    return { conversation: kept.conversation, turns: kept.turns.filter(isPast) };
  } catch {
    return null; // not ours, or no storage
  }
}

/** @param {any} t */
const isPast = (t) => ['input', 'answer', 'line', 'task', 'turn'].every((name) => typeof t?.[name] === 'string') && typeof t.at === 'number';

export function forgetTalk() {
  try {
    sessionStorage.removeItem(tabs);
  } catch {
    // Nothing was kept either.
  }
}

/** Notes that something is said in a conversation now. @param {string} id */
export function noteTalk(id) {
  try {
    localStorage.setItem(begun, JSON.stringify([{ id, at: Date.now() }, ...talks().filter((t) => t.id !== id)].slice(0, mostBegun)));
  } catch {
    // Without storage a task is found by its id.
  }
}

/** The conversations of this browser, the last one first. @returns {{ id: string, at: number }[]} */
export function talks() {
  try {
    const list = JSON.parse(localStorage.getItem(begun) ?? '[]');
    return Array.isArray(list) ? list.filter((t) => typeof t?.id === 'string' && typeof t.at === 'number') : [];
  } catch {
    return []; // not ours, or no storage
  }
}
