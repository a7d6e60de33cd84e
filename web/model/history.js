// What was said in this tab's conversation. The gateway keeps nothing of it, so the
// page sends it along with the next turn.

// The gateway shows its model at most 50 messages and 64,000 code points, 32,000 of one
// message. Here one exchange more is sent, so that it is the gateway that leaves out, and
// says to the model that it did.
const messages = 50;
const chars = 64_000;
const longest = 32_001;

/** The last questions and answers. A turn without a word of an answer is left out: the next question would be joined to it and ask for both. @param {{ input: string, answer: string }[]} turns @returns {Said[]} */
export function historyOf(turns) {
  /** @type {Said[]} */
  const said = turns.filter((t) => t.answer.trim() !== '').slice(-messages).flatMap(({ input, answer }) => [{ role: 'user', content: beginning(input) }, { role: 'assistant', content: beginning(answer) }]);
  while (said.length > 2 && exceeds(said.slice(2))) said.splice(0, 2);
  return said;
}

const exceeds = (/** @type {Said[]} */ said) => said.length > messages || said.reduce((sum, { content }) => sum + Math.min(length(content), longest - 1), 0) > chars;

/** @param {string} text  the number of its code points */
function length(text) {
  let n = 0;
  for (const _ of text) n++;
  return n;
}

const beginning = (/** @type {string} */ text) => (text.length <= longest ? text : Array.from(text.slice(0, 2 * longest)).slice(0, longest).join(''));
