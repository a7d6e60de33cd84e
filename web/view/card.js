// The card of a question to a person: one main button, another, and a quiet third. When it is
// answered, one grey line stands in its place.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { asUser, tools } from '../model/chat.js';
import { headOf, isDestructive, startValues } from '../model/question.js';
import { listed } from '../words.js';
import { box } from './state.js';
import { Fields } from './fields.js';
import { h } from './h.js';
import { Facts, Icon, useTicks } from './icon.js';

export function Card(/** @type {{ question: Question, conversation: Conversation, workflow: string }} */ { question, conversation, workflow }) {
  const [isShown, setShown] = useState(false);
  const status = question.status.value;
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  const { approval } = question;
  useEffect(() => { // it takes the focus only from an empty box
    const at = document.activeElement;
    if (status === 'open' && at?.id === 'input' && box.peek() === '') root.current?.focus({ preventScroll: true });
    else if (status === 'sent') root.current?.focus({ preventScroll: true }); // its buttons go
    else if (status !== 'open' && at === document.body) line.current?.focus({ preventScroll: true });
  }, [status]);
  if (status === 'answered' || status === 'closed') {
    return h('div', null, h('p', { class: 'said', 'data-testid': 'decided', tabindex: -1, ref: line }, h(Icon, { name: status === 'answered' ? 'check' : 'info', small: true }), h('span', null, question.line.value),
      approval.calls?.length ? h('button', { type: 'button', class: 'plain', 'aria-expanded': String(isShown), onClick: () => setShown(!isShown) }, 'Details') : null),
    isShown ? approval.calls?.map((c) => h('div', { key: c.call_id, class: 'well' }, h('b', { class: 'mono' }, c.tool_name), h(Facts, { of: c.arguments }))) : null);
  }
  const head = headOf(approval, tools.value, workflow);
  const id = `ask-${approval.approval_id}`;
  const answer = (/** @type {Answer} */ answer) => conversation.decide(question, answer, asUser.peek());
  const isBusy = status === 'sent' || conversation.running.value !== null;
  const Form = forms[approval.kind ?? (approval.calls?.length ? 'tool' : 'human')] ?? Unknown;
  return h('section', { class: 'ask', ref: root, tabindex: -1, 'data-testid': 'approval', 'data-kind': approval.kind, 'aria-labelledby': id },
    h('header', null, h('span', { class: `badge ${head.tone}` }, h(Icon, { name: head.icon })), h('div', null, h('h3', { id, dir: 'auto' }, head.title), h('p', { class: 'soft' }, head.text))),
    h(Form, { approval, answer, isBusy }),
    question.line.value ? h('p', { class: 'bad', role: 'alert' }, question.line.value) : null,
    h(Until, { at: Date.parse(approval.expires_at) }));
}

function Until(/** @type {{ at: number }} */ { at }) {
  useTicks(5000, Number.isFinite(at));
  if (!Number.isFinite(at)) return null;
  const left = at - Date.now();
  return h('p', { class: 'until soft' }, left > 0 ? `Open for ${remaining(left)}` : 'The time to answer is over');
}

function remaining(/** @type {number} */ ms) {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.ceil(ms / 1000)} s`;
  return minutes < 60 ? `${minutes} min` : minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} days`;
}

/** @typedef {{ approval: Approval, answer: (answer: Answer) => void, isBusy: boolean }} FormProps */

function ToolForm(/** @type {FormProps} */ { approval, answer, isBusy }) {
  const calls = approval.calls ?? [];
  return calls.length > 1 ? h(ManyCalls, { calls, answer, isBusy }) : h(OneCall, { call: calls[0], answer, isBusy });
}

function OneCall(/** @type {{ call: Pending, answer: (answer: Answer) => void, isBusy: boolean }} */ { call, answer, isBusy }) {
  const [given, setGiven] = useState(/** @type {Record<string, unknown> | null | undefined} */ (undefined)); // undefined: it is not being changed
  const isBad = isDestructive(call, tools.value);
  const field = useRef(/** @type {HTMLElement | null} */ (null));
  const isChanging = given !== undefined;
  useEffect(() => {
    if (isChanging) /** @type {HTMLElement | null | undefined} */ (field.current?.querySelector('input, textarea, select'))?.focus();
  }, [isChanging]);
  const decide = (/** @type {'approve' | 'reject'} */ action) => answer({ calls: [{ call_id: call.call_id, action }] });
  const schema = tools.value.find((t) => t.name === call.tool_name)?.input_schema;
  if (isChanging) {
    return h('div', { class: 'body', ref: field }, h(Fields, { schema, values: call.arguments, label: `Arguments of ${call.tool_name}, as JSON`, change: setGiven }),
      h('footer', null, h('button', { type: 'button', class: isBad ? 'danger' : 'main', disabled: isBusy || given === null, 'data-testid': 'run-modified', onClick: () => given && answer({ calls: [{ call_id: call.call_id, action: 'modify', arguments: given }] }) }, isBad ? 'Allow deleting' : 'Allow with these'),
        h('button', { type: 'button', 'data-testid': 'back', onClick: () => setGiven(undefined) }, 'Back')));
  }
  return h('div', { class: 'body', 'data-testid': 'pending-call', 'data-tool': call.tool_name },
    Object.keys(call.arguments ?? {}).length > 0 ? h(Facts, { of: call.arguments }) : null,
    h('footer', null,
      h('button', { type: 'button', class: isBad ? 'danger' : 'main', disabled: isBusy, 'data-testid': 'approve', onClick: () => decide('approve') }, isBad ? 'Allow deleting' : 'Allow'),
      h('button', { type: 'button', disabled: isBusy, 'data-testid': 'reject', onClick: () => decide('reject') }, 'Deny'),
      // A list may have cut the arguments: a change there would replace all of them.
      call.truncated ? null : h('button', { type: 'button', class: 'plain', disabled: isBusy, 'data-testid': 'modify', onClick: () => setGiven(call.arguments ?? {}) }, h(Icon, { name: 'pencil', small: true }), 'Change')));
}

