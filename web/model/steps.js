// The way of a turn by its events, in the form of a trace, for gateways that keep none, and while a
// turn runs. The gateway measures tools and, where it can be told, models. A row begins when its event
// was seen here. A row stands for a step, a call or a line of the receipt, and never for a phase alone.

import { dataOf } from '../wire/events.js';

/** @typedef {{ step: TraceStep | null, free: number, busy: number, asked: boolean, held: boolean }} Lane  who speaks; free: since when nothing of it was under way; held: its text is all there, and comes later */

// Phases of a held answer in which a model may be asked; the receipt says whether it was.
/** @type {Record<string, ['planner' | 'judge' | 'refinement', 'plan' | 'judge' | 'refine']>} */
const phases = { planning: ['planner', 'plan'], validating: ['judge', 'judge'], refining: ['refinement', 'refine'] };

/** @param {TurnRecord} record @returns {Trace} */
export function traceOf(record) {
  const steps = new Steps(record);
  for (const { event, data, at } of record.events) {
    const value = dataOf(data);
    if (value) steps.add(event, value, at);
  }
  return { task_id: record.task, steps: steps.end(), sub_agent_sessions: {} };
}

class Steps {
  /** @type {TraceStep[]} */
  #list = [];
  /** @type {Map<string, Lane>} */
  #lanes = new Map();
  /** @type {Map<string, { call: TraceCall, step: TraceStep, lane: Lane }>} */
  #calls = new Map();
  /** @type {Map<string, number>} when each phase began last */
  #phases = new Map();
  /** @type {Map<string, TraceStep>} nodes and agents that have not ended */
  #open = new Map();
  #last = 0;

  constructor(/** @type {TurnRecord} */ record) {
    this.record = record;
    this.turn = this.#begin('turn', 0, {});
  }

