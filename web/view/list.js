// The parts of a branch as nodes in their order.

/** @typedef {import('../model/branch.js').Branch} Branch */
/** @typedef {import('./turn.js').TurnView} TurnView */

/** The parts of a branch in their order. */
export class PartList {
  /** @type {import('../model/branch.js').Part[]} */
  #shown = [];

  /** @param {Branch} branch @param {Element} root @param {TurnView} turn */
  constructor(branch, root, turn) {
    this.branch = branch;
    this.root = root;
    this.turn = turn;
  }

  draw() {
    const { parts } = this.branch;
    const isMore = this.#shown.every((part, i) => parts[i] === part);
    if (isMore) this.root.append(...parts.slice(this.#shown.length).map((part) => this.turn.part(part).node));
    else arrange(this.root, parts.map((part) => this.turn.part(part).node));
    this.#shown = [...parts];
  }
}

/**
 * Makes nodes the children of root. Those that stay are not touched: a reader may be at work in them.
 * @param {Element} root @param {Element[]} nodes
 */
export function arrange(root, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...root.children]) if (!wanted.has(node)) node.remove();
  let at = root.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else root.insertBefore(node, at);
  }
}
