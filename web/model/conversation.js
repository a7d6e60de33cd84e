// One conversation: its turns with their versions, the turn that runs, the message that waits for it,
// and its questions to a person.

import { signal } from '../vendor/signals.js';
import * as gateway from '../wire/gateway.js';
import { keepTalk, recallTalk, setting } from '../wire/talk.js';
import { newKey } from '../wire/transport.js';
import { historyOf } from './history.js';
import { readTalk } from './past.js';
import { Question, spokenOf } from './question.js';
import { TurnRecord } from './record.js';
import { Session } from './session.js';
import { Turn } from './turn.js';
import { Versions } from './versions.js';

/** @typedef {Partial<Pick<Ask, 'agent' | 'workflow' | 'channel' | 'drafts'>>} Choice  who answers, and in which form */
/** @typedef {{ begun: (c: Conversation, text: string) => void, ended: (c: Conversation, turn: Turn) => void }} Watch */

export class Conversation {
  turns = signal(/** @type {Turn[]} */ ([]));
  running = signal(/** @type {Turn | null} */ (null));
  queued = signal(/** @type {{ text: string, choice: Choice } | null} */ (null));
  /** Questions without a turn of this page. */
  questions = signal(/** @type {Question[]} */ ([]));
  isMissing = signal(false); // neither the tab nor the gateway has it
  /** @type {Versions<Turn>} */
  #all = new Versions();
  /** @type {Map<string, Question>} by approval id */
  #known = new Map();
  /** @type {Turn | null} the turn before the next one */
  #above = null;
  /** @type {Turn | null} that was begun last */
  #latest = null;
  #isRead = false;
  #session = new Session((record) => this.#begin(record), () => gateway.keeps.peek());

  /** @param {Watch} watch @param {string} [id]  none: it is new */
  constructor(watch, id) {
    this.watch = watch;
    this.id = id ?? `conv_${newKey()}`;
    this.isNew = id === undefined;
    if (id) this.#restore(recallTalk(id));
  }

  get last() { return this.turns.peek().at(-1) ?? null; }

