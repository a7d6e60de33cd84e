// The places that have no conversation yet: the empty chat with its examples, the card for a key, and
// the questions of others.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { agents, current, door, isDemo, me, openTask, refresh, tools, useKey, waiting, workflows } from '../model/chat.js';
import { abilities, examples } from '../model/examples.js';
import { texts } from '../words.js';
import { submit } from './box.js';
import { Card } from './card.js';
import { h } from './h.js';
import { Icon } from './icon.js';
import { inbox } from './state.js';

const first = 4; // examples

export const Welcome = () => h('div', { class: 'welcome' }, h('h2', null, texts.headline), h('p', { class: 'lead' }, abilities({ agents: agents.value, tools: tools.value, workflows: workflows.value })));

export function Examples() {
  const [isAll, setAll] = useState(false);
  const all = examples({ offline: isDemo.value, agents: agents.value, tools: tools.value, workflows: workflows.value });
  return h('div', { class: 'examples' },
    h('ul', { class: 'cards' }, (isAll ? all : all.slice(0, first)).map(({ prompt, about, icon, agent, workflow }) => h('li', { key: prompt }, h('button', {
      type: 'button', class: 'card', 'data-testid': 'example', 'data-workflow': workflow, onClick: () => submit(prompt, { ...(agent ? { agent } : {}), ...(workflow ? { workflow } : {}) }),
    }, h(Icon, { name: icon }), h('span', null, h('b', { dir: 'auto' }, prompt), h('span', { class: 'soft', dir: 'auto' }, about.slice(0, 120))))))),
    all.length > first && !isAll ? h('button', { type: 'button', class: 'plain', onClick: () => setAll(true) }, 'More examples') : null);
}

/** The card in the place of the chat, where the gateway asks for a key. */
export function KeyCard() {
  const [fault, setFault] = useState('');
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { refused } = door.value;
  useEffect(() => { field.current?.focus(); field.current?.select(); }, [door.value]);
  const words = fault || (refused ? texts.wrongKey : '');
  const use = (/** @type {Event} */ e) => {
    e.preventDefault();
    const text = field.current?.value ?? '';
    if (!text.trim()) return;
    setFault('');
    const used = useKey(text);
    if (used === 'odd') setFault(texts.oddKey);
    if (used === 'used') refresh();
  };
  return h('div', { class: 'stage hello' }, h('form', { class: 'ask key', autocomplete: 'off', 'aria-labelledby': 'key-title', onSubmit: use },
    h('header', null, h('span', { class: 'badge' }, h(Icon, { name: 'key-round' })), h('div', null, h('h2', { id: 'key-title' }, texts.needsKey), h('p', { class: 'soft' }, texts.askForKey))),
    h('div', { class: 'body field' }, h('label', { for: 'credential' }, 'Key or token'),
      h('input', { id: 'credential', ref: field, type: 'password', maxlength: 16384, autocomplete: 'off', autocapitalize: 'off', spellcheck: false, placeholder: 'slk_…', 'aria-invalid': words ? 'true' : undefined, 'aria-describedby': 'credential-hint', 'data-testid': 'credential' }),
      h('p', { id: 'credential-hint', class: 'bad', role: 'status', 'data-testid': 'credential-hint' }, words)),
    h('footer', null, h('button', { type: 'submit', class: 'main' }, 'Go on'))));
}

/** The questions that wait for this person in conversations of others. */
export function Waiting() {
  const list = othersWaiting();
  const conversation = current.value;
  return h('div', { class: 'stage' }, h('div', { class: 'log-frame' }, h('div', { class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Waiting' }, h('div', { class: 'col', 'data-testid': 'inbox' },
    h('h2', { class: 'off' }, 'Questions of others'), list.length === 0 ? h('p', { class: 'soft' }, 'Nothing waits for you.') : null,
    list.map((a) => h('div', { key: a.approval_id, class: 'asked-by' },
      h('p', { class: 'soft' }, a.user_id ? `${a.user_id} asked. ` : '', a.task_id ? h('button', { type: 'button', class: 'link', onClick: async () => { if (await openTask(a.task_id ?? '')) inbox.value = false; } }, 'Open its conversation') : null),
      h(Card, { question: conversation.question(a), conversation, workflow: '' })))))));
}

/** Those of them that stand in no conversation of this browser. */
export function othersWaiting() {
  return waiting.value.filter((a) => !a.conversation_id && !current.value.turns.value.some((t) => t.task && t.task === a.task_id));
}

/** @returns {string} who the person is, for the foot of the list */
export const nameOf = () => me.value?.user ?? '';
