// What a turn is made of, without a document: branches, each with its parts in their order. The
// turn itself is the first branch. One that forks has a part that holds the branches of the fork.

/** @typedef {'turn' | 'agent' | 'node' | 'delegate' | 'draft'} Kind */
/** @typedef {'next' | 'running' | 'retrying' | 'done' | 'failed' | 'stopped' | 'waiting' | 'skipped' | 'lost' | 'struck'} State */
/**
 * @typedef {object} Branch
 * @property {Kind} kind
 * @property {string} id  of its kind: a node's, a session's, an agent's, the number of a draft
 * @property {string} name
 * @property {string} type  of a node
 * @property {State} state
 * @property {number} attempt
 * @property {number | undefined} ms  how long it worked
 * @property {string} note  why it failed, or was written again
 * @property {string} task  what a sub-agent was asked
 * @property {Part[]} parts
 * @property {Fork | null} fork  that it is of
 */
/** @typedef {{ kind: 'text', text: string, cuts: number, done: boolean, copy: boolean, role: '' | 'output' | 'earlier' }} Text  copy: it is in the answer as well; cuts: how often some of it was taken back */
/** @typedef {{ kind: 'thoughts', text: string, cuts: number, done: boolean }} Thoughts */
/** @typedef {{ kind: 'tool', call: ToolCall, whole: string, lost: boolean, notice: Fault | null, agent: boolean }} Tool  whole: a result that the call had cut; agent: it is a sub-agent's, which has a block */
/** @typedef {{ kind: 'fork', what: Kind, branches: Branch[] }} Fork */
/** @typedef {{ kind: 'change', key: string, model: string, previous: string, reason: string }} Change */
/** @typedef {{ kind: 'fault', fault: Fault }} Failure */
/** @typedef {{ kind: 'route', route: Route }} Routed */
/** @typedef {{ kind: 'message', message: ChannelMessage }} Message */
/** @typedef {{ kind: 'approval', approval: Approval }} Question */
/** @typedef {{ kind: 'graph' }} Graph */
/** @typedef {Text | Thoughts | Tool | Fork | Change | Failure | Routed | Message | Question | Graph | import('./checks.js').Checks} Part */

/** @type {readonly State[]} in which a branch has not ended */
export const open = ['next', 'running', 'retrying'];

/** @param {Kind} kind @param {string} id @param {string} [name] @returns {Branch} */
export const branch = (kind, id, name = id) => ({ kind, id, name, type: '', state: 'running', attempt: 0, ms: undefined, note: '', task: '', parts: [], fork: null });

/** What came, as a text. @param {unknown} value */
export const word = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value));

/** What came, as a number of something; 0: it is none. @param {unknown} value */
export const count = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

/** The part that more text of its kind goes into: the last one, if it is still open. @template {'text' | 'thoughts'} K @param {Branch} of @param {K} kind @param {(part: any) => boolean} [fits] @returns {Extract<Part, { kind: K }> | null} */
export function openPart(of, kind, fits = () => true) {
  const last = of.parts.at(-1);
  return last?.kind === kind && !last.done && fits(last) ? /** @type {any} */ (last) : null;
}

/** @param {boolean} copy @param {Text['role']} [role] @returns {Text} */
export const textPart = (copy, role = '') => ({ kind: 'text', text: '', cuts: 0, done: false, copy, role });

/** Ends the texts that are still open. @param {Branch} of @param {(part: Part) => void} changed */
export function closeTexts(of, changed) {
  for (const part of of.parts) {
    if ((part.kind !== 'text' && part.kind !== 'thoughts') || part.done) continue;
    part.done = true;
    changed(part);
  }
}

/**
 * Of an agent that writes again until a critic is content only the last text counts: what it
 * wrote before becomes a part of its own.
 * @param {Branch} of @param {string} last  how the text that counts begins
 * @returns {boolean} whether there was such a text
 */
export function partDrafts(of, last) {
  const at = of.parts.findLastIndex((p) => p.kind === 'text' && !p.copy && p.role === '');
  const written = /** @type {Text | undefined} */ (of.parts[at]);
  const begin = written && last ? written.text.lastIndexOf(last.slice(0, 200)) : -1;
  if (!written || begin <= 0) return false;
  of.parts.splice(at, 0, { ...textPart(false, 'earlier'), text: written.text.slice(0, begin), done: true });
  written.text = written.text.slice(begin);
  written.cuts++;
  return true;
}

/** All branches of a branch, and it. @param {Branch} of @returns {Generator<Branch>} */
export function* walk(of) {
  yield of;
  for (const part of of.parts) {
    if (part.kind === 'fork') for (const b of part.branches) yield* walk(b);
  }
}
