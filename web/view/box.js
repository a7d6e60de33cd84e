// The box: what is written, who answers, in which form, and one line below that says how things are.

import { useEffect, useRef } from '../vendor/hooks.js';
import { agents, channels, current, drafts, isDemo, keepDraft, nextRead, openQuestions, ready, readAt, workflows } from '../model/chat.js';
import { titleOfChannel } from '../model/examples.js';
import { listed, number, texts } from '../words.js';
import { box, choice, editing, focusBox, trial, write, writeInBox } from './state.js';
import { h } from './h.js';
import { Icon, IconButton, useTicks } from './icon.js';
import { Menu, Picker } from './menu.js';

const longest = 5000; // code points, as the gateway counts
const coarse = matchMedia('(pointer: coarse)');

/** Sends what is written, or a whole prompt. @param {string} text @param {import('../model/conversation.js').Choice} [only]  in the place of what is chosen */
export async function submit(text, only) {
  const conversation = current.peek();
  const via = trial.peek() ? 'eventsource' : 'fetch';
  const isQueued = conversation.running.peek() !== null;
  if (!isQueued) trial.value = false;
  if (!only) {
    keepDraft('', '');
    keepDraft(conversation.id, text); // it goes when it was sent with success
    box.value = '';
  }
  const turn = await conversation.send(text, only ?? choice.peek(), via);
  if (turn && turn.state !== 'refused' && !(turn.state === 'dropped' && turn.record?.events.length === 0) && box.peek() === '') keepDraft(conversation.id, '');
}

/** All who may be asked by name. */
function peopleOf() {
  return [
    ...agents.value.filter((a) => a.available).map((a) => ({ value: `agent:${a.id}`, label: a.id, about: a.description })),
    ...workflows.value.map((w) => ({ value: `workflow:${w.name}`, label: `Workflow: ${w.name}`, about: w.description ?? '' })),
  ];
}

function chooseWho(/** @type {string} */ value) {
  const { agent: _, workflow: __, ...others } = choice.peek();
  const [kind, name] = [value.slice(0, value.indexOf(':')), value.slice(value.indexOf(':') + 1)];
  choice.value = kind ? { ...others, [kind]: name } : others;
  if (/^@\S*$/.test(box.peek())) write('');
  focusBox();
}

export function Box() {
  const conversation = current.value;
  const text = box.value;
  const running = conversation.running.value;
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const people = peopleOf();
  const named = /^@([\w-]*)$/.exec(text)?.[1] ?? null;
  const count = text.length > longest / 2 ? Array.from(text).length : text.length;
  const canSend = text.trim() !== '' && count <= longest && ready.value !== null;
  const isStop = running !== null && text.trim() === '';
  const send = () => {
    if (!canSend) return;
    const [whole, name] = /^@([\w-]+)\s+/.exec(text) ?? ['', ''];
    const who = people.find((p) => p.value.endsWith(`:${name}`));
    if (who) chooseWho(who.value);
    submit(who ? text.slice(whole.length) : text);
  };
  const key = (/** @type {KeyboardEvent} */ e) => {
    // 229 is the key of an input method that is not finished.
    if (e.isComposing || e.keyCode === 229) return;
    if (e.key === 'Enter' && !e.shiftKey && !coarse.matches) {
      e.preventDefault();
      send();
    } else if (e.key === 'ArrowUp' && text === '') {
      const last = conversation.turns.peek().findLast((t) => !t.continues);
      if (!last || running) return;
      e.preventDefault();
      editing.value = last.key;
    }
  };
  useEffect(() => { if (field.current && field.current.value !== box.peek()) field.current.value = box.peek(); }, [text]);
  const { channel, drafts: wantsDrafts } = choice.value;
  const forms = channels.value.filter((c) => c.name !== 'web');
  const items = [
    ...[{ name: 'web' }, ...forms].map(({ name }) => ({ label: name === 'web' ? 'Answer for this page' : `Answer for ${titleOfChannel(name)}`, kind: /** @type {const} */ ('menuitemradio'), isOn: (channel ?? 'web') === name, data: { 'data-testid': 'channel', 'data-channel': name }, act: () => setChoice({ channel: name === 'web' ? undefined : name }) })),
    ...(drafts.value ? [{ label: 'Show drafts', about: 'The text of a held answer, before it is checked', kind: /** @type {const} */ ('menuitemcheckbox'), isOn: wantsDrafts === true, data: { 'data-testid': 'drafts' }, act: () => setChoice({ drafts: wantsDrafts ? undefined : true }) }] : []),
  ];
  return h('form', { class: 'composer', id: 'ask', onSubmit: (/** @type {Event} */ e) => { e.preventDefault(); send(); } }, h('div', { class: 'col' },
    h(Queued, {}),
    h('div', { class: 'write' },
      h('textarea', { id: 'input', ref: field, rows: Math.min(8, text.split('\n').length), 'aria-label': 'Message', 'aria-describedby': 'under', placeholder: conversation.turns.value.length > 0 ? texts.next : texts.ask, enterkeyhint: 'send', 'data-testid': 'input', onInput: (/** @type {any} */ e) => write(e.currentTarget.value), onKeyDown: key }),
      h('div', { class: 'bar' },
        forms.length > 0 || drafts.value ? h(Menu, { label: 'Answer format', icon: 'plus', items, testid: 'plus', class: 'up' }) : null,
        people.length > 1 || workflows.value.length > 0 ? h(Picker, { options: [{ value: '', label: 'Auto', about: 'The best fit' }, ...people], value: choice.value.agent ? `agent:${choice.value.agent}` : choice.value.workflow ? `workflow:${choice.value.workflow}` : '', choose: chooseWho, filter: named, close: () => {} }) : null,
        channel ? h(Chip, { words: `For ${titleOfChannel(channel)}`, remove: () => setChoice({ channel: undefined }) }) : null,
        wantsDrafts ? h(Chip, { words: 'Drafts', remove: () => setChoice({ drafts: undefined }) }) : null,
        h('span', { class: 'space' }),
        isStop ? h('button', { key: 'stop', type: 'button', class: 'send', 'aria-label': 'Stop', title: 'Stop (Esc)', 'data-testid': 'stop', onClick: () => { conversation.stop(); focusBox(); } }, h(Icon, { name: 'square' }))
          : h('button', { key: 'send', type: 'submit', class: 'send', 'aria-label': 'Send', title: 'Send (Enter)', disabled: !canSend, 'data-testid': 'send' }, h(Icon, { name: 'arrow-up' })))),
    h(Under, { count })));
}