  #restore(/** @type {Past[]} */ stored) {
    const turns = stored.map((past) => new Turn(null, past));
    stored.forEach(({ parent }, i) => this.#all.add(turns[i], parent === undefined ? turns[i - 1] ?? null : turns[parent] ?? null));
    stored.forEach(({ chosen }, i) => { if (chosen) this.#all.choose(turns[i]); });
    this.#drawPath();
  }

  #drawPath() { this.turns.value = this.#all.path; }

  /** Stores all turns that have ended. */
  #store() {
    const all = this.#all.all.filter((t) => t.state !== 'running' && t.state !== 'refused');
    const path = new Set(this.#all.path);
    keepTalk(this.id, all.map((turn) => ({ ...turn.stored, parent: all.indexOf(/** @type {Turn} */ (this.#all.above(turn))), chosen: path.has(turn) })));
  }

  /** Sends a message. While a turn runs it waits for the end of that. @param {string} text @param {Choice} choice @param {Via} [via] */
  async send(text, choice, via = 'fetch') {
    if (this.running.peek()) {
      this.queued.value = { text, choice };
      return null;
    }
    return this.#run(this.#ask(text, this.last, choice), this.last, via);
  }

  /** Sends the message of a turn again, or another one in its place. Both versions stay. @param {Turn} turn @param {string} [text] */
  async again(turn, text) {
    const first = this.chain(turn)[0];
    const { agent, workflow, channel, drafts } = first.record?.ask ?? /** @type {Partial<Ask>} */ ({});
    const above = this.#all.above(first);
    return this.#run({ history: [], ...this.#ask(text ?? first.input, above, { agent, workflow, channel, drafts }) }, above);
  }

  /** @param {string} text @param {Turn | null} above @param {Choice} choice @returns {Ask} */
  #ask(text, above, choice) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const history = historyOf(talkOf(this.#all.upTo(above)));
    return { input: text, conversation_id: this.id, ...(zone && zone !== 'Etc/Unknown' ? { timezone: zone } : {}), ...(setting('name') ? { user_name: String(setting('name')) } : {}), ...(history.length > 0 ? { history } : {}), ...choice };
  }

  /** @param {Ask} ask @param {Turn | null} above @param {Via} [via] @param {Turn | null} [after]  the turn that it goes on with */
  async #run(ask, above, via = 'fetch', after = null) {
    if (this.running.peek()) return null;
    this.#above = above;
    this.watch.begun(this, ask.approval ? '' : ask.input);
    await this.#session.run(ask, via, after?.record ?? null);
    return this.#latest;
  }

  /** Takes the message that waits back. @returns {string} */
  takeBack() {
    const text = this.queued.peek()?.text ?? '';
    this.queued.value = null;
    return text;
  }

  stop() { return this.#session.stop(); }

  /** @param {boolean} isLeaving  whether the page is being left */
  leave(isLeaving) { this.#session.leave(isLeaving); }

  /** Shows a turn that is about to be sent. @param {TurnRecord} record @returns {import('./session.js').View} */
  #begin(record) {
    const turn = this.#latest = new Turn(record);
    this.#all.add(turn, this.#above);
    this.running.value = turn;
    this.isMissing.value = false;
    this.#drawPath();
    return {
      show: (event, data) => {
        if (event === 'start' && data.task_id) gateway.keeps.value = true;
        turn.show(event, data);
      },
      interrupted: () => {
        turn.isInterrupted = true;
        turn.changed();
        gateway.refresh(); // it may be gone
      },
      changed: () => turn.changed(),
      end: (outcome) => this.#end(turn, outcome),
    };
  }

  #end(/** @type {Turn} */ turn, /** @type {Outcome} */ outcome) {
    turn.end(outcome);
    this.running.value = null;
    this.#store();
    this.watch.ended(this, turn);
    gateway.refresh();
    const next = this.queued.peek();
    if (!next || turn.state === 'refused' || turn.state === 'dropped' || turn.approvals.length > 0) return; // what waits goes back into the box
    this.queued.value = null;
    queueMicrotask(() => this.send(next.text, next.choice));
  }

  /** Goes on with a turn that a reload has cut. @param {Kept} kept */
  resume(kept) {
    this.#above = this.last;
    if (kept.task && kept.turn) return this.#session.rejoin(kept);
    const past = { input: kept.input, answer: kept.text, line: '', state: 'dropped', task: '', turn: '', at: Date.now() };
    this.#all.add(new Turn(null, past), this.last);
    this.#drawPath();
    this.#store();
  }

  /** A turn with those that it went on with after a person's answer. @param {Turn} turn @returns {Turn[]} */
  chain(turn) {
    const path = this.#all.path;
    let from = path.indexOf(turn);
    while (from > 0 && path[from].continues) from--;
    let to = path.indexOf(turn) + 1;
    while (to < path.length && path[to].continues) to++;
    return from < 0 ? [turn] : path.slice(from, to);
  }

  /** All versions of a turn. @param {Turn} turn */
  siblings(turn) { return this.#all.siblings(turn); }

  choose(/** @type {Turn} */ turn) {
    this.#all.choose(turn);
    this.#drawPath();
    this.#store();
  }

  /** The question of an approval, of a turn of this page or of a list. @param {Approval} approval @param {TurnRecord | null} record */
  question(approval, record = null) {
    const known = this.#known.get(approval.approval_id) ?? new Question(approval);
    if (record) [known.record, known.approval] = [record, approval];
    this.#known.set(approval.approval_id, known);
    return known;
  }

  /** Answers a question. The turn goes on as a turn of its own. @param {Question} question @param {Answer} answer @param {string} user  the name to answer as */
  async decide(question, answer, user) {
    if (this.running.peek()) return;
    const { approval, record } = question;
    const address = record && approval.token ? { token: approval.token } : { task: approval.task_id, approval_id: approval.approval_id, ...(user ? { user_id: user } : {}) };
    question.status.value = 'sent';
    const ask = { input: spokenOf(answer, approval), conversation_id: this.id, approval: { ...address, ...answer } };
    const asked = this.turns.peek().find((t) => t.record === record) ?? this.last;
    const turn = await this.#run(ask, this.last, 'fetch', asked);
    const { outcome } = turn ?? {};
    if (turn && outcome?.how === 'refused') {
      this.#all.remove(turn); // it has said nothing
      this.#drawPath();
      question.refuse(outcome.problem.status, fieldsOf(outcome.problem));
    } else question.accept(answer);
    gateway.readWaiting();
  }

  /** Adds the turns that the gateway has of it and this page does not. @param {boolean} [isFresh]  also if they were read before */
  async complete(isFresh = false) {
    if (this.isNew || this.running.peek() || this.#isRead && !isFresh) return;
    this.#isRead = true;
    const found = await readTalk(this.id).catch(() => null);
    if (!found || this.running.peek()) return;
    const here = new Set(this.#all.all.map((t) => t.id));
    const runs = found.running?.metadata?.turns?.at(-1);
    const news = found.turns.filter((t) => !here.has(t.turn) && t.turn !== runs);
    if (news.length > 0) this.#merge(news.map((past) => new Turn(null, past)));
    this.isMissing.value = found.turns.length === 0 && this.#all.all.length === 0 && !runs;
    if (!found.running || !runs || here.has(runs)) return;
    const input = found.turns.find((t) => t.turn === runs)?.input ?? '';
    this.resume({ input, id: '', conversation: this.id, task: found.running.id, turn: runs, text: '' });
  }

  #merge(/** @type {Turn[]} */ news) {
    const isPlain = this.#all.all.length === this.#all.path.length;
    const all = isPlain ? [...this.#all.path, ...news].sort((a, b) => a.began - b.began) : news;
    if (isPlain) this.#all = new Versions();
    for (const turn of all) this.#all.add(turn, this.#all.path.at(-1) ?? null);
    this.#drawPath();
    this.#store();
  }
}

/** The faults of an answer, as its person can mend them. @param {Problem} problem */
const fieldsOf = ({ errors, detail }) => (errors.length > 0 ? errors.map((e) => `${e.field} ${e.message}`).join('; ') : detail);

/** The messages and answers of turns, each with those that it went on with as one. @param {Turn[]} turns */
function talkOf(turns) {
  /** @type {{ input: string, answer: string }[]} */
  const talk = [];
  for (const { continues, input, answer } of turns) {
    const last = talk.at(-1);
    if (continues && last) last.answer += answer;
    else talk.push({ input, answer });
  }
  return talk;
}
