// The branches of one turn, and which of them an event is of. Nothing here is drawn.

import { branch, closeTexts, open, openPart, textPart, word } from './branch.js';

/** @typedef {import('./branch.js').Branch} Branch */
/** @typedef {import('./branch.js').Fork} Fork */
/** @typedef {import('./branch.js').Part} Part */
/** @typedef {{ session_id?: string, node_id?: string, agent_id?: string }} Attribution */

export class Tree {
  turn = branch('turn', '');
  /** @type {Set<Branch | Part>} what was not drawn since it changed */
  changed = new Set();
  /** Agents may be named that have not begun: the turn is a team's. */
  team = false;
  /** @type {Map<string, Branch>} by kind and id */
  #branches = new Map();

  /** @param {Branch} of  the texts that are open end */
  close(of) { closeTexts(of, (p) => this.changed.add(p)); }

  /** @param {Branch} of @param {Part} part @param {boolean} [above]  an open text stays whole, and last */
  add(of, part, above = false) {
    const last = of.parts.at(-1);
    if (above && last?.kind === 'text' && !last.done) {
      of.parts.splice(-1, 0, part);
    } else {
      this.close(of);
      of.parts.push(part);
    }
    this.changed.add(of).add(part);
  }

  drop(/** @type {Branch} */ of, /** @type {(part: Part) => boolean} */ gone) {
    const stay = of.parts.filter((p) => !gone(p));
    if (stay.length === of.parts.length) return;
    of.parts = stay;
    this.changed.add(of);
  }

  /** The branch that an event is of. @param {Attribution} data */
  place({ session_id: session, node_id: node, agent_id: agent }) {
    if (session) return this.branch('delegate', word(session), word(agent) || 'Sub-agent');
    if (node) return this.branch('node', word(node));
    return agent && this.team ? this.branch('agent', word(agent)) : this.turn;
  }

  /** A branch, which is made if it is not known: it joins the fork whose branches still work. @param {import('./branch.js').Kind} kind @param {string} id @param {string} [name] @param {Branch} [parent] @param {import('./branch.js').State} [state] */
  branch(kind, id, name = id, parent = this.turn, state = 'running') {
    const known = this.#branches.get(`${kind} ${id}`);
    if (known) return known;
    const made = { ...branch(kind, id, name), state };
    const fork = this.#joined(kind, parent, state) ?? this.#fork(kind, parent);
    fork.branches.push(made);
    made.fork = fork;
    this.#branches.set(`${kind} ${id}`, made);
    this.changed.add(fork).add(made);
    return made;
  }

  #joined(/** @type {import('./branch.js').Kind} */ kind, /** @type {Branch} */ parent, /** @type {import('./branch.js').State} */ state) {
    const fork = /** @type {Fork | undefined} */ (parent.parts.findLast((p) => p.kind === 'fork' && p.what === kind));
    if (!fork) return null;
    const isOpen = kind === 'draft' || fork.branches.some((b) => open.includes(b.state));
    return isOpen || (state === 'skipped' && fork.branches.every((b) => b.state === 'skipped')) ? fork : null;
  }

  #fork(/** @type {import('./branch.js').Kind} */ kind, /** @type {Branch} */ parent) {
    if (kind === 'node' && !parent.parts.some((p) => p.kind === 'graph')) this.add(parent, { kind: 'graph' }, true);
    /** @type {Fork} */
    const fork = { kind: 'fork', what: kind, branches: [] };
    this.add(parent, fork, true);
    return fork;
  }

  /** Lets a text of a branch grow, or begins one. Null: it is white space, which keeps two apart. @param {Branch} of @param {string} delta @param {boolean} copy @param {import('./branch.js').Text['role']} [role] */
  grow(of, delta, copy, role = '') {
    let part = openPart(of, 'text', (p) => p.copy === copy);
    if (!part) {
      if (delta.trim() === '') return null;
      this.add(of, part = textPart(copy, role));
    }
    part.text += delta;
    this.changed.add(part);
    return part;
  }

  think(/** @type {Branch} */ of, /** @type {string} */ content) {
    let part = openPart(of, 'thoughts');
    if (!part) this.add(of, part = { kind: 'thoughts', text: '', cuts: 0, done: false });
    part.text += content;
    this.changed.add(part);
  }
}
