// Branches that a turn forks into: each has one block with a name, a state and all that it says
// and does. They stand side by side where there is room, and fold when they are done.

import { attribute, el, set, text, visible } from './dom.js';
import { arrange, PartList } from './list.js';
import { duration, gist, short, states } from '../words.js';

/** @typedef {import('../model/branch.js').Branch} Branch */
/** @typedef {import('../model/branch.js').Fork} Fork */
/** @typedef {import('./turn.js').TurnView} TurnView */

/** @type {Record<import('../model/branch.js').Kind, { what: string, label: string, hook: string }>} */
const words = {
  turn: { what: '', label: '', hook: '' },
  agent: { what: '', label: 'Agents', hook: 'team' },
  node: { what: '', label: 'Nodes of the workflow', hook: 'nodes' },
  delegate: { what: 'sub-agent', label: 'Sub-agents', hook: 'delegates' },
  draft: { what: '', label: 'Drafts', hook: 'drafts-shown' },
};
const working = ['running', 'retrying'];
const quiet = ['done', 'skipped', 'next', 'struck']; // states in which a block is folded

export class ForkView {
  /** @param {Fork} fork @param {TurnView} turn */
  constructor(fork, turn) {
    this.fork = fork;
    this.turn = turn;
    this.node = el('section', { class: 'fork', 'data-testid': words[fork.what].hook, 'data-what': fork.what, 'aria-label': words[fork.what].label });
  }

  draw() {
    const { branches, what } = this.fork;
    attribute(this.node, 'data-alone', branches.length === 1);
    arrange(this.node, branches.map((b) => this.turn.view(b, () => (what === 'draft' ? new DraftView(b, this.turn) : new BranchView(b, this.turn))).node));
  }
}

/** One branch. */
export class BranchView {
  #state = '';
  #isTouched = false; // somebody has folded it, or not
  #name = el('strong', { dir: 'auto' });
  #what = el('span', { class: 'faint' });
  #word = el('span', { class: 'state' });
  #gist = el('span', { class: 'gist faint', dir: 'auto' });

  /** @param {Branch} branch @param {TurnView} turn */
  constructor(branch, turn) {
    this.branch = branch;
    this.turn = turn;
    this.items = el('div', { class: 'items' });
    this.list = new PartList(branch, this.items, turn);
    this.body = el('div', { class: 'inside', tabindex: 0, role: 'group' }, this.items);
    this.head = el('summary', { 'data-testid': branch.kind }, this.#name, this.#what, this.#word, this.#gist);
    this.head.addEventListener('click', () => { this.#isTouched = true; });
    this.node = el('details', { class: 'branch', 'data-kind': branch.kind }, this.head, this.body);
  }

  draw() {
    const { name, type, kind, state, ms, note, task, fork } = this.branch;
    this.list.draw();
    attribute(this.node, 'data-state', state);
    attribute(this.node, 'title', name.length > 80 ? visible(name.slice(0, 1000)) : null);
    attribute(this.body, 'aria-label', visible(short(name)));
    set(this.#name, short(name));
    set(this.#what, type || words[kind].what);
    set(this.#word, this.line(state, ms, note));
    set(this.#gist, text(gist(task.trim() || this.#said())));
    if (task.trim() && !this.asked) this.body.insertBefore(this.asked = el('p', { class: 'task', dir: 'auto' }, el('span', { class: 'faint' }, 'Asked: '), task.slice(0, 5000)), this.items);
    if (state !== this.#state) this.#fold(fork?.branches.length === 1 && kind === 'agent');
    this.#state = state;
  }

  /** @param {Branch['state']} state @param {number | undefined} ms @param {string} note */
  line(state, ms, note) {
    return [`${states.get(state)}${ms === undefined ? '' : working.includes(state) ? '' : ` · ${duration(ms)}`}`, note].filter(Boolean).join(': ').slice(0, 300);
  }

  // What is done folds, but for one that somebody is at work in.
  /** @param {boolean} isAlone */
  #fold(isAlone) {
    if (this.#isTouched || this.node.contains(document.activeElement)) return;
    attribute(this.node, 'open', isAlone || !quiet.includes(this.branch.state));
  }

  /** Opens it, and goes there. */
  show() {
    attribute(this.node, 'open', true);
    this.#isTouched = true;
    this.head.focus({ preventScroll: true });
    this.node.scrollIntoView({ block: 'nearest' });
  }

  #said() {
    const last = this.branch.parts.findLast((p) => p.kind === 'text' && p.role !== 'earlier');
    return last?.kind === 'text' ? last.text : '';
  }
}

/** A draft of an answer that is checked before it is sent. */
class DraftView extends BranchView {
  /** @param {Branch} branch @param {TurnView} turn */
  constructor(branch, turn) {
    super(branch, turn);
    for (const [name, value] of Object.entries({ 'data-testid': 'draft', 'data-attempt': branch.id })) attribute(this.node, name, value);
    attribute(this.head, 'data-testid', null);
  }

  draw() {
    super.draw();
    attribute(this.node, 'data-struck', this.branch.state === 'struck');
  }

  /** @param {Branch['state']} state @param {number | undefined} _ms @param {string} note */
  line(state, _ms, note) { return note || (working.includes(state) ? 'not checked yet' : ''); }
}
