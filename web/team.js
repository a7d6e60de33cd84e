// Who answers in a turn of a team: the router's decision, and each agent's state.

import { el, say } from './dom.js';
import { agentState, decided, duration } from './words.js';

/** @typedef {import('./types').Route} Route */
/** @typedef {import('./types').AgentRun} AgentRun */

export class TeamView {
  #node = el('section', { class: 'team', 'data-testid': 'team', 'aria-label': 'Agents' });
  /** @type {Map<string, HTMLElement>} */
  #agents = new Map();
  #add;

  /** @param {(node: Node) => void} add puts a node into the turn */
  constructor(add) {
    this.#add = add;
  }

  /** @param {Route} route */
  route(route) {
    this.#node.append(el('p', { class: 'route', 'data-testid': 'route' },
      el('strong', {}, decided(route)),
      route.reasoning ? el('span', { class: 'faint', dir: 'auto' }, ` ${route.reasoning}`) : ''));
    this.#add(this.#node);
    say(decided(route));
  }

  /** @param {AgentRun} run */
  run(run) {
    const key = run.session_id ?? run.agent_id;
    let item = this.#agents.get(key);
    if (!item) {
      item = el('p', { class: 'agent', 'data-testid': 'agent' });
      this.#agents.set(key, item);
      this.#node.append(item);
    }
    item.dataset.state = run.status;
    const time = run.execution_time_ms === undefined ? '' : ` after ${duration(run.execution_time_ms)}`;
    item.replaceChildren(el('strong', {}, run.agent_id), ` ${agentState(run)}${time}`,
      run.error_message ? el('span', { class: 'faint' }, ` ${run.error_message}`) : '');
  }
}
