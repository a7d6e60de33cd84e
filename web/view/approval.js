// The card of a question: may these calls run? Each call has three buttons; when all are
// decided, the answer is sent, and the turn goes on below. A question without calls, as a
// step of a workflow has it, is answered as a whole.

import { el, set } from './dom.js';
import { args } from './tool.js';

/** @typedef {import('../types').Approval} Approval */
/** @typedef {import('../types').Decision} Decision */
/** @typedef {import('../types').Answer} Answer */
/** @typedef {import('../types').Pending} Pending */

/** @type {Record<string, string>} */
const reasons = {
  destructive: 'It may destroy something.',
  writes: 'It changes something.',
  all: 'Every call is asked about.',
  confirm: 'The operator wants this tool to be asked about.',
  tool_changed: 'The tool has changed since you were asked: look again.',
};

const longestTimer = 2 ** 31 - 1; // milliseconds

/** @type {Record<Decision['action'], string>} */
const decided = { approve: 'Allowed', reject: 'Not allowed', modify: 'Allowed with your changes' };

export class ApprovalCard {
  /** @type {Map<string, Decision>} */
  #decisions = new Map();
  #answered = false;

  /** @param {Approval} approval @param {(answer: Answer) => void} answer  called once, and again after reopen */
  constructor(approval, answer) {
    this.approval = approval;
    this.answer = answer;
    const until = new Date(approval.expires_at);
    this.whole = el('div', { class: 'actions' });
    this.state = el('p', { class: 'faint' }, `It can be answered until ${until.toLocaleString()}.`);
    this.node = el('section', { class: 'approval', 'data-testid': 'approval', 'aria-label': approval.prompt },
      el('h3', { dir: 'auto' }, approval.prompt), ...(approval.calls ?? []).map((call) => this.#call(call)), this.whole, this.state);
    if (!approval.calls?.length) this.#offerWhole();
    this.#watch(until.getTime());
  }

  // Says when it is late. The gateway's clock counts, so the choices stay.
  /** @param {number} until */
  #watch(until) {
    const left = until - Date.now();
    if (!(left < longestTimer)) return; // timers take no more, and then it is no matter of seconds
    setTimeout(() => {
      if (!this.#answered) this.state.textContent = 'The time to answer is over.';
    }, Math.max(0, left));
  }

  // The answer to a question without calls, with what a person may fill in.
  #offerWhole() {
    const { prompt, schema } = this.approval;
    const box = el('textarea', { class: 'arguments', 'data-testid': 'filled', 'aria-label': `What is asked for, as JSON: ${prompt}` });
    box.value = schema ? template(schema) : '';
    const message = el('input', { type: 'text', 'data-testid': 'message', 'aria-label': `A message with the answer to: ${prompt}`, maxlength: 2000, placeholder: 'A message, if you like' });
    const fault = el('p', { class: 'bad', role: 'alert' });
    /** @param {'approve' | 'reject'} action */
    const answer = (action) => {
      const input = action === 'approve' && schema ? object(box.value) : undefined;
      if (input === null) {
        fault.textContent = 'This is no JSON object.';
        return;
      }
      const said = message.value.trim();
      settle(this.whole, decided[action]);
      this.#sent();
      this.answer({ action, ...(said ? { message: said } : {}), ...(input ? { input } : {}) });
    };
    const hint = schema ? optional(schema) : '';
    set(this.whole, schema ? box : null, hint ? el('p', { class: 'faint' }, hint) : null, message, fault,
      button('Allow', `Allow: ${prompt}`, 'approve', () => answer('approve')),
      button('Do not allow', `Do not allow: ${prompt}`, 'reject', () => answer('reject')));
  }

  /** @param {Pending} call */
  #call(call) {
    const foot = el('div', { class: 'actions' });
    const node = el('div', { class: 'tool', 'data-testid': 'pending-call', 'data-tool': call.tool_name },
      el('div', { class: 'tool-head' }, el('code', { class: 'name' }, call.tool_name),
        call.server ? el('span', { class: 'faint' }, `on ${call.server}`) : null,
        call.agent_id ? el('span', { class: 'faint' }, `for ${call.agent_id}`) : null),
      args(call.arguments), el('p', { class: 'faint' }, reasons[call.reason] ?? call.reason), foot);
    this.#offer(call, foot);
    return node;
  }

