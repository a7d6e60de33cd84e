// The calls of tools in a turn, each in one part, whatever comes late or twice.

import { word } from './branch.js';

/** @typedef {import('./branch.js').Branch} Branch */
/** @typedef {import('./branch.js').Tool} Tool */

const works = ['in_progress', 'progress']; // statuses of a call that has not ended

export class Calls {
  /** @type {Map<string, { part: Tool, of: Branch }>} by id */
  #all = new Map();
  #tree;

  constructor(/** @type {import('./tree.js').Tree} */ tree) {
    this.#tree = tree;
  }

  get(/** @type {unknown} */ id) { return this.#all.get(word(id)); }

  add(/** @type {ToolCall & import('./tree.js').Attribution} */ call) {
    const part = this.get(call.call_id)?.part;
    if (!part) return this.#begin(call);
    if (!works.includes(part.call.status) && works.includes(call.status)) return ''; // it came late
    part.call = { ...call, arguments: call.arguments ?? part.call.arguments };
    this.#tree.changed.add(part);
    return '';
  }

  #begin(/** @type {ToolCall & import('./tree.js').Attribution} */ call) {
    const of = this.#tree.place(call);
    /** @type {Tool} */
    const part = { kind: 'tool', call, whole: '', lost: false, notice: null, agent: false };
    this.#all.set(word(call.call_id), { part, of });
    this.#tree.add(of, part);
    return `Calling the tool ${word(call.tool_name)}`;
  }

  /** The whole result of a node's tool, which the call's own event may have cut. False: there is no call that it could be of. @param {Branch} of @param {string} delta */
  whole(of, delta) {
    const part = of.parts.findLast((p) => p.kind === 'tool');
    if (!part) return false;
    part.whole += delta;
    this.#tree.changed.add(part);
    return true;
  }

  /** Whether a fault that is not fatal is the reason of a call's failure, which then has it. @param {Fault} fault */
  explains(fault) {
    if (fault.fatal) return false;
    for (const { part } of this.#all.values()) {
      if (part.notice || !part.call.error || part.call.error !== fault.message) continue;
      part.notice = fault;
      this.#tree.changed.add(part);
      return true;
    }
    return false;
  }

  /** The end of those that still work will not come. */
  lose() {
    for (const { part } of this.#all.values()) {
      if (!works.includes(part.call.status)) continue;
      part.lost = true;
      this.#tree.changed.add(part);
    }
  }
}
