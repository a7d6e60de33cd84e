// One turn in the conversation: the question, then what came, in its order.

import { ApprovalCard } from './approval.js';
import { attribute, copyButton, el, say, set, text } from './dom.js';
import { Markdown } from './markdown.js';
import { editButton, notice, retryButton } from './notice.js';
import { preview } from './preview.js';
import { Scorecard } from './scorecard.js';
import { TeamView } from './team.js';
import { ToolCard } from './tool.js';
import { adviceFor, counted, duration, ending, number, passing } from './words.js';

/** @typedef {import('./events.js').EventName} EventName */
/** @typedef {import('./record.js').TurnRecord} TurnRecord */
/** @typedef {import('./types').Fault} Fault */
/** @typedef {import('./types').Outcome} Outcome */
/** @typedef {import('./types').Problem} Problem */
/** @typedef {import('./types').TurnState} TurnState */
/**
 * @typedef {object} Actions
 * @property {(input: string) => void} again
 * @property {(input: string) => void} edit
 * @property {() => void} inspect
 * @property {(card: ApprovalCard, answer: import('./types').Answer) => void} [decide]
 */
/** @typedef {{ node: HTMLDetailsElement, line: HTMLElement, text: string, doc: Markdown, agent?: string }} Thoughts */

export class TurnView {
  #items = el('div', { class: 'items' });
  #foot = el('div', { class: 'foot' });
  #waiting = el('p', { class: 'waiting', 'aria-hidden': 'true' }, 'Waiting for the first event');
  #interrupted = el('p', { class: 'faint', 'data-testid': 'interrupted' }, 'The connection was lost. The rest of the turn is asked for.');
  /** @type {Map<string, ToolCard>} */
  #cards = new Map();
  /** @type {Thoughts | null} */
  #thoughts = null;
  /** @type {Markdown | null} */
  #answer = null;
  /** @type {HTMLElement | null} the answer's, which is the last one unless it is open */
  #answerNode = null;
  /** @type {string | undefined} the agent whose text came last */
  #speaker;
  #team = new TeamView((node) => this.#add(node));
  #scorecard = new Scorecard((node) => this.#add(node));

  /** @type {Record<EventName, (data: any) => void>} what shows an event */
  #parts = {
    start: () => { this.#waiting.textContent = 'The model is at work'; },
    model: (change) => this.#change(change),
    quality: (state) => this.#scorecard.phase(state),
    route: (route) => this.#team.route(route),
    agent: (run) => this.#team.run(run),
    node: (run) => this.#step(run),
    inner_delta: (inner) => this.#inner(inner),
    thinking: ({ content, agent_id }) => this.#think(content, agent_id),
    tool_call: (call) => this.#call(call),
    response_delta: ({ delta, agent_id }) => this.#say(delta, agent_id),
    response_reset: ({ accumulated }) => this.#retract(accumulated.length),
    channel_message: (message) => this.#message(message),
    error: (fault) => this.#fault(fault),
    approval: (approval) => this.#ask(approval),
    done: () => {}, // the turn's outcome has it: see end
  };

  /** @param {TurnRecord} record @param {Actions} actions */
  constructor(record, actions) {
    this.record = record;
    this.actions = actions;
    // Only the end of a turn is read out, by say: not each piece of it.
    this.node = el('article', { class: 'turn', 'data-testid': 'turn', 'data-state': 'running', 'aria-busy': 'true', 'aria-live': 'off', 'aria-label': 'Turn' },
      el('p', { class: 'question', dir: 'auto' }, el('span', { class: 'offscreen' }, 'You: '), record.ask.input), this.#items, this.#foot);
    this.#items.append(this.#waiting);
  }

  /**
   * @param {string} event
   * @param {any} data
   */
  show(event, data) {
    this.#interrupted.remove();
    if (Object.hasOwn(this.#parts, event)) this.#parts[/** @type {EventName} */ (event)](data);
  }

  /** Tells that the stream broke off, and that the rest is asked for. */
  interrupted() {
    this.node.insertBefore(this.#interrupted, this.#foot);
  }

  /** Draws what has come since the last time. */
  draw() {
    this.#answer?.draw();
    this.#thoughts?.doc.draw();
    this.#scorecard.draw();
  }

  /** @param {Node} item */
  #add(item) {
    this.#waiting.remove();
    this.#items.append(item);
  }

  /** @param {{ key: string, model: string, previous: string, reason: string }} change to another model */
  #change({ key, model, previous, reason }) {
    this.#closeText();
    const why = reason.replaceAll('_', ' ');
    this.#add(el('p', { class: 'faint', 'data-testid': 'model-change' }, `${model} (${key}) answers in place of ${previous}: ${why}`));
  }

  // Several agents work at once: what one of them does while another's text comes stands
  // above that text, which stays whole.
  /** @param {Node} item @param {string} [agent] whose doing it shows */
  #beside(item, agent) {
    if (this.#speaks(agent) || !this.#answer) {
      this.#closeAnswer();
      this.#add(item);
    } else {
      this.#answerNode?.before(item);
    }
  }

  /** @param {string} [agent] */
  #speaks(agent) {
    return !agent || !this.#speaker || agent === this.#speaker;
  }

