// Notes of this browser: of each conversation of the tab its turns, for after a reload, and of all
// conversations that began here the id and the title. Drafts are of the tab as well, and so is the turn
// under way: a reload cuts its stream, and without a store the text that has come is all that there is.

/** @typedef {{ id: string, at: number, title: string, waits?: boolean }} Note */
/** @typedef {{ input: string, id: string, conversation: string, task: string, turn: string, text: string }} Kept  a turn under way; task and turn are empty if the gateway keeps no turns */

const tabs = 'sluice.talk.'; // and the id
const running = 'sluice.running';
const notes = 'sluice.conversations';
const drafts = 'sluice.draft.'; // and the id
const mostChars = 400_000; // of the turns of one conversation; browsers store 5 million
const mostTurns = 1000;
const mostNotes = 200;

/** @param {() => Storage} storage @param {string} name @param {unknown} value  undefined: it goes */
function write(storage, name, value) {
  try {
    if (value === undefined) storage().removeItem(name);
    else storage().setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false; // the browser refuses
  }
}

/** @param {() => Storage} storage @param {string} name @returns {any} */
function read(storage, name) {
  try {
    return JSON.parse(storage().getItem(name) ?? 'null');
  } catch {
    return null; // another program's, or no storage
  }
}

const tab = () => sessionStorage;
const browser = () => localStorage;

/** Stores the turns of a conversation, or the last of them. False: the browser refuses. @param {string} conversation @param {Past[]} turns */
export function keepTalk(conversation, turns) {
  let room = mostChars;
  const last = turns.slice(-mostTurns);
  const from = last.findLastIndex((t) => (room -= t.input.length + t.answer.length + 200) < 0) + 1;
  const cut = turns.length - last.length + from;
  const moved = last.slice(from).map((t) => (t.parent === undefined ? t : { ...t, parent: Math.max(-1, t.parent - cut) }));
  return write(tab, tabs + conversation, moved);
}

/** @param {string} conversation @returns {Past[]} */
export function recallTalk(conversation) {
  const turns = read(tab, tabs + conversation);
  return Array.isArray(turns) ? turns.filter(isPast) : [];
}

const isPast = (/** @type {any} */ t) => ['input', 'answer', 'line', 'task', 'turn'].every((name) => typeof t?.[name] === 'string') && typeof t.at === 'number';

/** @returns {Record<string, any>} the turns under way, by the id of a conversation */
function underWay() {
  const all = read(tab, running);
  return all && typeof all === 'object' && !Array.isArray(all) ? all : {};
}

export const remember = (/** @type {Kept} */ turn) => write(tab, running, { ...underWay(), [turn.conversation]: turn });

export function forget(/** @type {string} */ conversation) {
  const { [conversation]: _, ...others } = underWay();
  write(tab, running, Object.keys(others).length > 0 ? others : undefined);
}

/** The turns that a reload has cut, once. @returns {Kept[]} */
export function recall() {
  const all = Object.values(underWay());
  write(tab, running, undefined);
  return all.filter((kept) => kept && typeof kept === 'object').map(({ input, id, conversation, task, turn, text }) => (
    { input: String(input), id: String(id), conversation: String(conversation ?? ''), task: plain(task), turn: plain(turn), text: String(text ?? '') }));
}

/** @param {unknown} id  which becomes part of an address */
const plain = (id) => (typeof id === 'string' && /^\w+$/.test(id) ? id : '');

/** Forgets a conversation. @param {string} id */
export function forgetTalk(id) {
  write(tab, tabs + id, undefined);
  write(tab, drafts + id, undefined);
  write(browser, notes, talks().filter((t) => t.id !== id));
}

/** Notes a conversation of this browser, as the last one. @param {Note} note */
export const noteTalk = (note) => write(browser, notes, [note, ...talks().filter((t) => t.id !== note.id)].slice(0, mostNotes));

/** Changes a note in its place. @param {string} id @param {Partial<Note>} change */
export const changeTalk = (id, change) => write(browser, notes, talks().map((t) => (t.id === id ? { ...t, ...change } : t)));

/** The conversations of this browser, the last one first. @returns {Note[]} */
export function talks() {
  const list = read(browser, notes);
  return Array.isArray(list) ? list.filter((t) => typeof t?.id === 'string' && typeof t.at === 'number').map((t) => ({ ...t, title: typeof t.title === 'string' ? t.title : '' })) : [];
}

/** @param {string} id  of a conversation; empty: one that has not begun */
export const draftOf = (id) => String(read(tab, drafts + id) ?? '');

export const keepDraft = (/** @type {string} */ id, /** @type {string} */ text) => write(tab, drafts + id, text === '' ? undefined : text);

/** A setting of this browser. @param {string} name @returns {any} */
export const setting = (name) => read(browser, `sluice.${name}`);

export const keepSetting = (/** @type {string} */ name, /** @type {unknown} */ value) => write(browser, `sluice.${name}`, value);
