// How a conversation comes back: after a reload from what the tab kept, and from the gateway if
// that keeps turns, which knows also what another tab or browser has added.

import { byId, el, set } from './dom.js';
import { Earlier, readTalk } from './earlier.js';
import { forgetTalk, keepTalk, noteTalk, recallTalk } from '../wire/talk.js';
import { counted } from '../words.js';

/** @typedef {import('../types').Past} Past */
/** @typedef {import('../model/record.js').TurnRecord} TurnRecord */

const byTab = 'This is from before a reload. The gateway keeps no turns: this tab does, until it is closed.';
const byGateway = 'This is from before, as the gateway keeps it.';

export class Comeback {
  /** @type {Past[]} */
  #past = [];
  /** @type {Past[]} turns of this page that have ended */
  #live = [];
  #keeps = true; // the tab
  #read = false; // what the gateway has
  #opened = false; // by its task, and not begun here

  /**
   * @param {import('../model/session.js').Session} session @param {(past: Past) => void} inspect
   * @param {(kept: import('../wire/memory.js').Kept) => void} follow  what runs, and is not of this page
   */
  constructor(session, inspect, follow) {
    this.session = session;
    this.follow = follow;
    this.earlier = new Earlier(byId('earlier'), inspect);
    const kept = recallTalk();
    if (kept && kept.turns.length > 0 && session.goOnWith(kept.conversation, kept.turns)) this.#show(kept.turns, byTab);
  }

  /** @param {Past[]} turns @param {string} where */
  #show(turns, where) {
    this.#past = turns;
    this.earlier.show(turns, where);
    if (turns.length > 0) byId('empty').hidden = true;
  }

  /** A turn is sent. @param {TurnRecord} record */
  begun({ ask }) {
    if (ask.conversation_id) noteTalk(ask.conversation_id);
  }

  /** A turn has ended. @param {TurnRecord} record @param {string} line  how */
  ended(record, line) {
    if (record.state === 'refused' || record.ask.conversation_id !== this.session.conversation) return;
    const { ask, answer, state, task, turn } = record;
    this.#live.push({ input: ask.input, answer, line, state, task, turn, at: Date.now() - record.now() });
    this.#keeps = keepTalk(this.session.conversation, [...this.#past, ...this.#live]);
  }

  /** Another conversation begins. */
  renew() {
    [this.#past, this.#live, this.#read] = [[], [], true];
    this.earlier.show([], '');
    set(byId('elsewhere'));
    forgetTalk();
  }

  /** Says what is kept, and where. @param {boolean} keeps  whether the gateway does */
  say(keeps) {
    const words = keeps ? 'The gateway keeps turns: they are under Tasks.'
      : this.#keeps ? 'The gateway keeps no turns: this tab keeps its conversation, also over a reload, until it is closed.'
        : 'Neither the gateway nor this browser keeps anything: a reload ends the conversation.';
    if (byId('keeps').textContent !== words) byId('keeps').textContent = words;
  }

  /** Goes on with a conversation that the gateway keeps. @param {string} conversation */
  async open(conversation) {
    if (!this.session.goOnWith(conversation, [])) return false;
    [this.#past, this.#live, this.#read, this.#opened] = [[], [], false, true];
    this.earlier.show([], '');
    set(byId('turns'));
    await this.complete();
    return true;
  }

  /** Adds what the gateway knows of the conversation and this page does not. */
  async complete() {
    const nothing = this.#past.length === 0 && !this.session.running; // a conversation that begins
    if (this.#read || (nothing && !this.#opened)) return;
    this.#read = true;
    const { conversation } = this.session;
    const found = await readTalk(conversation).catch(() => null);
    if (!found || conversation !== this.session.conversation) return;
    const here = this.#here();
    const news = found.turns.filter((t) => !here.has(t.turn) && t.turn !== found.running?.metadata?.turns?.at(-1));
    if (news.length > 0 || this.#past.some((t) => t.turn)) {
      const turns = [...this.#past, ...news].sort((a, b) => a.at - b.at);
      if (this.#live.length === 0) this.session.goOnWith(conversation, turns);
      this.#show(turns, byGateway);
      keepTalk(conversation, [...turns, ...this.#live]);
    }
    const turn = found.running?.metadata?.turns?.at(-1);
    if (found.running && turn && !this.session.running && !this.#here().has(turn)) {
      const input = found.turns.find((t) => t.turn === turn)?.input ?? '';
      this.follow({ input, id: '', conversation, task: found.running.id, turn });
    }
  }

  #here() { return new Set([...this.#past, ...this.#live].map((t) => t.turn).concat(this.session.turn)); }

  // What another tab has added is shown from its begin: among the turns of this page it has no place.
  async look() {
    const { conversation } = this.session;
    if (this.session.running || this.#past.length + this.#live.length === 0) return;
    const found = await readTalk(conversation).catch(() => null);
    if (!found || conversation !== this.session.conversation) return;
    const here = this.#here();
    const oldest = Math.min(...[...this.#past, ...this.#live].map((t) => t.at));
    const news = found.turns.filter((t) => t.turn && !here.has(t.turn) && t.at > oldest - 1000).length;
    const again = el('button', { type: 'button', class: 'quiet', 'data-testid': 'elsewhere-show' }, 'Show');
    again.addEventListener('click', () => { this.open(conversation); set(byId('elsewhere')); });
    set(byId('elsewhere'), ...(news > 0 ? [el('p', { class: 'bar small' }, `${counted(news, 'turn')} of this conversation came from elsewhere. `, again)] : []));
  }
}
