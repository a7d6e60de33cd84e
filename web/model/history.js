// What was said in this tab's conversation. The gateway keeps nothing of it, so the
// page sends it along with the next turn.

/** @typedef {import('./record.js').TurnRecord} TurnRecord */

// The gateway shows its model at most 50 messages and 64,000 code points, 32,000 of one
// message. Here one exchange more is kept, so that it is the gateway that leaves out, and
// says to the model that it did.
const messages = 50;
const chars = 64_000;
const longest = 32_001;

export class History {
  /** @type {Said[]} a question and its answer, and so on */
  #said = [];

  get empty() { return this.#said.length === 0; }

  /** What a request says of it: nothing before there is something. */
  get field() { return this.empty ? {} : { history: [...this.#said] }; }

  /** Takes a turn that has ended, however it did. One that goes on with another is a part of that one's answer. One without a word of an answer is left out: the next question would be joined to it and ask for both. @param {TurnRecord} record */
  add(record) {
    if (record.answer.trim() === '') return;
    const last = this.#said.at(-1);
    if (record.ask.approval && last && record.after?.answer.trim()) {
      last.content = beginning(last.content + record.answer);
      return;
    }
    this.put((record.first ?? record).ask.input, record.answer);
  }

  /** Takes a turn of before. @param {string} question @param {string} answer */
  put(question, answer) {
    if (answer.trim() === '') return;
    this.#said.push({ role: 'user', content: beginning(question) }, { role: 'assistant', content: beginning(answer) });
    while (this.#said.length > 2 && exceeds(this.#said.slice(2))) this.#said.splice(0, 2);
  }

  clear() { this.#said = []; }
}

function exceeds(/** @type {Said[]} */ said) {
  return said.length > messages || said.reduce((sum, { content }) => sum + Math.min(length(content), longest - 1), 0) > chars;
}

/** @param {string} text  the number of its code points */
function length(text) {
  let n = 0;
  for (const _ of text) n++;
  return n;
}

function beginning(/** @type {string} */ text) {
  return text.length <= longest ? text : Array.from(text.slice(0, 2 * longest)).slice(0, longest).join('');
}
