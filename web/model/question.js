// A question to a person: its words, the answer that fits each kind, and what became of it.

import { signal } from '../vendor/signals.js';
import { counted, listed, texts } from '../words.js';

/** @typedef {'open' | 'sent' | 'answered' | 'closed'} Status */

export class Question {
  status = signal(/** @type {Status} */ ('open'));
  /** A fault of the answer while it is open, else the line in the place of the card. */
  line = signal('');
  /** @type {TurnRecord | null} the turn of this page that asked */
  record = null;

  constructor(/** @type {Approval} */ approval) {
    this.approval = approval;
  }

  get isOpen() { return this.status.value === 'open' || this.status.value === 'sent'; }

  accept(/** @type {Answer} */ answer) {
    this.status.value = 'answered';
    this.line.value = `${spokenOf(answer, this.approval)} at ${new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`;
  }

  /** The gateway refused the answer. @param {number} status @param {string} detail */
  refuse(status, detail) {
    const final = { 403: texts.notYours, 409: texts.taken, 410: texts.late }[status];
    this.status.value = final ? 'closed' : 'open';
    this.line.value = final ?? (detail ? `${detail}. ${texts.notTaken}` : texts.notTaken);
  }
}

/** @type {Record<string, string>} */
const verbs = { approve: 'You allowed', reject: 'You denied', modify: 'You changed and allowed' };

/** The decision of a person in one line. @param {Answer} answer @param {Approval} approval */
export function spokenOf({ calls, action }, { kind, calls: asked = [], prompt }) {
  if (kind === 'outcome') return `You told how ${listed(asked.map((c) => c.tool_name))} ended`;
  if (action && asked.length === 0) return `${action === 'approve' ? 'You approved' : 'You rejected'}: ${prompt}`;
  const decisions = calls ?? asked.map((c) => ({ call_id: c.call_id, action: action ?? 'reject' }));
  return Object.keys(verbs).flatMap((verb) => {
    const names = decisions.filter((d) => d.action === verb).map((d) => asked.find((c) => c.call_id === d.call_id)?.tool_name ?? d.call_id);
    return names.length > 0 ? [`${verbs[verb]} ${listed(names)}`] : [];
  }).join('; ');
}

/** The head of a card. @param {Approval} approval @param {Tool[]} tools @param {string} workflow @returns {{ icon: string, tone: '' | 'warn' | 'bad', title: string, text: string }} */
export function headOf({ kind, calls = [], prompt }, tools, workflow) {
  const [first] = calls;
  if (kind === 'outcome' && first) {
    return { icon: 'circle-question-mark', tone: 'warn', title: `Was ${listed(calls.map((c) => c.tool_name))} done?`, text: `The connection broke after it was sent. Look at ${first.server} first.` };
  }
  if (calls.length > 1) return { icon: 'shield-alert', tone: calls.some((c) => isDestructive(c, tools)) ? 'bad' : 'warn', title: `Allow ${counted(calls.length, 'call')}?`, text: 'Each one has its own answer.' };
  if (first) {
    const bad = isDestructive(first, tools);
    return { icon: 'shield-alert', tone: bad ? 'bad' : 'warn', title: `Allow ${first.tool_name}?`, text: effectOf(first, bad) };
  }
  return { icon: 'clipboard-list', tone: '', title: prompt, text: kind === 'human' || kind === undefined ? `${workflow ? `Workflow ${workflow}` : 'The workflow'} goes on with your answer.` : 'I go on with your answer.' };
}

/** @param {Pending} call @param {Tool[]} tools */
export const isDestructive = (call, tools) => call.reason === 'destructive' || tools.find((t) => t.name === call.tool_name)?.annotations?.destructiveHint === true;

function effectOf(/** @type {Pending} */ { server, reason, tool_name }, /** @type {boolean} */ isBad) {
  if (reason === 'tool_changed') return `${tool_name} has changed since you were asked.`;
  const on = server ? ` on ${server}` : '';
  return isBad ? `This deletes data${on} and cannot be undone.` : reason === 'writes' ? `This writes data${on}.` : `This uses ${tool_name}${on}.`;
}

/** The values that a form begins with: of what is required, or has a default. @param {Schema | undefined} schema */
export const startValues = (schema) => Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([, p]) => p.default !== undefined).map(([name, p]) => [name, p.default]));

/** Whether a schema can be shown as fields. @param {Schema | undefined} schema */
export const fitsFields = (schema) => {
  const count = Object.keys(schema?.properties ?? {}).length;
  return count > 0 && count <= 20;
};

/** The kind of field that a property has. @param {Schema} property @returns {'choice' | 'text' | 'number' | 'yes' | 'json'} */
export function fieldOf({ type, enum: values }) {
  if (values) return 'choice';
  const [kind] = [type ?? []].flat().filter((t) => t !== 'null');
  return kind === 'string' ? 'text' : kind === 'number' || kind === 'integer' ? 'number' : kind === 'boolean' ? 'yes' : 'json';
}
