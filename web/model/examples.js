// What a visitor may try first: what the gateway's agents say of themselves, its workflows and
// channels, and what its model can do without them.

import { titleOf } from '../view/channel.js';
import { byId, el, set } from '../view/dom.js';
import { short } from '../words.js';

/** @typedef {import('../types').Agent} Agent */
/** @typedef {import('../types').Tool} Tool */
/** @typedef {{ title: string, prompt: string, about?: string, workflow?: string, channel?: string }} Example  with a workflow or a channel it is prepared, and not sent */
/**
 * As much of what is configured as is known.
 * @typedef {object} Known
 * @property {boolean} [offline]  the model is the simulator, which knows little
 * @property {Agent[]} [agents]
 * @property {Tool[]} [tools]
 * @property {{ name: string, description?: string }[]} [workflows]
 * @property {{ name: string }[]} [channels]
 */

const most = 6;

/** @type {Example[]} what the simulator knows */
const todos = [
  { title: 'Call a tool', prompt: 'Remind me to buy eggs tomorrow at 3pm' },
  { title: 'Several calls at once', prompt: 'Add milk, bread and butter to my list' },
  { title: 'A list in the answer', prompt: 'What is on my list?' },
  { title: 'A tool that fails', prompt: 'Add milk #a-tag-that-is-longer-than-the-fifty-characters-a-tag-may-have' },
];

/** @type {Example[]} */
const withTools = [
  { title: 'What is here', prompt: 'Which tools do you have, and what is each good for? Answer with a table.' },
  { title: 'Use a tool', prompt: 'Pick the most harmless of your tools, call it, and explain its result.' },
];

/** @type {Example} */
const text = { title: 'Long text', prompt: 'Explain Server-Sent Events to a web developer, with headings, a list and a code example.' };

/**
 * @param {Known} known
 * @returns {Example[]}
 */
export function examples({ offline = false, agents = [], tools = [], workflows = [], channels = [] }) {
  const able = agents.filter((a) => a.available);
  // One of each agent first, then a second one.
  const theirs = [0, 1].flatMap((i) => able.flatMap((a) => (a.examples?.[i] ? [{ title: a.name || a.id, prompt: a.examples[i] }] : [])));
  const general = offline ? [] : [...(tools.length > 0 ? withTools : []), text];
  const isTodo = offline && agents.length === 0 && tools.some((t) => t.server === 'todo' && t.name === 'create_todo');
  const prompts = [...theirs, ...(isTodo ? todos : []), ...(theirs.length > 0 ? [] : general)];
  const runs = workflows.slice(0, 3).map(({ name, description }) => ({ title: `Workflow ${name}`, prompt: '', about: description || 'Write what it is to work on', workflow: name }));
  const form = channels.find(({ name }) => name !== 'web');
  const forms = form && prompts.length > 0 ? [{ title: `An answer for ${titleOf(form.name)}`, prompt: prompts[0].prompt, channel: form.name }] : [];
  return [...prompts.slice(0, Math.max(2, most - runs.length - forms.length)), ...runs, ...forms].slice(0, most);
}

/** The cards of them. */
export class Examples {
  /** @type {Known} */
  #known = {};
  #shown = '';

  /** @param {(prompt: string) => void} run */
  constructor(run) {
    this.run = run;
  }

  /** Learns more of what is configured. @param {Known} more */
  know(more) {
    this.#known = { ...this.#known, ...more };
    const list = examples(this.#known);
    const key = JSON.stringify(list);
    if (key === this.#shown) return; // who is at one of them stays there
    this.#shown = key;
    set(byId('examples'), ...list.map((example) => el('li', {}, this.#card(example))));
  }

  /** @param {Example} example */
  #card(example) {
    const { title, prompt, about, workflow, channel } = example;
    const button = el('button', { type: 'button', class: 'example', 'data-testid': 'example', 'data-workflow': workflow, 'data-channel': channel },
      el('b', { dir: 'auto' }, short(title)), el('span', { dir: 'auto' }, (about ?? prompt).slice(0, 300)));
    button.addEventListener('click', () => (workflow || channel ? prepare(example) : this.run(prompt)));
    return button;
  }
}

/** Chooses what an example is of, and leaves it to the visitor to send it. @param {Example} example */
function prepare({ prompt, workflow, channel }) {
  const input = /** @type {HTMLTextAreaElement} */ (byId('input'));
  if (workflow) /** @type {HTMLSelectElement} */ (byId('workflow')).value = workflow;
  if (channel) /** @type {HTMLSelectElement} */ (byId('channel')).value = channel;
  if (prompt) input.value = prompt;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  input.focus();
}