  /** @type {Map<string, HTMLElement>} a line for each node of a workflow */
  #steps = new Map();

  /** @param {{ node_id: string, type: string, status: string }} run */
  #step({ node_id, type, status }) {
    const text = `${node_id} (${type}): ${status}`;
    const known = this.#steps.get(node_id);
    if (known) {
      known.textContent = text;
      return;
    }
    const line = el('p', { class: 'faint', 'data-testid': 'node' }, text);
    this.#steps.set(node_id, line);
    this.#beside(line);
  }

  /** @param {string} content @param {string} [agent] */
  #think(content, agent) {
    if (this.#thoughts && this.#thoughts.agent !== agent) this.#closeThoughts();
    if (!this.#thoughts) {
      const line = el('span', { class: 'line', dir: 'auto' });
      const inside = el('div', { class: 'prose' });
      const node = el('details', { class: 'thoughts', 'data-testid': 'thoughts' }, el('summary', {}, el('span', { class: 'faint' }, agent ? `Thought of ${agent}: ` : 'Thought: '), line), inside);
      this.#thoughts = { node, line, text: '', doc: new Markdown(inside), agent };
      this.#beside(node, agent);
    }
    this.#thoughts.text += content;
    this.#thoughts.doc.append(content);
    set(this.#thoughts.line, title(this.#thoughts.text));
  }

  /** @param {import('./types').ToolCall} call */
  #call(call) {
    const known = this.#cards.get(call.call_id);
    if (known) {
      known.show(call);
      return;
    }
    this.#closeThoughts();
    const card = new ToolCard(call);
    this.#cards.set(call.call_id, card);
    this.#beside(card.node, call.agent_id);
    say(`Calling the tool ${call.tool_name}`);
  }

  /** @param {{ delta: string, attempt?: number, node_id?: string, agent_id?: string }} inner  text that is not the answer: a draft of it, or an inner node's */
  #inner({ delta, attempt, node_id, agent_id }) {
    if (attempt === undefined) {
      this.#think(delta, node_id ?? agent_id);
      return;
    }
    this.#closeText();
    this.#scorecard.draft(delta, attempt);
  }

  // Messages of a channel are the answer in another form: they take its place.
  /** @param {import('./types').ChannelMessage} message */
  #message(message) {
    this.#closeText();
    if (message.sequence === 1) this.#answerNode?.remove();
    this.#add(preview(message));
  }

  /** @param {string} delta @param {string} [agent] */
  #say(delta, agent) {
    this.#length += delta.length;
    this.#scorecard.sent();
    this.#speaker = agent ?? this.#speaker;
    this.#closeThoughts();
    if (!this.#answer) {
      if (delta.trim() === '') return; // what keeps the text of two steps apart
      const node = el('div', { class: 'prose answer', 'data-testid': 'answer' });
      this.#answer = new Markdown(node);
      this.#answerNode = node;
      this.#add(node);
      this.#blocks.push({ node, from: this.#length - delta.length, text: '' });
    }
    this.#blocks[this.#blocks.length - 1].text += delta;
    this.#answer.append(delta);
  }

  /** The parts of the answer as they are shown, and the length of its text. @type {{ node: HTMLElement, from: number, text: string }[]} */
  #blocks = [];
  #length = 0;

  /** Takes back what was shown of the answer behind its first characters. @param {number} length */
  #retract(length) {
    this.#closeAnswer();
    this.#length = length;
    while (this.#blocks.length > 0) {
      const last = this.#blocks[this.#blocks.length - 1];
      if (last.from + last.text.length <= length) return;
      if (last.from < length) {
        last.text = last.text.slice(0, length - last.from);
        last.node.replaceChildren();
        this.#answer = new Markdown(last.node);
        this.#answerNode = last.node;
        this.#answer.append(last.text);
        return;
      }
      last.node.remove();
      this.#blocks.pop();
    }
  }

  #closeAnswer() {
    this.#answer?.end();
    this.#answer = null;
  }

  #closeThoughts() {
    this.#thoughts?.doc.end();
    this.#thoughts = null;
  }

  #closeText() {
    this.#closeAnswer();
    this.#closeThoughts();
  }

  /** @param {import('./types').Approval} approval */
  #ask(approval) {
    this.#closeText();
    const card = new ApprovalCard(approval, (answer) => this.actions.decide?.(card, answer));
    this.#add(card.node);
    say(approval.prompt);
  }

  /** @param {Fault} fault */
  #fault(fault) {
    if (fault.error_type === 'cancelled') return; // somebody wanted it: the last line says so
    if (this.#speaks(fault.agent_id)) this.#closeText();
    const actions = [];
    if (fault.fatal && fault.recoverable && !this.record.ask.approval) actions.push(this.#retry(fault.retry_after_ms));
    const about = fault.service ? `, service ${fault.service}` : '';
    const node = notice({
      title: fault.message,
      advice: adviceFor(fault.error_type, fault.fatal),
      facts: `${fault.error_type}${about}`,
      tone: fault.fatal ? 'bad' : 'note',
      hooks: { 'data-testid': 'error', 'data-error-type': fault.error_type, 'data-fatal': String(fault.fatal) },
    }, ...actions);
    const explained = !fault.fatal && [...this.#cards.values()].some((card) => card.explain(fault.message, node));
    if (!explained) this.#beside(node, fault.agent_id);
    if (fault.fatal) say(`Error: ${fault.message}`);
  }

  /** @param {number | undefined} wait */
  #retry(wait) {
    return retryButton(wait, () => this.actions.again(this.record.ask.input));
  }

  /** @param {Outcome} outcome */
  end(outcome) {
    this.#waiting.remove();
    this.#interrupted.remove();
    if (outcome.how === 'lost' && outcome.reloaded) {
      this.reloaded(this.record.requestId);
      return;
    }
    this.#closeText();
    this.#scorecard.end(this.record.done?.quality);
    const state = stateOf(outcome, this.record);
    this.record.end(state);
    if (state === 'dropped' || state === 'stopped') for (const card of this.#cards.values()) card.lose();
    if (outcome.how === 'lost') this.lost(outcome.sent);
    if (outcome.how === 'refused') this.#refused(outcome.problem);
    this.settle(state, summary(this.record, outcome));
  }

  /** @param {TurnState} state @param {string} line */
  settle(state, line) {
    attribute(this.node, 'data-state', state);
    attribute(this.node, 'aria-busy', null);
    const inspect = el('button', { type: 'button', class: 'quiet' }, 'Inspect');
    inspect.addEventListener('click', () => this.actions.inspect());
    const output = this.record.done?.final_output;
    set(this.#foot, el('p', { class: 'summary' }, line),
      output ? copyButton('Copy answer', () => output, { title: 'Copy the text of the answer, as Markdown' }) : null, inspect);
    say(`${line} ${output?.slice(0, 600) ?? ''}`);
  }

  /** @param {boolean} sent  something of the stream arrived */
  lost(sent) {
    const running = 'The turn may have run on, tools included. Look before you send it again: that would be a new turn.';
    this.#lostNotice(
      sent ? 'The connection was lost before the turn was done' : 'The gateway could not be reached',
      sent ? 'The stream ended without its done event, so it is not known how the turn ended.' : 'No answer came. Is the gateway running, and the network there?',
      sent ? running : 'If the request did arrive, the turn may have run: sending it again is a new turn.');
  }

  /**
   * Tells of a turn that a reload of the page has cut.
   * @param {string} id
   */
  reloaded(id) {
    this.#waiting.remove();
    this.record.requestId = id;
    this.record.end('dropped');
    this.#lostNotice('The page was reloaded while this turn was running',
      'That cut its stream, and what it did is not known here. It was not sent again.',
      'Its tools may have taken effect: look before you send it again.');
    this.settle('dropped', 'Cut by a reload.');
  }

  /** @param {string} heading @param {string} what @param {string} advice */
  #lostNotice(heading, what, advice) {
    this.#add(notice({
      title: heading, what, advice, facts: this.record.requestId, tone: 'bad',
      hooks: { 'data-testid': 'dropped' },
    }, editButton(() => this.actions.edit(this.record.first.ask.input))));
  }

  /** @param {Problem} problem */
  #refused(problem) {
    if (problem.request_id) this.record.requestId = problem.request_id;
    this.record.status = problem.status;
    const hidden = problem.status === 0;
    const advice = hidden
      ? 'EventSource does not say why: it may be a repetition, or a gateway that is full or stopping, or one of several that have no SLUICE_APPROVAL_KEY in common. Switch to fetch to see the reason.'
      : adviceFor(problem.error_type, true);
    const edit = editButton(() => this.actions.edit(this.record.ask.input));
    this.#add(notice({
      title: problem.detail,
      list: problem.errors.length > 1 ? problem.errors.map((e) => `${e.field} ${e.message}`) : [],
      advice,
      facts: hidden ? undefined : `${problem.error_type}, status ${problem.status}`,
      tone: 'bad',
      hooks: { 'data-testid': 'error', 'data-error-type': problem.error_type, 'data-fatal': 'true' },
    }, ...(this.record.ask.approval ? [] : [passing(problem.error_type) ? this.#retry(problem.retry_after_ms) : edit])));
  }
}

