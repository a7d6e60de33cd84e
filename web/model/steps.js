// The way of a turn as its events told it, in the form of a trace, for gateways that keep none.
// How long tools and, where it can be told, models took are the gateway's figures; when they
// began is when their events were seen here.

import { dataOf } from '../wire/events.js';

/** @typedef {import('./record.js').TurnRecord} TurnRecord */
/** @typedef {import('../types').Trace} Trace */
/** @typedef {import('../types').TraceStep} TraceStep */
/** @typedef {import('../types').TraceCall} TraceCall */
/** @typedef {{ step: TraceStep | null, free: number, busy: number, asked: boolean, held: boolean }} Lane  who speaks; free: since when nothing of it was under way; held: its text is all there, and comes later */

// Phases of a held answer in which a model is asked.
/** @type {Record<string, string>} */
const phases = { planning: 'planner', validating: 'judge', refining: 'refinement' };

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
  /** @type {Map<string, TraceStep>} nodes, agents and phases that have not ended */
  #open = new Map();
  #last = 0;

  /** @param {TurnRecord} record */
  constructor(record) {
    this.record = record;
    this.turn = this.#begin('turn', 0, {});
  }

  /** @param {string} name @param {number} at @param {Partial<TraceStep>} more */
  #begin(name, at, more) {
    const parent = this.#list.length > 0 ? { parent_id: this.#list[0].id } : {};
    /** @type {TraceStep} */
    const step = { id: `${this.record.turn || 'turn'}:${this.#list.length}`, ...parent, step_name: name, message: '', status: 'info', timestamp: '', started_ms: at, tool_calls: [], ...more };
    this.#list.push(step);
    return step;
  }

  /** @param {string} event @param {any} data @param {number} at */
  add(event, data, at) {
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
  /** @param {any} data @param {number} at */
  #speak(data, at) {
    const lane = this.#lane(data);
    if (lane.held && lane.step) return lane.step;
    if (!lane.step || (lane.asked && lane.busy === 0)) {
      const above = this.#open.get(data.node_id ? `node ${data.node_id}` : `agent ${data.agent_id} ${data.session_id ?? ''}`);
      const from = Number.isNaN(lane.free) ? above?.started_ms ?? at : lane.free;
      lane.step = this.#begin('step', from, { first_token_ms: at - from, duration_ms: 0, ...who(data), ...(above ? { parent_id: above.id } : {}) });
      lane.asked = false;
    }
    if (!lane.asked) lane.step.duration_ms = at - lane.step.started_ms; // a call is asked for with the last of it
    return lane.step;
  }

  /** @param {import('../types').ToolCall} data @param {number} at */
  #call(data, at) {
    const known = this.#calls.get(data.call_id);
    if (!known && data.status === 'in_progress') {
      const step = this.#speak(data, at);
      const lane = this.#lane(data);
      /** @type {TraceCall} */
      const call = { call_id: data.call_id, server: data.server, tool: data.tool_name, arguments: data.arguments, started_ms: at, outcome: 'running' };
      step.tool_calls?.push(call);
      this.#calls.set(data.call_id, { call, step, lane });
      [lane.asked, lane.busy] = [true, lane.busy + 1];
    }
    if (!known || known.call.outcome !== 'running' || data.status === 'in_progress' || data.status === 'progress') return;
    const { call, step, lane } = known;
    [call.outcome, call.duration_ms] = [data.status, data.duration_ms ?? at - (call.started_ms ?? at)];
    if (data.status === 'completed') call.result = { text: data.result ?? '', truncated: data.truncated };
    else [call.error, step.status] = [data.error ?? '', 'warning'];
    [lane.busy, lane.free] = [lane.busy - 1, at];
  }

  /** @param {string} name @param {string} key @param {any} data @param {number} at */
  #part(name, key, data, at) {
    const before = this.#open.get(key);
    if (before) before.duration_ms = at - before.started_ms;
    this.#open.delete(key);
    const begins = data.status === 'started' || data.status === 'retrying';
    const mine = { ...who(data), attempt: data.attempt };
    if (begins) {
      this.#open.set(key, this.#begin(name, at, { ...mine, message: String((name === 'agent' ? data.role : data.type) ?? '') }));
      const lane = this.#lane(data);
      [lane.step, lane.free] = [null, at];
    } else if (!before) {
      if (data.status === 'skipped') this.#begin(name, at, { ...mine, duration_ms: 0, message: 'skipped' });
    } else if (data.status === 'waiting') before.message = 'waiting';
    else if (data.status === 'completed') before.message = String(data.output ?? before.message);
    else [before.status, before.message] = ['warning', String(data.error_message ?? data.error_type ?? data.status)];
  }

  /** @param {string} phase @param {number} at */
  #phase(phase, at) {
    const before = this.#open.get('phase');
    if (before && before.step_name === phases[phase]) return; // it says how it goes
    if (before) before.duration_ms = at - before.started_ms;
    this.#open.delete('phase');
    if (phase === 'composing' || this.#composed || this.#lanes.size > 1) {
      if (phase === 'composing' && Number.isNaN(this.#held)) this.#held = this.#lane({}).free = at;
    } else if (!Number.isNaN(this.#held)) this.#compose(at);
    if (Object.hasOwn(phases, phase)) this.#open.set('phase', this.#begin(phases[phase], at, {}));
  }

  /** @param {import('../types').Fault} fault @param {number} at */
  #failure(fault, at) {
    const message = `${fault.error_type}: ${fault.message}`;
    if (!fault.fatal) this.#begin('error', at, { duration_ms: 0, status: 'warning', message, ...who(fault) });
    else [this.turn.message, this.turn.status] = [message, fault.error_type === 'cancelled' ? 'info' : 'error'];
  }

  end() {
    const { record, turn } = this;
    const end = Number.isNaN(record.ended) ? this.#last : record.ended;
    turn.duration_ms = Math.max(end, this.#last);
    for (const step of this.#open.values()) step.duration_ms = end - step.started_ms;
    this.#asked();
    const joint = this.#list.some((s) => s.step_name === 'agent' && !s.session_id); // then text of nobody is what they said together
    const models = this.#list.filter((s) => s.step_name === 'step' && (s.agent || s.node_id || !joint));
    for (const step of models) step.model = record.model;
    const { done } = record;
    if (!done) return this.#list;
    turn.message ||= done.finish_reason;
    turn.usage = done.usage;
    const measured = done.timings.model_ms;
    // Of calls at the same time, or of which nothing was told, it is not known which took how long.
    if (this.#lanes.size <= 1 && measured.length === models.length) models.forEach((step, i) => { step.duration_ms = measured[i]; });
    if (models.length === 0) for (const [i, ms] of measured.entries()) this.#unseen(ms, measured.slice(0, i).reduce((a, b) => a + b, record.events[0].at));
    if (measured.length === 1 && models.length === 1) models[0].usage = done.usage;
    return this.#list;
  }

  #held = NaN; // when an answer that is held began
  #composed = false;

  // The text of a held answer comes when all is done with it: its model was at work before.
  /** @param {number} at */
  #compose(at) {
    const step = this.#speak({}, at);
    if (step.first_token_ms === at - step.started_ms) delete step.first_token_ms;
    this.#composed = this.#lane({}).held = true;
  }

  // A check may need no model: the receipt says which were asked.
  #asked() {
    const ms = this.record.done?.quality?.ms;
    if (!ms) return;
    /** @type {Record<string, number>} */
    const took = { planner: ms.plan, judge: ms.judge, refinement: ms.refine };
    this.#list = this.#list.filter(({ step_name }) => !(took[step_name] === 0));
  }

  /** @param {number} ms @param {number} from */
  #unseen(ms, from) { this.#begin('step', from, { duration_ms: ms, model: this.record.model }); }
}

/** @param {any} data whose doing it is @returns {Partial<TraceStep>} */
const who = ({ agent_id, node_id, session_id }) => ({
  ...(agent_id ? { agent: String(agent_id) } : {}), ...(node_id ? { node_id: String(node_id) } : {}), ...(session_id ? { session_id: String(session_id) } : {}),
});
