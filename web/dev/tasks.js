// The tasks that the gateway keeps and that may be seen here, newest first. One opens with its trace;
// it can be shared by its address and saved as a file.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { asUser, ended, isShown, keeps, notes } from '../model/chat.js';
import { beginning, titleOf, turnsOf } from '../model/past.js';
import { ask, changed, Feed, Missing } from '../wire/feed.js';
import { go, taskLink } from '../view/address.js';
import { save } from '../view/dom.js';
import { h } from '../view/h.js';
import { Copy } from '../view/icon.js';
import { developer, isWide } from '../view/state.js';
import { counted, number, span, when } from '../words.js';
import { readTrace } from './read.js';
import { TraceView } from './trace.js';

/** @type {Record<string, string>} */
const states = { submitted: 'about to run', working: 'runs', 'input-required': 'waits for a person', completed: 'completed', failed: 'failed', canceled: 'cancelled', unknown: 'unknown' };

const stateOf = (/** @type {Task} */ task) => states[task.status?.state] ?? String(task.status?.state ?? 'unknown');

/** The agents and the workflow of a task. @param {Task} task @returns {string[]} */
export function whose({ metadata }) {
  const agents = Array.isArray(metadata?.agentSelections) ? metadata.agentSelections : [];
  return [...new Set([metadata?.workflow, ...agents].filter((name) => typeof name === 'string' && name !== ''))].map(String);
}

/** The time that a task was at work, and its tokens. @param {Trace} trace */
export function effortOf(trace) {
  const turns = (trace.steps ?? []).filter((s) => s.step_name === 'turn');
  const tokens = turns.reduce((sum, { usage: u }) => sum + (u ? u.input_tokens + u.output_tokens + u.thinking_tokens : 0), 0);
  return [span(turns.reduce((sum, s) => sum + (s.duration_ms ?? 0), 0)), tokens > 0 ? `${number(tokens)} tokens` : ''].filter(Boolean).join(' · ');
}

export function Tasks() {
  const [state, setState] = useState('');
  const [who, setWho] = useState('');
  const [list, setList] = useState(/** @type {Task[]} */ ([]));
  const [word, setWord] = useState('');
  const [isMore, setMore] = useState(false);
  const [shown, setShown] = useState('');
  const feed = useRef(/** @type {Feed | null} */ (null));
  const read = async (/** @type {boolean} */ isFirst) => {
    if (!keeps.peek()) return setWord('The gateway keeps no tasks: it has no store.');
    const user = asUser.peek();
    if (isFirst) feed.current = new Feed({ ...(state ? { state } : {}), ...(user ? { user_id: user } : {}) }, isShown() || user ? null : notes.peek());
    const now = feed.current;
    if (!now) return;
    try {
      const tasks = await now.next((task) => who === '' || whose(task).includes(who));
      if (now !== feed.current) return;
      const all = isFirst ? tasks : [...list, ...tasks];
      setList(all);
      setMore(!now.ended);
      setWord(all.length > 0 ? '' : !now.ended ? 'Not among these. There are more.' : state || who ? 'There is none of this kind.' : 'There is none yet.');
    } catch (e) {
      if (now === feed.current) setWord(`${e instanceof Missing ? e.message : 'The list could not be read.'}${list.length > 0 ? ` The list below, ${counted(list.length, 'task')}, is older.` : ''}`);
    }
  };
  useEffect(() => { read(true); }, [state, who, keeps.value, ended.value]);
  const names = [...new Set([...list.flatMap(whose), who].filter(Boolean))];
  return h('div', { class: 'tasks' },
    h('div', { class: 'bar' },
      h('select', { 'aria-label': 'State', value: state, 'data-testid': 'task-state', onChange: (/** @type {any} */ e) => setState(e.currentTarget.value) }, [['', 'All states'], ['working', 'Running'], ['input-required', 'Waiting'], ['failed', 'Failed'], ['completed', 'Completed'], ['canceled', 'Cancelled']].map(([value, words]) => h('option', { key: value, value }, words))),
      h('select', { 'aria-label': 'Agent or workflow', value: who, 'data-testid': 'task-who', onChange: (/** @type {any} */ e) => setWho(e.currentTarget.value) }, ['', ...names].map((name) => h('option', { key: name, value: name }, name || 'All agents'))),
      h('span', { class: 'space' }), h('button', { type: 'button', class: 'plain', onClick: () => read(true) }, 'Read again')),
    h('p', { class: 'soft small', role: 'status', 'data-testid': 'task-word' }, word),
    shown ? h(OneTask, { key: shown, id: shown }) : null,
    h('ol', { class: 'task-list', 'aria-label': 'Tasks, newest first' }, list.map((task) => h('li', { key: task.id, 'data-testid': 'task-item', 'data-state': task.status.state },
      h('button', { type: 'button', class: 'link', dir: 'auto', 'aria-pressed': String(shown === task.id), onClick: () => setShown(task.id) }, beginning(titleOf(task))),
      h('span', { class: 'soft small' }, [stateOf(task), ...whose(task), when(new Date(changed(task)))].join(' · '), h(Effort, { id: task.id, at: changed(task) }))))),
    isMore ? h('button', { type: 'button', 'data-testid': 'task-more', onClick: () => read(false) }, 'Show more') : null);
}

