// One turn: the message, the steps, the answer, its notes and what can be done with it.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { current, openQuestions, tools } from '../model/chat.js';
import { branchesOf } from '../model/line.js';
import { doubtOf, notesOf } from '../model/notes.js';
import { editing, openDeveloper, writeInBox } from './state.js';
import { Card } from './card.js';
import { h } from './h.js';
import { Copy, Icon, IconButton, Mount, useTicks } from './icon.js';
import { Prose } from './prose.js';
import { Steps } from './steps.js';

/** @param {{ turn: Turn, isLast: boolean, goesOn: boolean }} props  goesOn: the next turn is a part of its answer */
export function TurnView({ turn, isLast, goesOn }) {
  turn.version.value;
  const conversation = current.value;
  const [doubt, setDoubt] = useState(/** @type {{ text: string, go: () => void } | null} */ (null));
  const isEdited = editing.value === turn.key;
  const setEdited = (/** @type {boolean} */ isOn) => { editing.value = isOn ? turn.key : ''; };
  const isBusy = conversation.running.value !== null;
  /** @param {string} [text] */
  const again = (text) => {
    const why = doubtOf(conversation.chain(turn), tools.peek());
    const go = () => { setDoubt(null); conversation.again(turn, text); };
    if (why) setDoubt({ text: why, go });
    else go();
  };
  const first = conversation.chain(turn)[0];
  return h('article', { class: 'turn', 'data-testid': 'turn', 'data-state': turn.state, 'data-past': turn.past ? 'true' : undefined, 'aria-busy': turn.isRunning ? 'true' : undefined, 'aria-label': turn.continues ? 'Answer that goes on' : 'Turn', 'data-last': isLast ? 'true' : undefined },
    h('h2', { class: 'off' }, turn.continues ? 'The answer goes on' : 'Message and answer'),
    turn.continues ? null : isEdited ? h(Editor, { text: turn.input, close: () => setEdited(false), send: (/** @type {string} */ text) => { setEdited(false); again(text); } })
      : h(Message, { turn, conversation, isBusy, edit: () => setEdited(true) }),
    h('div', { class: 'reply' },
      h(Steps, { turn, workflow: first.record?.ask.workflow ?? '' }),
      h(Answer, { turn }),
      h(Struck, { turn }),
      turn.isRunning ? null : turn.approvals.map((a) => h(Card, { key: a.approval_id, question: conversation.question(a, turn.record), conversation, workflow: first.record?.ask.workflow ?? '' })),
      notesOf(turn, tools.value).map((note, i) => h(Note, { key: String(i), note, run: { retry: () => again(), edit: () => writeInBox(first.input), goOn: () => conversation.send('Go on', {}) } })),
      doubt ? h('div', { class: 'note', role: 'alertdialog', 'aria-label': doubt.text, 'data-testid': 'doubt' }, h(Icon, { name: 'triangle-alert' }), h('div', null, h('b', null, doubt.text),
        h('div', { class: 'btns' }, h('button', { type: 'button', 'data-testid': 'sure', onClick: doubt.go }, 'Try again'), h('button', { type: 'button', class: 'plain', onClick: () => setDoubt(null) }, 'Leave it')))) : null,
      turn.isRunning || goesOn ? null : h(Actions, { turn, isBusy, retry: () => again() })));
}

function Message(/** @type {{ turn: Turn, conversation: Conversation, isBusy: boolean, edit: () => void }} */ { turn, conversation, isBusy, edit }) {
  const all = conversation.siblings(turn);
  const at = all.indexOf(turn);
  const turnTo = (/** @type {number} */ step) => conversation.choose(all[at + step]);
  return h('div', { class: 'asked' },
    h('div', { class: 'bubble question', dir: 'auto', 'data-testid': 'question' }, h('span', { class: 'off' }, 'You: '), turn.input),
    h('div', { class: 'acts' },
      all.length < 2 ? null : h('span', { class: 'versions', role: 'group', 'aria-label': 'Versions' },
        h(IconButton, { icon: 'chevron-left', label: 'Previous version', disabled: at === 0 || isBusy, onClick: () => turnTo(-1) }), h('span', { 'data-testid': 'version' }, `${at + 1}/${all.length}`),
        h(IconButton, { icon: 'chevron-right', label: 'Next version', disabled: at === all.length - 1 || isBusy, onClick: () => turnTo(1) })),
      h(Copy, { get: () => turn.input, label: 'Copy message' }),
      isBusy ? null : h(IconButton, { icon: 'pencil', label: 'Edit message', 'data-testid': 'edit', onClick: edit })));
}

