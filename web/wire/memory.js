// Turns under way, stored for after a reload. A reload cuts the stream of a turn, and without a
// store also the turn: then the text that has come is all that there is.

const name = 'sluice.running';

/** @typedef {{ input: string, id: string, conversation: string, task: string, turn: string, text: string }} Kept  task and turn are empty if the gateway keeps no turns */

/** @returns {Record<string, any>} by the id of a conversation */
function readAll() {
  try {
    const all = JSON.parse(sessionStorage.getItem(name) ?? '{}');
    return all && typeof all === 'object' && !Array.isArray(all) ? all : {};
  } catch {
    return {}; // another program's, or no storage
  }
}

function writeAll(/** @type {Record<string, any>} */ all) {
  try {
    if (Object.keys(all).length > 0) sessionStorage.setItem(name, JSON.stringify(all));
    else sessionStorage.removeItem(name);
  } catch {
    // Without storage a reload leaves no trace.
  }
}

export const remember = (/** @type {Kept} */ turn) => writeAll({ ...readAll(), [turn.conversation]: turn });

export function forget(/** @type {string} */ conversation) {
  const { [conversation]: _, ...others } = readAll();
  writeAll(others);
}

/** The turns that a reload has cut, once. @returns {Kept[]} */
export function recall() {
  const all = Object.values(readAll());
  writeAll({});
  return all.filter((kept) => kept && typeof kept === 'object').map(({ input, id, conversation, task, turn, text }) => (
    { input: String(input), id: String(id), conversation: String(conversation ?? ''), task: plain(task), turn: plain(turn), text: String(text ?? '') }));
}

/** @param {unknown} id  which becomes part of an address */
const plain = (id) => (typeof id === 'string' && /^\w+$/.test(id) ? id : '');
