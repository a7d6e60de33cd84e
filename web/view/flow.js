// The place of a workflow's graph in a turn. What draws it is loaded when a workflow runs.

import { el } from './dom.js';

export class GraphView {
  node = el('section', { class: 'graph', 'data-testid': 'graph', 'aria-label': 'The workflow as a graph', hidden: true });

  /** @param {import('./turn.js').TurnView} turn */
  constructor(turn) {
    import('./graph.js').then(({ Graph }) => Graph.begin(this.node, turn)).catch(() => {}); // the blocks say all of it too
  }

  draw() {}
}
