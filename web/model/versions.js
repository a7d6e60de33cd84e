// The turns of a conversation as a tree: a turn that was tried again or whose message was edited has
// other versions beside it. The path is the version that is shown, from the first turn to the last.

/** @template T @typedef {{ turn: T | null, above: Node<T> | null, below: Node<T>[], at: number }} Node  at: which of below is chosen */

/** @template {object} T */
export class Versions {
  /** @type {Node<T>} */
  #root = { turn: null, above: null, below: [], at: -1 };
  /** @type {Map<T, Node<T>>} */
  #nodes = new Map();

  /** All turns, in the order in which they were added. */
  get all() { return [...this.#nodes.keys()]; }

  /** @returns {T[]} the turns that are shown */
  get path() {
    const path = [];
    for (let node = this.#root.below[this.#root.at]; node; node = node.below[node.at]) if (node.turn) path.push(node.turn);
    return path;
  }

  /** Adds a turn behind another one, and chooses it. @param {T} turn @param {T | null} above  null: it is a first turn */
  add(turn, above) {
    const node = (above && this.#nodes.get(above)) || this.#root;
    node.at = node.below.push({ turn, above: node, below: [], at: -1 }) - 1;
    this.#nodes.set(turn, node.below[node.at]);
    return this;
  }

  /** Takes a turn out that nothing follows. @param {T} turn */
  remove(turn) {
    const above = this.#nodes.get(turn)?.above;
    if (!above) return;
    above.below = above.below.filter((n) => n.turn !== turn);
    above.at = above.below.length - 1;
    this.#nodes.delete(turn);
  }

  /** The turn before a turn; null: it is a first one. @param {T} turn */
  above(turn) { return this.#nodes.get(turn)?.above?.turn ?? null; }

  /** The path up to a turn, and with it. @param {T | null} turn @returns {T[]} */
  upTo(turn) {
    const path = [];
    for (let node = turn && this.#nodes.get(turn); node?.turn; node = node.above) path.unshift(node.turn);
    return path;
  }

  /** All versions of a turn, with itself. @param {T} turn @returns {T[]} */
  siblings(turn) { return (this.#nodes.get(turn)?.above?.below ?? []).flatMap((n) => n.turn ?? []); }

  /** Shows a turn in the place of its other versions. @param {T} turn */
  choose(turn) {
    const above = this.#nodes.get(turn)?.above;
    if (above) above.at = above.below.findIndex((n) => n.turn === turn);
  }
}
