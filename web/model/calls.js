// The calls of tools in a turn, each in one part, whatever comes late or twice.

import { word } from './tree.js';

const works = ['in_progress', 'progress']; // statuses of a call that has not ended

export class Calls {
  /** @type {Map<string, { part: ToolPart, of: Branch }>} by id */
  #all = new Map();
  #tree;

  constructor(/** @type {Tree} */ tree) { this.#tree = tree; }

  get(/** @type {unknown} */ id) { return this.#all.get(word(id)); }

  add(/** @type {ToolCall & Attribution} */ call) {
    const part = this.get(call.call_id)?.part;
    if (!part) return this.#begin(call);
    if (!works.includes(part.call.status) && works.includes(call.status)) return; // it came late
    part.call = { ...call, arguments: call.arguments ?? part.call.arguments };
  }

  #begin(/** @type {ToolCall & Attribution} */ call) {
    const of = this.#tree.place(call);
    /** @type {ToolPart} */
    const part = { kind: 'tool', call, whole: '', lost: false, notice: null, agent: false };
    this.#all.set(word(call.call_id), { part, of });
    this.#tree.add(of, part);
  }

  /** The whole result of a node's tool, which the call's own event may have cut. False: there is no call that it could be of. @param {Branch} of @param {string} delta */
  whole(of, delta) {
    const part = of.parts.findLast((p) => p.kind === 'tool');
    if (part) part.whole += delta;
    return part !== undefined;
  }

  /** Whether a fault that is not fatal is the reason of a call's failure, which then has it. @param {Fault} fault */
  explains(fault) {
    const found = fault.fatal ? undefined : [...this.#all.values()].find(({ part }) => !part.notice && part.call.error && part.call.error === fault.message);
    if (found) found.part.notice = fault;
    return found !== undefined;
  }

  /** The end of those that still work will not come. */
  lose() {
    for (const { part } of this.#all.values()) if (works.includes(part.call.status)) part.lost = true;
  }
}