function setChoice(/** @type {Partial<import('../model/conversation.js').Choice>} */ change) {
  const next = { ...choice.peek(), ...change };
  choice.value = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
}

/** @param {{ words: string, remove: () => void }} props */
const Chip = ({ words, remove }) => h('span', { class: 'chip soft-chip' }, words, h(IconButton, { icon: 'x', label: `Remove: ${words}`, small: true, onClick: remove }));

/** The message that waits for the end of the turn. */
function Queued() {
  const conversation = current.value;
  const queued = conversation.queued.value;
  useEffect(() => { // its turn did not end well: it goes back into the box
    if (queued && !conversation.running.value) writeInBox([conversation.takeBack(), box.peek()].filter(Boolean).join('\n'));
  }, [queued, conversation.running.value]);
  if (!queued) return null;
  return h('div', { class: 'queued', 'data-testid': 'queued' }, h(Icon, { name: 'clock', small: true }), h('span', { dir: 'auto' }, queued.text),
    h(IconButton, { icon: 'x', label: 'Take the message back', 'data-testid': 'take-back', onClick: () => writeInBox([conversation.takeBack(), box.peek()].filter(Boolean).join('\n')) }));
}

/** One thing at a time, the first that holds. @param {{ count: number }} props */
function Under({ count }) {
  const conversation = current.value;
  const state = ready.value;
  const asked = openQuestions(conversation);
  const running = conversation.running.value !== null;
  const rests = state?.breakers?.find((b) => b.state === 'open' && !b.service.startsWith('mcp:'));
  const left = state === null ? (nextRead() - performance.now()) / 1000 : rests ? (readAt.value + rests.retry_after_ms - performance.now()) / 1000 : 0;
  useTicks(1000, state === null || left > 0);
  const keyless = state?.models?.filter((m) => m.missing_key) ?? [];
  let line = /** @type {Child} */ (null);
  if (count > longest) line = h('span', { class: 'bad' }, `This is too long: ${number(count)} of ${number(longest)} characters.`);
  else if (running && (box.value.trim() !== '' || conversation.queued.value)) line = [texts.queued, ' ', conversation.queued.value ? h('button', { type: 'button', class: 'link', 'data-testid': 'interrupt', onClick: () => conversation.stop() }, 'Interrupt instead') : null];
  else if (asked.length > 0) line = h('button', { type: 'button', class: 'link', 'data-testid': 'to-question', onClick: () => document.querySelector('.ask')?.scrollIntoView({ block: 'center' }) }, asked.length === 1 ? 'A question waits for you above.' : `${number(asked.length)} questions wait for you above.`);
  else if (state === null) line = h('span', { 'data-testid': 'away' }, left > 0 ? `Not connected. Trying again in ${Math.ceil(left)} s.` : 'Not connected. Trying again.');
  else if (state?.status === 'draining') line = 'The gateway is about to restart.';
  else if (rests && left > 0) line = h('span', { 'data-testid': 'rests' }, `The model is resting, ${Math.ceil(left)} s`);
  else if (keyless.length > 0) line = h('span', { 'data-testid': 'keyless' }, `The model has no key. The operator of this gateway must set ${listed([...new Set(keyless.map((m) => m.missing_key ?? ''))])}.`);
  else if (trial.value) line = 'The next message goes by EventSource.';
  else if (isDemo.value) line = texts.demo;
  return h('p', { class: 'under', id: 'under', 'data-testid': 'under' }, line);
}