/** @type {Promise<any>} traces are read one by one, behind the list */
let queue = Promise.resolve();

function Effort(/** @type {{ id: string, at: number }} */ { id, at }) {
  const [words, setWords] = useState('');
  useEffect(() => {
    let isOn = true;
    queue = queue.then(async () => {
      const trace = isOn ? await readTrace(id) : null;
      if (isOn && trace) setWords(` · ${effortOf(trace)}`);
    });
    return () => { isOn = false; };
  }, [id, at]);
  return words;
}

function OneTask(/** @type {{ id: string }} */ { id }) {
  const [task, setTask] = useState(/** @type {Task | Missing | null} */ (null));
  const [trace, setTrace] = useState(/** @type {Trace | null} */ (null));
  const read = async () => {
    const found = await ask(`tasks/${id}`).catch((e) => e);
    setTrace(found instanceof Error ? null : await readTrace(id));
    setTask(found);
  };
  useEffect(() => { read(); }, [id]);
  if (!task) return h('p', { class: 'soft' }, 'Reading the task');
  if (task instanceof Error) return h('p', { class: 'bad', role: 'alert' }, task.message, ' ', h('button', { type: 'button', onClick: read }, 'Ask again'));
  const turns = turnsOf(task);
  const talk = task.contextId ?? '';
  const facts = [stateOf(task), ...whose(task), counted(Math.max(1, task.metadata?.turns?.length ?? turns.length), 'turn'), trace ? effortOf(trace) : '', when(new Date(changed(task)))];
  return h('section', { class: 'one-task', 'data-testid': 'task-trace' },
    h('h3', { dir: 'auto', tabindex: -1, 'data-testid': 'task-title' }, titleOf(task)), h('p', { class: 'soft small', 'data-testid': 'task-facts' }, facts.filter(Boolean).join(' · ')),
    h('div', { class: 'bar' }, h(Copy, { get: () => taskLink(task.id), label: 'Copy the link to this task', words: 'Copy link', testid: 'copy-task-link' }),
      h('button', { type: 'button', class: 'plain', 'data-testid': 'export', onClick: () => save(`${task.id}.json`, JSON.stringify({ task, trace }, null, 2)) }, 'Export'),
      talk ? h('button', { type: 'button', class: 'plain', 'data-testid': 'open-talk', onClick: () => { if (!isWide.peek()) developer.value = false; go(talk); } }, 'Open conversation') : null),
    task.status.state === 'failed' && task.status.message ? h('p', { class: 'bad', dir: 'auto' }, task.status.message.content) : null,
    trace && trace.steps.length > 0 ? h(TraceView, { trace, inputs: Object.fromEntries(turns.map((t) => [t.turn, t.input])) }) : h('p', { class: 'soft' }, 'There is no trace of it.'));
}
