// The trace of one turn: by its events while it runs and without a store, else the gateway's own,
// which has the whole task.

import { useEffect, useState } from '../vendor/hooks.js';
import { traceOf } from '../model/steps.js';
import { h } from '../view/h.js';
import { Graph } from '../view/steps.js';
import { useTicks } from '../view/icon.js';
import { duration, number } from '../words.js';
import { costOf, dollars } from './prices.js';
import { readTrace } from './read.js';
import { TraceView } from './trace.js';

const every = 250; // milliseconds between two drawings of a turn that runs

export function TurnTrace(/** @type {{ turn: Turn | null }} */ { turn }) {
  const [stored, setStored] = useState(/** @type {{ task: string, state: string, trace: Trace } | null} */ (null));
  const task = turn?.task ?? '';
  const isRunning = turn?.isRunning ?? false;
  useTicks(every, isRunning);
  useEffect(() => {
    let isOn = true;
    if (task && !isRunning) readTrace(task).then((trace) => { if (isOn && trace && trace.steps.length > 0) setStored({ task, state: turn?.key ?? '', trace }); });
    return () => { isOn = false; };
  }, [task, isRunning, turn?.key]);
  if (!turn) return h('p', { class: 'soft' }, 'Ask something: here you see how long each part of it takes.');
  const { record } = turn;
  const now = record ? record.now() : 0;
  const known = stored && stored.task === task && stored.state === turn.key && !isRunning ? stored.trace : null;
  const own = !known && record && record.events.length > 0 ? traceOf(record) : null;
  const trace = known ?? own;
  return h('div', { 'data-testid': 'waterfall' }, h(Figures, { turn, trace, now }),
    turn.fold.turn.parts.some((p) => p.kind === 'graph') ? h(Graph, { key: turn.key, turn }) : null,
    trace ? h(TraceView, { key: `${turn.key}-${known ? 'known' : 'own'}`, trace, inputs: inputsOf(record), isRunning, now }) : h('p', { class: 'soft' }, turn.past ? 'There is no trace of this turn.' : 'There are no events yet.'),
    known && task ? h('p', { class: 'soft small' }, 'Task ', h('code', { 'data-testid': 'trace-task' }, task)) : own && !isRunning ? h('p', { class: 'soft small' }, 'Bars begin when their events reached this page. The gateway measured tools, and models where it can be told.') : null);
}

/** The messages of turns, by their ids. @param {TurnRecord | null} record @returns {Record<string, string>} */
const inputsOf = (record) => (record ? { ...inputsOf(record.after), [record.turn || 'turn']: record.ask.input } : {});

function Figures(/** @type {{ turn: Turn, trace: Trace | null, now: number }} */ { turn, trace, now }) {
  const { record } = turn;
  const done = record?.done;
  const usage = done?.usage ?? turnUsage(trace);
  const first = done?.timings.first_delta_ms ?? record?.firstDelta;
  const cost = costOf(trace, record?.model ?? '', usage);
  /** @type {[string, string][]} */
  const tiles = [[turn.isRunning ? 'Running for' : 'Total', turn.isRunning ? duration(now) : done ? duration(done.timings.total_ms) : record ? duration(record.ended) : ''],
    ['First text', first === undefined || Number.isNaN(first) ? '' : duration(first)],
    ['Tokens', usage ? number(usage.input_tokens + usage.output_tokens + usage.thinking_tokens) : ''], ['Cost', cost === null ? '' : dollars(cost)]];
  return h('div', null, h('dl', { class: 'tiles' }, tiles.filter(([, value]) => value).map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value)))),
    usage ? h('p', { class: 'soft small', 'data-testid': 'tokens' }, `${number(usage.input_tokens)} in${usage.cached_tokens === undefined ? '' : `, ${number(usage.cached_tokens)} of them cached`}, ${number(usage.output_tokens)} out, ${number(usage.thinking_tokens)} thinking`) : null);
}

/** The usage of the last turn of a trace. @param {Trace | null} trace */
const turnUsage = (trace) => trace?.steps.findLast((s) => s.step_name === 'turn')?.usage;
