// Prompts that a visitor may try first: of the gateway's workflows and agents, and of its model where
// there are no agents.

/** @typedef {{ prompt: string, about: string, icon: string, agent?: string, workflow?: string }} Example */
/**
 * As much of the configuration as is known.
 * @typedef {object} Known
 * @property {boolean} [offline]  the model is the simulator, which knows little
 * @property {Agent[]} [agents]
 * @property {Tool[]} [tools]
 * @property {{ name: string, description?: string, examples?: string[] }[]} [workflows]
 */

/** @type {Record<string, string>} */
const channelTitles = { web: 'This page', sms: 'SMS', whatsapp: 'WhatsApp', teams: 'Teams', email: 'E-mail', plain: 'Plain text' };

/** @param {string} name  of a channel */
export const titleOfChannel = (name) => channelTitles[name] ?? name;

/** @type {Example[]} that the simulator knows */
const todos = [
  { prompt: 'Remind me to buy eggs tomorrow at 3pm', about: 'Adds a todo', icon: 'list-todo' },
  { prompt: 'Add milk, bread and butter to my list', about: 'Three calls at once', icon: 'list-todo' },
  { prompt: 'What is on my list?', about: 'Lists your todos', icon: 'list-todo' },
  { prompt: 'What can you do?', about: 'Shows what this demo knows', icon: 'info' },
  { prompt: 'Add milk #a-tag-that-is-longer-than-the-fifty-characters-a-tag-may-have', about: 'A tool that does not work', icon: 'triangle-alert' },
];

/** @type {Example[]} */
const withTools = [
  { prompt: 'Which tools do you have, and what is each good for? Answer with a table.', about: 'Shows the tools', icon: 'wrench' },
  { prompt: 'Pick the most harmless of your tools, call it, and explain its result.', about: 'Uses a tool', icon: 'wrench' },
];

/** @type {Example} */
const text = { prompt: 'Explain Server-Sent Events to a web developer, with headings, a list and a code example.', about: 'A longer text', icon: 'info' };

/** @type {[RegExp, string][]} */
const icons = [[/music|song|jazz/i, 'music'], [/todo|list/i, 'list-todo']];

/** @param {Agent} agent @param {string} prompt @returns {Example} */
const ofAgent = ({ id, name }, prompt) => ({ prompt, about: `Asks ${name || id}`, icon: icons.find(([words]) => words.test(`${name} ${prompt}`))?.[1] ?? 'bot', agent: id });

/** All examples, the best first. @param {Known} known @returns {Example[]} */
export function examples({ offline = false, agents = [], tools = [], workflows = [] }) {
  const able = agents.filter((a) => a.available);
  // The first one of each agent, then a second one.
  const theirs = [0, 1].flatMap((i) => able.flatMap((a) => (a.examples?.[i] ? [ofAgent(a, a.examples[i])] : [])));
  const runs = workflows.flatMap(({ name, description, examples: [prompt] = [] }) => (prompt ? [{ prompt, about: `Workflow ${name}${description ? `: ${description}` : ''}`, icon: 'workflow', workflow: name }] : []));
  const general = offline || theirs.length > 0 ? [] : [...(tools.length > 0 ? withTools : []), text];
  const isTodo = offline && theirs.length === 0 && tools.some((t) => t.server === 'todo' && t.name === 'create_todo');
  return [...runs.slice(0, 2), ...theirs, ...(isTodo ? todos : []), ...general, ...runs.slice(2)];
}

/** The parts of the gateway in one line. @param {Known} known */
export function abilities({ agents = [], tools = [], workflows = [] }) {
  const servers = [...new Set(tools.map((t) => t.server))].map((s) => (s === 'todo' ? 'your todo list' : s));
  const parts = [...servers.slice(0, 3), servers.length > 3 && `${servers.length - 3} more`, agents.length > 1 && `${agents.length} agents`, workflows.length > 0 && `${workflows.length === 1 ? 'a' : workflows.length} workflow${workflows.length === 1 ? '' : 's'}`].filter((p) => typeof p === 'string');
  if (parts.length === 0) return 'I answer your questions.';
  return `I can use ${parts.length < 2 ? parts[0] : `${parts.slice(0, -1).join(', ')} and ${parts[parts.length - 1]}`}.`;
}
