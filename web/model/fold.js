// The one place that makes of the events of a turn what is shown of it. There is no document
// here: views draw from the branches.

import { Calls } from './calls.js';
import { Checking } from './checks.js';
import { Reply } from './reply.js';
import { closeTexts, count, open, partDrafts, Tree, walk, word } from './tree.js';

/** @typedef {{ id?: string, event: string, data: any }} Came */

/** @type {Map<string, BranchState>} by what agents and nodes report */
const reported = new Map([['started', 'running'], ['retrying', 'retrying'], ['completed', 'done'], ['failed', 'failed'], ['cancelled', 'stopped'],
  ['waiting', 'waiting'], ['skipped', 'skipped']]);

const attributes = ['delta', 'attempt', 'agent_id', 'node_id', 'session_id']; // that make two pieces of inner text the same one

export class Fold {
  /** Whether something has come. */
  begun = false;
  #tree = new Tree();
  #calls = new Calls(this.#tree);
  #checking = new Checking(this.#tree);
  #reply = new Reply(this.#tree);
  #last = { stream: '', number: -1, event: '', data: /** @type {any} */ ({}) }; // the last event that brought an id

  /** @type {Record<EventName, (data: any) => void>} what becomes of an event */
  #events = {
    start: () => {},
    model: (change) => this.#change(change),
    quality: (state) => this.#checking.phase(state),
    route: (route) => this.#route(route),
    agent: (run) => this.#agent(run),
    node: (run) => this.#node(run),
    inner_delta: (inner) => this.#inner(inner),
    thinking: (thought) => this.#tree.think(this.#tree.place(thought), word(thought.content)),
    tool_call: (call) => this.#calls.add(call),
    response_delta: (delta) => this.#say(delta),
    response_reset: ({ accumulated }) => this.#reply.reset(word(accumulated)),
    channel_message: (message) => this.#message(message),
    error: (fault) => this.#fault(fault),
    approval: (approval) => this.#tree.add(this.turn, { kind: 'approval', approval }),
    done: () => {}, // the turn's outcome has it: see end
  };

  get turn() { return this.#tree.turn; }

  /** Folds an event in. One that is not known, came before, or is of another stream changes nothing. @param {Came} came */
  add({ id = '', event, data }) {
    if (!Object.hasOwn(this.#events, event) || !data || typeof data !== 'object' || !this.#isNext({ id, event, data })) return;
    this.begun = true;
    this.#events[/** @type {EventName} */ (event)](data);
  }

  // Ids of a stream only grow. What has none, as drafts, comes with the one before it. A reset may have
  // the id of an event that is here already: that event does not count any more, and others follow.
  #isNext(/** @type {Required<Came>} */ { id, event, data }) {
    const [, stream, digits] = /^(.+):(\d+)$/.exec(id) ?? [];
    if (!stream) return true;
    const [last, number] = [this.#last, Number(digits)];
    const again = event === 'response_reset';
    if (last.stream && (stream !== last.stream || number < last.number && !again)) return false;
    if (number === last.number && !again) return event === 'inner_delta' && !(last.event === event && attributes.every((name) => last.data[name] === data[name]));
    this.#last = { stream, number, event, data };
    return true;
  }

  /** Ends the turn. @param {TurnState} state @param {Receipt} [receipt] */
  end(state, receipt) {
    this.#checking.end(receipt);
    if (state === 'dropped' || state === 'stopped') this.#calls.lose();
    for (const b of walk(this.turn)) {
      closeTexts(b);
      if (b !== this.turn && open.includes(b.state)) b.state = b.state !== 'next' && state === 'dropped' ? 'lost' : 'stopped';
    }
    this.#reply.close();
  }

  /** @param {{ key: string, model: string, previous: string, reason: string } & Attribution} change to another model */
  #change(change) {
    const { key, model, previous, reason } = change;
    this.#tree.add(this.#tree.place(change), { kind: 'change', key: word(key), model: word(model), previous: word(previous), reason: word(reason) });
  }

  #route(/** @type {Route} */ route) {
    const more = Array.isArray(route.additional_agents) ? route.additional_agents.map(word) : [];
    const all = { ...route, agent_id: word(route.agent_id), additional_agents: more };
    this.#tree.team = true;
    this.#tree.add(this.turn, { kind: 'route', route: all });
    if (route.decision !== 'clarify') for (const id of [all.agent_id, ...more].filter(Boolean)) this.#tree.branch('agent', id, id, this.turn, 'next');
  }

  #agent(/** @type {AgentRun} */ { agent_id: agent, session_id: session, call_id: call, status, attempt, execution_time_ms: ms, error_message: note }) {
    const from = session ? this.#calls.get(call) : undefined;
    this.#tree.team ||= !session;
    const b = session ? this.#tree.branch('delegate', word(session), word(agent), from?.of) : this.#tree.branch('agent', word(agent));
    if (from && !b.task) this.#delegate(b, from.part);
    if (!this.#enter(b, word(status), count(attempt))) return;
    [b.ms, b.note] = [ms, word(note)];
  }

  // The call of a sub-agent is what its block shows.
  #delegate(/** @type {Branch} */ b, /** @type {ToolPart} */ call) {
    b.task = word(call.call.arguments?.task) || ' ';
    call.agent = true;
  }

  // A branch that has ended begins again with a later attempt alone.
  #enter(/** @type {Branch} */ b, /** @type {string} */ status, /** @type {number} */ attempt) {
    const state = reported.get(status);
    if (!state || attempt < b.attempt) return false;
    if (attempt === b.attempt && open.includes(state) && !open.includes(b.state)) return false;
    [b.state, b.attempt] = [state, attempt];
    if (!open.includes(state)) closeTexts(b);
    return true;
  }

  #node(/** @type {NodeRun} */ { node_id: id, type, status, attempt, duration_ms: ms, iteration, output, error_type: fault }) {
    const b = this.#tree.branch('node', word(id), word(id), this.turn, status === 'skipped' ? 'skipped' : 'running');
    b.type ||= word(type);
    if (!this.#enter(b, word(status), count(attempt))) return;
    if (fault === 'cancelled') b.state = 'stopped';
    [b.ms, b.note] = [ms, fault === 'cancelled' ? '' : word(fault).replaceAll('_', ' ')];
    if (count(iteration) > 1) partDrafts(b, word(output));
  }

  /** @param {{ delta: string, attempt?: number } & Attribution} inner  text that is not the answer: a draft of it, or a branch's */
  #inner(inner) {
    if (inner.attempt !== undefined) return this.#checking.write(word(inner.delta), count(inner.attempt));
    const of = this.#tree.place(inner);
    if (of === this.turn) return this.#tree.think(of, word(inner.delta));
    if (of.type === 'tool' && this.#calls.whole(of, word(inner.delta))) return;
    this.#tree.grow(of, word(inner.delta), false, of.type === 'tool' ? 'output' : '');
  }

  /** @param {{ delta: string } & Attribution} delta  of the answer */
  #say(delta) {
    this.#checking.send();
    this.#reply.say(delta);
  }

  // Messages of a channel are the answer in another form: they take its place.
  #message(/** @type {ChannelMessage} */ message) {
    if (message.sequence === 1) this.#reply.remove();
    this.#tree.add(this.turn, { kind: 'message', message });
  }

  #fault(/** @type {Fault & Attribution} */ fault) {
    if (fault.error_type === 'cancelled') return; // somebody wanted it: the last line says so
    if (this.#calls.explains(fault)) return;
    this.#tree.add(fault.fatal ? this.turn : this.#tree.place(fault), { kind: 'fault', fault });
  }
}