  #begin(/** @type {string} */ name, /** @type {number} */ at, /** @type {Partial<TraceStep>} */ more) {
    const parent = this.#list.length > 0 ? { parent_id: this.#list[0].id } : {};
    /** @type {TraceStep} */
    const step = { id: `${this.record.turn || 'turn'}:${this.#list.length}`, ...parent, step_name: name, message: '', status: 'info', timestamp: '', started_ms: at, tool_calls: [], ...more };
    this.#list.push(step);
    return step;
  }

  add(/** @type {string} */ event, /** @type {any} */ data, /** @type {number} */ at) {
    this.#last = at;
    switch (event) {
      case 'start': this.#lane({}).free = at; break;
      case 'thinking': this.#speak(data, at); break;
      case 'response_delta':
      case 'inner_delta': if (data.attempt === undefined) this.#speak(data, at).message += String(data.delta ?? ''); break;
      case 'tool_call': this.#call(data, at); break;
      case 'route': this.#begin('route', Math.max(0, at - Number(data.duration_ms ?? 0)), { duration_ms: Number(data.duration_ms ?? 0), agent: data.agent_id, message: String(data.reasoning ?? '') }); break;
      case 'agent': this.#part('agent', `agent ${data.agent_id} ${data.session_id ?? ''}`, data, at); break;
      case 'node': this.#part('node', `node ${data.node_id}`, data, at); break;
      case 'quality': this.#phase(String(data.phase), at); break;
      case 'model': this.#begin('model', at, { duration_ms: 0, status: 'warning', message: `${data.previous}: ${data.reason}; now ${data.key}`, ...who(data) }); break;
      case 'approval': this.#begin('approval', at, { duration_ms: 0, message: String(data.prompt ?? '') }); break;
      case 'error': this.#failure(data, at); break;
    }
  }

  /** @param {any} data whose @returns {Lane} */
  #lane(data) {
    const key = data.session_id ? `session ${data.session_id}` : `${data.node_id ?? ''} ${data.agent_id ?? ''}`;
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane = { step: null, free: NaN, busy: 0, asked: false, held: false };
    this.#lanes.set(key, lane);
    return lane;
  }

  // A model is asked when its agent's or node's part begins, and again when the calls have ended
  // that it asked for.
  #speak(/** @type {any} */ data, /** @type {number} */ at) {
    const lane = this.#lane(data);
    if (!Number.isNaN(this.#heldEnd) && lane === this.#lane({}) && !lane.held) { // the text of a held answer comes when all is done with it
      lane.step = this.#begin('step', this.#held, { duration_ms: this.#heldEnd - this.#held });
      lane.held = true;
    }
    if (lane.held && lane.step) return lane.step;
    if (!lane.step || (lane.asked && lane.busy === 0)) {
      const above = this.#above(data);
      const from = Number.isNaN(lane.free) ? above?.started_ms ?? at : lane.free;
      lane.step = this.#begin('step', from, { first_token_ms: at - from, duration_ms: 0, ...who(data), ...(above ? { parent_id: above.id } : {}) });
      lane.asked = false;
    }
    if (!lane.asked) lane.step.duration_ms = at - lane.step.started_ms; // a call is asked for with the last of it
    return lane.step;
  }

  #above(/** @type {any} */ { node_id, agent_id, session_id }) { return this.#open.get(node_id ? `node ${node_id}` : `agent ${agent_id} ${session_id ?? ''}`); }

  #call(/** @type {ToolCall} */ data, /** @type {number} */ at) {
    const known = this.#calls.get(data.call_id);
    if (!known && data.status === 'in_progress') {
      const lane = this.#lane(data);
      const step = this.#isAllowed(data.call_id, lane) ? lane.step ??= this.#begin('allowed', at, { duration_ms: 0, ...who(data), parent_id: (this.#above(data) ?? this.turn).id }) : this.#speak(data, at);
      /** @type {TraceCall} */
      const call = { call_id: data.call_id, server: data.server, tool: data.tool_name, arguments: data.arguments, started_ms: at, outcome: 'running' };
      step.tool_calls?.push(call);
      this.#calls.set(data.call_id, { call, step, lane });
      [lane.asked, lane.busy] = [true, lane.busy + 1];
    }
    if (!known || known.call.outcome !== 'running' || data.status === 'in_progress' || data.status === 'progress') return;
    const { call, step, lane } = known;
    const began = call.started_ms ?? at;
    [call.outcome, call.duration_ms] = [data.status, data.duration_ms ?? at - began];
    call.started_ms = Math.max(step.started_ms, Math.min(began, at - (call.duration_ms ?? 0))); // it has ended by now, however late its begin was seen
    if (data.status === 'completed') call.result = { text: data.result ?? '', truncated: data.truncated };
    else [call.error, step.status] = [data.error ?? '', 'warning'];
    [lane.busy, lane.free] = [lane.busy - 1, at];
  }

  // A person has allowed the call: no model was asked for it in this turn.
  #isAllowed(/** @type {string} */ id, /** @type {Lane} */ lane) {
    if (!this.record.ask.approval || lane.step && lane.step.step_name !== 'allowed') return false;
    const asked = this.record.after?.events.findLast((e) => e.event === 'approval');
    if (!asked) return lane.step === null || lane.busy > 0;
    const calls = dataOf(asked.data)?.calls;
    return Array.isArray(calls) && calls.some((c) => c?.call_id === id);
  }

  #part(/** @type {string} */ name, /** @type {string} */ key, /** @type {any} */ data, /** @type {number} */ at) {
    const before = this.#open.get(key);
    if (before) before.duration_ms = at - before.started_ms;
    this.#open.delete(key);
    const begins = data.status === 'started' || data.status === 'retrying';
    const mine = { ...who(data), attempt: data.attempt };
    if (begins) {
      const from = data.session_id ? this.#calls.get(data.call_id)?.step : undefined; // a sub-agent belongs to the step that called it
      this.#open.set(key, this.#begin(name, at, { ...mine, ...(from ? { parent_id: from.id } : {}), message: String((name === 'agent' ? data.role : data.type) ?? '') }));
      const lane = this.#lane(data);
      [lane.step, lane.free] = [null, at];
    } else if (!before) {
      if (data.status === 'skipped') this.#begin(name, at, { ...mine, duration_ms: 0, message: 'skipped' });
    } else if (data.status === 'waiting') before.message = 'waiting';
    else if (data.status === 'completed') before.message = String(data.output ?? before.message);
    else [before.status, before.message] = ['warning', String(data.error_message ?? data.error_type ?? data.status)];
  }

  #phase(/** @type {string} */ phase, /** @type {number} */ at) {
    if (Object.hasOwn(phases, phase)) this.#phases.set(phase, at);
    if (phase === 'composing' && Number.isNaN(this.#held)) this.#held = this.#lane({}).free = at;
    else if (phase !== 'composing' && !Number.isNaN(this.#held) && Number.isNaN(this.#heldEnd) && this.#lanes.size <= 1) this.#heldEnd = at;
  }

  #failure(/** @type {Fault} */ fault, /** @type {number} */ at) {
    const message = `${fault.error_type}: ${fault.message}`;
    if (!fault.fatal) this.#begin('error', at, { duration_ms: 0, status: 'warning', message, ...who(fault) });
    else [this.turn.message, this.turn.status] = [message, fault.error_type === 'cancelled' ? 'info' : 'error'];
  }

  end() {
    const { record, turn } = this;
    if (record.state === 'running') return this.#now();
    const end = Number.isNaN(record.ended) ? this.#last : record.ended;
    turn.duration_ms = Math.max(end, this.#last);
    for (const step of this.#open.values()) step.duration_ms = end - step.started_ms;
    this.#asked();
    for (const step of this.#list) if (step.step_name === 'allowed') step.duration_ms = Math.max(0, ...(step.tool_calls ?? []).map((c) => (c.started_ms ?? 0) + (c.duration_ms ?? 0) - step.started_ms));
    const models = this.#models();
    const { done } = record;
    if (!done) return this.#list;
    turn.message ||= done.finish_reason;
    turn.usage = done.usage;
    const measured = done.timings.model_ms;
    // Of calls at the same time, or of which nothing was told, it is not known which took how long.
    if (this.#lanes.size <= 1 && measured.length === models.length) models.forEach((step, i) => measure(step, measured[i], this.#list[this.#list.indexOf(step) - 1]));
    if (models.length === 0) for (const [i, ms] of measured.entries()) this.#unseen(ms, measured.slice(0, i).reduce((a, b) => a + b, record.events[0].at));
    if (measured.length === 1 && models.length === 1) models[0].usage = done.usage;
    return this.#list;
  }

  // The steps of a turn that runs: those under way have no end yet.
  #now() {
    delete this.turn.duration_ms;
    for (const step of this.#open.values()) delete step.duration_ms;
    const ended = new Set(this.#list.filter((s) => s !== this.turn && s.duration_ms !== undefined).map((s) => s.id));
    for (const { step, asked } of this.#lanes.values()) if (step && !asked && !ended.has(step.parent_id ?? '')) delete step.duration_ms;
    for (const { call } of this.#calls.values()) if (call.outcome === 'running') call.runs = true;
    this.#models();
    return this.#list;
  }

  // The calls of models. A node without an agent asks none, and text of nobody is what agents said together.
  #models() {
    const joint = this.#list.some((s) => s.step_name === 'agent' && !s.session_id);
    for (const step of this.#list) if (step.step_name === 'step' && !step.agent && (step.node_id || joint && !step.tool_calls?.length)) step.step_name = step.tool_calls?.length ? 'call' : 'text';
    const models = this.#list.filter((s) => s.step_name === 'step');
    for (const step of models) step.model = this.record.model;
    return models;
  }

  #held = NaN; // when an answer that is held began
  #heldEnd = NaN; // when its model had written it

  // A check may need no model: the receipt has the time of each that was asked.
  #asked() {
    const ms = this.record.done?.quality?.ms;
    if (!ms) return;
    for (const [phase, at] of this.#phases) {
      const [name, member] = phases[phase];
      if (ms[member] > 0) this.#begin(name, at, { duration_ms: ms[member] });
    }
  }

  #unseen(/** @type {number} */ ms, /** @type {number} */ from) { this.#begin('step', from, { duration_ms: ms, model: this.record.model }); }
}

/** Gives a model's call the time that the gateway measured. It ends when its last event was seen, and does not begin before the results that it read. @param {TraceStep} step @param {number} ms @param {TraceStep} before */
function measure(step, ms, before) {
  const seen = step.started_ms + (step.duration_ms ?? 0);
  const free = Math.max(0, before.step_name === 'step' ? before.started_ms + (before.duration_ms ?? 0) : 0, ...(before.tool_calls ?? []).map((c) => (c.started_ms ?? 0) + (c.duration_ms ?? 0)));
  const from = Math.max(free, seen - ms);
  if (step.first_token_ms !== undefined) step.first_token_ms = Math.max(0, Math.min(ms, step.first_token_ms + step.started_ms - from));
  [step.started_ms, step.duration_ms] = [from, ms];
}

/** @param {any} data whose doing it is @returns {Partial<TraceStep>} */
const who = ({ agent_id, node_id, session_id }) => ({
  ...(agent_id ? { agent: String(agent_id) } : {}), ...(node_id ? { node_id: String(node_id) } : {}), ...(session_id ? { session_id: String(session_id) } : {}),
});
