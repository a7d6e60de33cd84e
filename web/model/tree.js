// What a turn is made of, without a document: branches, each with its parts in their order, and which
// of them an event is of. The turn itself is the first branch. A branch that forks has a part that
// holds the branches of the fork.

/** @type {readonly BranchState[]} in which a branch has not ended */
export const open = ['next', 'running', 'retrying'];

/** What came, as a text. @param {unknown} value */
export const word = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value));

/** What came, as a number of something; 0: it is none. @param {unknown} value */
export const count = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

/** All branches of a branch, and it. @param {Branch} of @returns {Generator<Branch>} */
export function* walk(of) {
  yield of;
  for (const part of of.parts) if (part.kind === 'fork') for (const b of part.branches) yield* walk(b);
}

/** Ends the texts of a branch that are still open. @param {Branch} of */
export function closeTexts(of) {
  for (const part of of.parts) if ('done' in part) part.done = true;
}

/** Of an agent that writes again until a critic is content only the last text counts: what it wrote before becomes a part of its own. @param {Branch} of @param {string} last  how the text that counts begins */
export function partDrafts(of, last) {
  const at = of.parts.findLastIndex((p) => p.kind === 'text' && !p.copy && p.role === '');
  const written = /** @type {TextPart | undefined} */ (of.parts[at]);
  const begin = written && last ? written.text.lastIndexOf(last.slice(0, 200)) : -1;
  if (!written || begin <= 0) return;
  of.parts.splice(at, 0, { ...written, text: written.text.slice(0, begin), done: true, role: 'earlier' });
  written.text = written.text.slice(begin);
  written.cuts++;
}

/** @param {BranchKind} kind @param {string} id @param {string} name @param {BranchState} [state] @returns {Branch} */
const branch = (kind, id, name, state = 'running') => ({ kind, id, name, state, type: '', attempt: 0, ms: undefined, note: '', task: '', parts: [] });

export class Tree {
  turn = branch('turn', '', '');
  /** Agents may be named that have not begun: the turn is a team's. */
  team = false;
  /** @type {Map<string, Branch>} by kind and id */
  #branches = new Map();

  /** @param {Branch} of @param {Part} part @param {boolean} [above]  an open text stays whole, and last */
  add(of, part, above = false) {
    const last = of.parts.at(-1);
    if (above && last?.kind === 'text' && !last.done) return void of.parts.splice(-1, 0, part);
    closeTexts(of);
    of.parts.push(part);
  }

  drop(/** @type {Branch} */ of, /** @type {(part: Part) => boolean} */ gone) { of.parts = of.parts.filter((p) => !gone(p)); }

  /** The branch that an event is of. @param {Attribution} data */
  place({ session_id: session, node_id: node, agent_id: agent }) {
    if (session) return this.branch('delegate', word(session), word(agent) || 'Sub-agent');
    if (node) return this.branch('node', word(node));
    return agent && this.team ? this.branch('agent', word(agent)) : this.turn;
  }

  /** A branch, which is made if it is not known: it joins the fork whose branches still work. @param {BranchKind} kind @param {string} id @param {string} [name] @param {Branch} [parent] @param {BranchState} [state] */
  branch(kind, id, name = id, parent = this.turn, state = 'running') {
    const known = this.#branches.get(`${kind} ${id}`);
    if (known) return known;
    const made = branch(kind, id, name, state);
    const fork = this.#joined(kind, parent, state) ?? this.#fork(kind, parent);
    fork.branches.push(made);
    this.#branches.set(`${kind} ${id}`, made);
    return made;
  }

  #joined(/** @type {BranchKind} */ kind, /** @type {Branch} */ parent, /** @type {BranchState} */ state) {
    const fork = /** @type {ForkPart | undefined} */ (parent.parts.findLast((p) => p.kind === 'fork' && p.what === kind));
    if (!fork) return null;
    const isOpen = kind === 'draft' || fork.branches.some((b) => open.includes(b.state));
    return isOpen || (state === 'skipped' && fork.branches.every((b) => b.state === 'skipped')) ? fork : null;
  }

  #fork(/** @type {BranchKind} */ kind, /** @type {Branch} */ parent) {
    if (kind === 'node' && !parent.parts.some((p) => p.kind === 'graph')) this.add(parent, { kind: 'graph' }, true);
    /** @type {ForkPart} */
    const fork = { kind: 'fork', what: kind, branches: [] };
    this.add(parent, fork, true);
    return fork;
  }

  /** Lets a text of a branch grow, or begins one. Null: it is white space, which keeps two apart. @param {Branch} of @param {string} delta @param {boolean} copy @param {TextPart['role']} [role] */
  grow(of, delta, copy, role = '') {
    let part = of.parts.at(-1);
    if (part?.kind !== 'text' || part.done || part.copy !== copy) {
      if (delta.trim() === '') return null;
      this.add(of, part = { kind: 'text', text: '', cuts: 0, done: false, copy, role });
    }
    part.text += delta;
    return part;
  }

  think(/** @type {Branch} */ of, /** @type {string} */ content) {
    const last = of.parts.at(-1);
    if (last?.kind === 'thoughts' && !last.done) last.text += content;
    else this.add(of, { kind: 'thoughts', text: content, done: false });
  }
}