/** @param {Outcome} outcome @param {TurnRecord} record @returns {TurnState} */
function stateOf(outcome, record) {
  switch (outcome.how) {
    case 'stopped': return 'stopped';
    case 'lost': return 'dropped';
    case 'refused': return 'refused';
  }
  if (record.done?.finish_reason === 'cancelled') return 'stopped';
  return record.done?.success ? 'done' : 'failed';
}

/**
 * What happened, in one line.
 * @param {TurnRecord} record @param {Outcome} outcome
 */
function summary(record, outcome) {
  const after = `after ${duration(record.now())}`;
  switch (outcome.how) {
    case 'stopped': return `Stopped by you ${after}. What tools did until then stays done.`;
    case 'lost': return outcome.sent ? `Connection lost ${after}.` : `No stream ${after}.`;
    case 'refused': return outcome.problem.error_type === 'duplicate_request' ? 'Already sent: how that turn ended is not known here.' : 'Refused.';
  }
  const done = record.done;
  if (!done) return '';
  if (done.finish_reason === 'cancelled') return `Cancelled after ${duration(done.timings.total_ms)}. What tools did until then stays done.`;
  const { model_ms: models, total_ms: total, first_delta_ms: first } = done.timings;
  const tokens = done.usage.input_tokens + done.usage.output_tokens + done.usage.thinking_tokens;
  return [
    `${ending(done.finish_reason)} ${done.success && done.finish_reason !== 'approval_required' ? 'in' : 'after'} ${duration(total)}`,
    record.model ?? '',
    first === undefined ? '' : `first text after ${duration(first)}`,
    counted(models.length, 'model call'),
    done.tools_called.length > 0 ? counted(done.tools_called.length, 'tool call') : '',
    tokens > 0 ? `${number(tokens)} tokens` : '',
  ].filter(Boolean).join(' · ');
}

/**
 * The heading of the last thought, or its beginning.
 * @param {string} thoughts
 */
function title(thoughts) {
  const start = thoughts.lastIndexOf('\n**') + 1;
  const heading = /^\*\*(.{1,120}?)\*\*/.exec(thoughts.slice(start, start + 130));
  const line = heading ? heading[1] : thoughts.trim().slice(0, 90).split('\n')[0];
  return text(line);
}