  /** @param {Pending} call @param {HTMLElement} foot */
  #offer(call, foot) {
    const name = call.tool_name;
    set(foot,
      button('Allow', `Allow ${name}`, 'approve', () => this.#decide(call, foot, { call_id: call.call_id, action: 'approve' })),
      button('Do not allow', `Do not allow ${name}`, 'reject', () => this.#decide(call, foot, { call_id: call.call_id, action: 'reject' })),
      // A list may have cut the arguments: what is changed there would replace all of them.
      call.truncated ? null : button('Change…', `Change the arguments of ${name}`, 'modify', () => this.#edit(call, foot)));
  }

  /** @param {Pending} call @param {HTMLElement} foot */
  #edit(call, foot) {
    const box = el('textarea', { class: 'arguments', 'data-testid': 'arguments', 'aria-label': `Arguments of ${call.tool_name}, as JSON` });
    box.spellcheck = false;
    box.rows = 6;
    box.value = JSON.stringify(call.arguments, null, 2);
    const fault = el('p', { class: 'bad', role: 'alert' });
    const run = () => {
      const given = object(box.value);
      if (given) this.#decide(call, foot, { call_id: call.call_id, action: 'modify', arguments: given });
      else fault.textContent = 'This is no JSON object.';
    };
    set(foot, box, fault, button('Allow with these', `Allow with these arguments: ${call.tool_name}`, 'run-modified', run),
      button('Back', 'Back to the three choices', 'back', () => {
        this.#offer(call, foot);
        foot.querySelector('button')?.focus();
      }));
    box.focus();
  }

  /** @param {Pending} call @param {HTMLElement} foot @param {Decision} decision */
  #decide(call, foot, decision) {
    this.#decisions.set(call.call_id, decision);
    settle(foot, decided[decision.action]);
    if (this.#decisions.size < (this.approval.calls?.length ?? 0)) return;
    this.#sent();
    this.answer({ calls: [...this.#decisions.values()] });
  }

  #sent() {
    this.#answered = true;
    this.state.textContent = 'Answered.';
  }

  /** Says that the answer was not taken, and that no other will be. @param {string} why */
  close(why) {
    for (const foot of this.node.querySelectorAll('.actions')) set(foot);
    this.state.textContent = `The answer was not taken. ${why}`;
  }

  /** Offers the choices again, as the answer was not taken. */
  reopen() {
    this.#answered = false;
    this.#decisions.clear();
    this.state.textContent = 'The answer was not taken. Nothing was run.';
    const calls = this.approval.calls ?? [];
    for (const [i, foot] of [...this.node.querySelectorAll('.tool > .actions')].entries()) this.#offer(calls[i], /** @type {HTMLElement} */ (foot));
    if (calls.length === 0) this.#offerWhole();
  }
}

/**
 * Puts a decision in the place of its choices. Who chose by keyboard or hears the page
 * stays there: the focus would be lost with the button.
 * @param {HTMLElement} foot @param {string} what
 */
function settle(foot, what) {
  const line = el('p', { 'data-testid': 'decided', tabindex: -1 }, `${what}.`);
  const isHere = foot.contains(document.activeElement);
  set(foot, line);
  if (isHere) line.focus({ preventScroll: true });
}

/** @param {string} words @param {string} name @param {string} id @param {() => void} act */
function button(words, name, id, act) {
  const node = el('button', { type: 'button', 'aria-label': name, 'data-testid': id }, words);
  node.addEventListener('click', act);
  return node;
}

/** @param {string} text @returns {Record<string, unknown> | null} */
function object(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * What a schema asks for, to fill in: what it requires, or has a default for. The rest is left
 * out, as an empty text would be no answer but a fault.
 * @param {import('../types').Schema} schema
 */
const template = (schema) => JSON.stringify(Object.fromEntries(Object.entries(schema.properties ?? {})
  .filter(([name, { default: given }]) => given !== undefined || schema.required?.includes(name))
  .map(([name, { type, default: given }]) => [name, given ?? (type === 'string' ? '' : null)])), null, 2);

/**
 * The names of what may be filled in and is not there; '' if there is no such thing.
 * @param {import('../types').Schema} schema
 */
function optional(schema) {
  const names = Object.entries(schema.properties ?? {}).filter(([name, { default: given }]) => given === undefined && !schema.required?.includes(name));
  return names.length ? `It may also have: ${names.map(([name, { type }]) => (type ? `${name} (${[type].flat().join(' or ')})` : name)).join(', ')}.` : '';
}

/**
 * What a person decided, in a line.
 * @param {Answer} answer @param {Approval} approval
 */
export function spoken({ calls, action }, approval) {
  if (action) return `${decided[action]}: ${approval.prompt}`;
  return (calls ?? []).map((decision) => {
    const call = approval.calls?.find((c) => c.call_id === decision.call_id);
    return `${decided[decision.action]}: ${call?.tool_name ?? decision.call_id}`;
  }).join('; ');
}
