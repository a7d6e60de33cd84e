// The work on an answer in one line: the newest thing while it runs, and at its end all of it.

import { walk, word } from './tree.js';
import { counted, listed, phases, short } from '../words.js';

/** @param {Branch} turn @param {'agent' | 'node' | 'delegate' | 'draft'} kind @returns {Branch[]} */
export const branchesOf = (turn, kind) => turn.parts.flatMap((p) => (p.kind === 'fork' && p.what === kind ? p.branches : []));

/** All calls of tools in a turn, in all its branches. @param {Branch} turn */
export const callsOf = (turn) => [...walk(turn)].flatMap((b) => b.parts.flatMap((p) => (p.kind === 'tool' ? [p] : [])));

/** Whether a turn has anything to open: nothing happened on the way to a plain answer. @param {Branch} turn */
export const hasSteps = (turn) => turn.parts.some((p) => !['text', 'message', 'approval'].includes(p.kind) && !(p.kind === 'fault' && p.fault.fatal));

/** The newest thing of a turn that runs. @param {Branch} turn @param {boolean} hasBegun */
export function newest(turn, hasBegun) {
  for (const part of turn.parts.toReversed()) {
    const line = nowOf(part);
    if (line) return line;
  }
  return hasBegun ? 'Thinking' : 'Sending';
}

/** @param {Part} part @returns {string} empty: it has ended */
function nowOf(part) {
  switch (part.kind) {
    case 'thoughts': return part.done ? '' : 'Thinking';
    case 'text': return part.done ? '' : 'Writing';
    case 'tool': return isOpen(part) ? `Using ${short(word(part.call.tool_name))}` : '';
    case 'checks': return part.open ? phases.get(part.phases.at(-1)?.phase ?? '') ?? '' : '';
    case 'fork': {
      const at = part.branches.findLast((b) => b.state === 'running' || b.state === 'retrying');
      if (!at) return '';
      return at.parts.at(-1)?.kind === 'text' ? `${short(at.name)} is writing` : at.state === 'retrying' ? `${short(at.name)} tries again` : `${short(at.name)} is at work`;
    }
  }
  return '';
}

const isOpen = (/** @type {ToolPart} */ { call, lost }) => !lost && (call.status === 'in_progress' || call.status === 'progress');

/** All that happened in a turn. @param {Branch} turn @param {string} workflow  its name, if one answered */
export function summary(turn, workflow) {
  const nodes = branchesOf(turn, 'node').filter((b) => b.state !== 'skipped');
  const checks = turn.parts.find((p) => p.kind === 'checks');
  const checked = checks?.kind === 'checks' ? checkLine(checks) : '';
  if (nodes.length > 0) {
    const done = nodes.filter((b) => b.state === 'done').length;
    const steps = done === nodes.length ? counted(done, 'step') : `${done} of ${counted(nodes.length, 'step')} done`;
    return [`Workflow${workflow ? ` ${short(workflow)}` : ''}: ${steps}`, checked].filter(Boolean).join(', ');
  }
  const agents = [...new Set(branchesOf(turn, 'agent').map((b) => short(b.name)))];
  const calls = callsOf(turn).filter((p) => !p.agent);
  const names = [...new Set(calls.map((p) => short(word(p.call.tool_name))))];
  const delegates = [...new Set([...walk(turn)].filter((b) => b.kind === 'delegate').map((b) => short(b.name)))];
  const asked = agents.length > 0 ? agents : delegates;
  const parts = [
    turn.parts.some((p) => p.kind === 'thoughts') && 'thought',
    asked.length > 0 && `asked ${listed(asked)}`,
    names.length > 0 && `used ${names.length > 4 ? counted(names.length, 'tool') : listed(names)}`,
    turn.parts.some((p) => p.kind === 'change') && 'changed the model',
    checked,
  ].filter((p) => typeof p === 'string' && p !== '');
  const line = parts.join(', then ') || 'worked';
  return line[0].toUpperCase() + line.slice(1);
}

export function checkLine(/** @type {ChecksPart} */ { receipt, open }) {
  if (open) return 'checking the answer';
  const all = receipt?.criteria ?? [];
  return all.length > 0 ? `checked: ${all.filter((c) => c.passed).length} of ${all.length}` : '';
}

/** The tools that ran and may have changed something. @param {Branch} turn @param {Tool[]} tools @returns {{ done: string[], unknown: string[] }} */
export function effectsOf(turn, tools) {
  const reads = new Set(tools.filter((t) => t.annotations?.readOnlyHint).map((t) => t.name));
  const calls = callsOf(turn).filter((p) => !p.agent && !reads.has(p.call.tool_name));
  const names = (/** @type {typeof calls} */ list) => [...new Set(list.map((p) => short(word(p.call.tool_name))))];
  return { done: names(calls.filter((p) => p.call.status === 'completed')), unknown: names(calls.filter((p) => p.call.status === 'unknown' || p.lost)) };
}