function ManyCalls(/** @type {{ calls: Pending[], answer: (answer: Answer) => void, isBusy: boolean }} */ { calls, answer, isBusy }) {
  const [given, setGiven] = useState(/** @type {Record<string, 'approve' | 'reject'>} */ ({}));
  const count = Object.keys(given).length;
  const all = (/** @type {'approve' | 'reject'} */ action) => answer({ calls: calls.map((c) => ({ call_id: c.call_id, action })) });
  const isMixed = count > 0;
  const isBad = calls.some((c) => isDestructive(c, tools.value));
  return h('div', { class: 'body' }, calls.map((c) => h('div', { key: c.call_id, class: 'one-of', 'data-testid': 'pending-call', 'data-tool': c.tool_name },
    h('div', { class: 'step' }, h('b', { class: 'mono' }, c.tool_name), c.server ? h('span', { class: 'soft' }, `on ${c.server}`) : null, c.agent_id ? h('span', { class: 'soft' }, `for ${c.agent_id}`) : null, h('span', { class: 'space' }),
      ['approve', 'reject'].map((action) => h('button', { key: action, type: 'button', class: 'toggle', 'aria-pressed': String(given[c.call_id] === action), 'aria-label': `${action === 'approve' ? 'Allow' : 'Deny'} ${c.tool_name}`, disabled: isBusy, 'data-testid': `one-${action}`, onClick: () => setGiven({ ...given, [c.call_id]: /** @type {'approve'} */ (action) }) }, action === 'approve' ? 'Allow' : 'Deny'))),
    h(Facts, { of: c.arguments }))),
  h('footer', null, isMixed
    ? h('button', { type: 'button', class: 'main', disabled: isBusy || count < calls.length, 'data-testid': 'send-answers', onClick: () => answer({ calls: calls.map((c) => ({ call_id: c.call_id, action: given[c.call_id] })) }) }, 'Send answers')
    : h('button', { type: 'button', class: isBad ? 'danger' : 'main', disabled: isBusy, 'data-testid': 'approve', onClick: () => all('approve') }, `Allow all ${calls.length}`),
  h('button', { type: 'button', disabled: isBusy, 'data-testid': 'reject', onClick: () => all('reject') }, 'Deny all')));
}

function HumanForm(/** @type {FormProps} */ { approval, answer, isBusy }) {
  const { schema } = approval;
  const [given, setGiven] = useState(/** @type {Record<string, unknown> | null} */ (startValues(schema)));
  const [message, setMessage] = useState('');
  const said = message.trim() ? { message: message.trim() } : {};
  return h('div', { class: 'body' }, schema ? h(Fields, { schema, values: startValues(schema), label: `Your answer to ${approval.prompt}, as JSON`, change: setGiven }) : null,
    h('div', { class: 'field' }, h('input', { type: 'text', value: message, maxlength: 2000, placeholder: 'Add a message, if you like', 'aria-label': `A message with your answer to: ${approval.prompt}`, 'data-testid': 'message', onInput: (/** @type {any} */ e) => setMessage(e.currentTarget.value) })),
    h('footer', null, h('button', { type: 'button', class: 'main', disabled: isBusy || given === null, 'data-testid': 'approve', onClick: () => answer({ action: 'approve', ...said, ...(schema && given ? { input: given } : {}) }) }, 'Approve'),
      h('button', { type: 'button', disabled: isBusy, 'data-testid': 'reject', onClick: () => answer({ action: 'reject', ...said }) }, 'Reject')));
}

function OutcomeForm(/** @type {FormProps} */ { approval, answer, isBusy }) {
  const [result, setResult] = useState(/** @type {string | null} */ (null));
  const calls = approval.calls ?? [];
  return h('div', { class: 'body' }, calls.map((c) => h('div', { key: c.call_id, class: 'well', 'data-testid': 'pending-call', 'data-tool': c.tool_name }, h(Facts, { of: c.arguments }))),
    result === null ? null : h('div', { class: 'field' }, h('input', { type: 'text', value: result, placeholder: 'The result, as it should be known', 'aria-label': `The result of ${listed(calls.map((c) => c.tool_name))}`, 'data-testid': 'outcome-result', onInput: (/** @type {any} */ e) => setResult(e.currentTarget.value) })),
    h('footer', null, h('button', { type: 'button', disabled: isBusy, 'data-testid': 'approve', onClick: () => answer({ action: 'approve' }) }, 'Not done: call again'),
      h('button', { type: 'button', disabled: isBusy, 'data-testid': 'reject', onClick: () => answer({ action: 'reject' }) }, 'Not done: go on'),
      h('button', { type: 'button', disabled: isBusy || result?.trim() === '', 'data-testid': 'outcome-done', onClick: () => (result === null ? setResult('') : answer({ calls: calls.map((c) => ({ call_id: c.call_id, action: 'modify', result })) })) }, 'Done')));
}

/** A question of a kind that this page does not know. @param {FormProps} props */
const Unknown = ({ answer, isBusy }) => h('div', { class: 'body' }, h('footer', null, h('button', { type: 'button', disabled: isBusy, 'data-testid': 'reject', onClick: () => answer({ action: 'reject' }) }, 'Deny')));

/** @type {Record<string, (props: FormProps) => any>} */
const forms = { tool: ToolForm, human: HumanForm, outcome: OutcomeForm };