function Editor(/** @type {{ text: string, close: () => void, send: (text: string) => void }} */ { text, close, send }) {
  const [value, setValue] = useState(text);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => { field.current?.focus(); }, []);
  const isReady = value.trim() !== '' && value.trim() !== text.trim();
  return h('form', { class: 'editor', onSubmit: (/** @type {Event} */ e) => { e.preventDefault(); if (isReady) send(value); }, onKeyDown: (/** @type {KeyboardEvent} */ e) => {
    if (e.key === 'Escape') { e.stopPropagation(); close(); }
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); if (isReady) send(value); }
  } },
  h('textarea', { ref: field, rows: Math.min(12, text.split('\n').length + 1), 'aria-label': 'Edit the message', value, 'data-testid': 'editor', onInput: (/** @type {any} */ e) => setValue(e.currentTarget.value) }),
  h('div', { class: 'btns' }, h('button', { type: 'submit', class: 'main', disabled: !isReady, 'data-testid': 'send-edit' }, 'Send'), h('button', { type: 'button', onClick: close }, 'Cancel')));
}

/** The answer: its texts and messages of a channel, in their order. @param {{ turn: Turn }} props @returns {Child} */
function Answer({ turn }) {
  turn.version.value;
  if (!turn.record) return turn.answer.trim() ? h(Prose, { text: turn.answer, class: 'prose answer', testid: 'answer' }) : null;
  const { parts } = turn.fold.turn;
  const texts = parts.filter((p) => p.kind === 'text');
  const voices = voicesOf(turn, texts.map((p) => (p.kind === 'text' ? p.text : '')).join(''));
  if (voices) return voices.map((b) => h('section', { key: b.id, class: 'voice', 'aria-label': b.name }, h('h3', null, b.name), b.parts.map((p, i) => (p.kind === 'text' ? h(Prose, { key: String(i), text: p.text, cuts: p.cuts, done: p.done, class: 'prose answer', testid: 'answer' }) : null))));
  return parts.map((part, i) => {
    if (part.kind === 'text') return h(Prose, { key: `text-${texts.indexOf(part)}`, text: part.text, cuts: part.cuts, done: part.done, class: 'prose answer', testid: 'answer' });
    return part.kind === 'message' ? h(ChannelMessage, { key: `message-${i}`, message: part.message }) : null;
  });
}

/** The agents whose texts make the answer, if there are several. @param {Turn} turn @param {string} whole */
function voicesOf(turn, whole) {
  const agents = branchesOf(turn.fold.turn, 'agent').filter((b) => b.parts.some((p) => p.kind === 'text' && p.copy));
  const length = agents.flatMap((b) => b.parts).reduce((n, p) => n + (p.kind === 'text' ? p.text.replace(/\s/g, '').length : 0), 0);
  return agents.length > 1 && !turn.isRunning && length === whole.replace(/\s/g, '').length ? agents : null;
}

/** A message in the form of its channel. @param {{ message: ChannelMessage }} props */
function ChannelMessage({ message }) {
  const [make] = useState(() => () => {
    const node = document.createElement('div');
    import('./preview.js').then(({ preview }) => node.replaceChildren(preview(message)));
    return node;
  });
  return h(Mount, { make });
}

/** Text that was taken back a moment ago. @param {{ turn: Turn }} props */
const Struck = ({ turn }) => (turn.struck.value ? h('p', { class: 'taken', 'aria-hidden': 'true', 'data-testid': 'taken' }, h('del', null, turn.struck.value)) : null);

function Note(/** @type {{ note: import('../model/notes.js').Note, run: Record<string, () => void> }} */ { note, run }) {
  const [began] = useState(() => performance.now());
  const left = (/** @type {number} */ wait) => Math.ceil((began + wait - performance.now()) / 1000);
  useTicks(500, note.acts.some((a) => left(a.wait) > 0));
  return h('div', { class: `note ${note.tone}`, dir: 'auto', ...note.hooks }, h(Icon, { name: note.icon }),
    h('div', null, h('b', null, note.title), note.text ? ` ${note.text}` : null,
      note.list.length > 0 ? h('ul', null, note.list.map((line) => h('li', { key: line }, line))) : null,
      note.acts.length > 0 ? h('div', { class: 'btns' }, note.acts.map(({ label, kind, wait }) => h('button', { key: kind, type: 'button', 'data-testid': kind, disabled: left(wait) > 0, onClick: run[kind] }, left(wait) > 0 ? `${label} in ${left(wait)} s` : label))) : null));
}

function Actions(/** @type {{ turn: Turn, isBusy: boolean, retry: () => void }} */ { turn, isBusy, retry }) {
  turn.version.value;
  const text = turn.record?.done?.final_output || turn.answer;
  const isAsked = openQuestions(current.value).some((q) => q.record === turn.record);
  return h('div', { class: 'acts' },
    text ? h(Copy, { get: () => text, label: 'Copy answer', testid: 'copy-answer' }) : null,
    isBusy || isAsked ? null : h(IconButton, { icon: 'rotate-cw', label: 'Try again', 'data-testid': 'again', onClick: retry }),
    turn.record || turn.task ? h('button', { type: 'button', class: 'plain figures', 'data-testid': 'figures', title: 'Open Developer at this turn', onClick: () => openDeveloper(turn) }, turn.figures || 'Details') : null);
}
