// What a visitor may try first. The offline model knows todo phrases and nothing
// else, so it is offered those.

/** @typedef {{ title: string, prompt: string }} Example */

/** @type {Example[]} */
const offline = [
  { title: 'Call a tool', prompt: 'Remind me to buy eggs tomorrow at 3pm' },
  { title: 'Several calls at once', prompt: 'Add milk, bread and butter to my list' },
  { title: 'A list in the answer', prompt: 'What is on my list?' },
  { title: 'A tool that fails', prompt: 'Add milk #a-tag-that-is-longer-than-the-fifty-characters-a-tag-may-have' },
];

/** @type {Example[]} */
const online = [
  { title: 'What is here', prompt: 'Which tools do you have, and what is each good for? Answer with a table.' },
  { title: 'Use a tool', prompt: 'Pick the most harmless of your tools, call it, and explain its result.' },
  { title: 'Long text', prompt: 'Explain Server-Sent Events to a web developer, with headings, a list and a code example.' },
];

/** @param {boolean} isOffline */
export const examples = (isOffline) => (isOffline ? offline : online);
