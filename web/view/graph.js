// A workflow as a graph while it runs: its nodes with their states, the way of the run, and the same
// as a table. A node leads to its row. It is loaded when a workflow runs.

import { spoken, turnOf } from '../model/turn.js';
import { attribute, el, set, svg, visible } from './dom.js';
import { arrow, fitting, nextBox, way } from '../model/layout.js';
import { duration, short, states } from '../words.js';

/** @type {Record<string, import('../model/layout.js').Point>} by key */
const ways = { ArrowRight: { x: 1, y: 0 }, ArrowLeft: { x: -1, y: 0 }, ArrowDown: { x: 0, y: 1 }, ArrowUp: { x: 0, y: -1 } };

/** @type {Record<string, string>} the state of a node where there are no colours */
const marks = { running: '●', retrying: '↻', done: '✓', failed: '✕', stopped: '■', waiting: '!', skipped: '–', lost: '?' };

/** Draws the graph of the workflow that a turn is of; null: it is not known which. @param {Element} root @param {Turn} turn @param {Workflow[]} list */
export function beginGraph(root, turn, list) {
  const name = turn.record?.first.ask.workflow;
  const ids = branches(turn).map(({ branch: { id } }) => id);
  const workflow = list.find((w) => w.name === name) ?? (name ? undefined : list.find((w) => ids.every((id) => w.nodes.some((n) => n.id === id))));
  return workflow ? new Graph(root, turn, workflow) : null;
}

export class Graph {
  #frame = el('div', { class: 'frame' });
  #rows = el('tbody');
  #at = ''; // the node that Tab leads to
  #width = NaN;
  /** @type {import('../model/layout.js').Plan} */
  #plan = { width: 0, height: 0, boxes: [], lines: [] };
  /** @type {Map<string, Element>} */
  #nodes = new Map();
  /** @type {Map<Workflow['edges'][number], Element>} */
  #lines = new Map();

  constructor(/** @type {Element} */ root, /** @type {Turn} */ turn, /** @type {Workflow} */ workflow) {
    this.turn = turn;
    this.workflow = workflow;
    this.#at = workflow.nodes[0]?.id ?? '';
    for (const [key, value] of Object.entries({ class: 'graph', role: 'group', 'data-testid': 'graph' })) attribute(root, key, value);
    set(root, this.#frame, el('details', { class: 'as-table' }, el('summary', {}, 'As a table'), this.#table()));
    attribute(root, 'aria-label', `The workflow ${visible(short(workflow.name))} as a graph`);
    new ResizeObserver(() => this.#place()).observe(this.#frame);
    this.#frame.addEventListener('keydown', (event) => this.#key(/** @type {KeyboardEvent} */ (event)));
    this.#place();
  }

  #table() {
    return el('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': `The nodes of ${visible(short(this.workflow.name))}` }, el('table', { 'data-testid': 'graph-table' },
      el('thead', {}, el('tr', {}, ...['Node', 'Kind', 'State', 'Leads to'].map((name) => el('th', { scope: 'col' }, name)))), this.#rows));
  }

  // Draws it for the room that there is.
  #place() {
    const room = this.#frame.clientWidth;
    if (room === this.#width || room === 0) return;
    this.#width = room;
    const isHere = this.#frame.contains(document.activeElement);
    this.#plan = fitting(this.workflow, room);
    const { width, height, boxes, lines } = this.#plan;
    const least = Math.min(1, Math.max(room / width, 0.72)); // smaller letters could not be read: then it scrolls
    this.#lines.clear();
    const root = svg('svg', { width: Math.floor(width * least), height: Math.floor(height * least), viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Nodes: arrow keys move, Enter opens' },
      ...lines.map((line) => this.#line(line)));
    this.#nodes.clear();
    for (const box of boxes) root.append(this.#node(box));
    set(this.#frame, root);
    this.color();
    if (isHere) this.#focus(this.#at);
  }

  #line(/** @type {import('../model/layout.js').Line} */ { edge, points, label, at }) {
    const { line, head } = arrow(points);
    const said = edge.match ?? edge.condition;
    const node = svg('g', { class: 'edge', 'aria-hidden': 'true' }, said ? svg('title', {}, short(said)) : null,
      svg('path', { class: 'line', d: line }), svg('path', { class: 'head', d: head }),
      label ? svg('text', { class: 'label', x: at.x, y: at.y + 4 }, label) : null);
    this.#lines.set(edge, node);
    return node;
  }

  #node(/** @type {import('../model/layout.js').Box} */ { id, x, y, width, height }) {
    const { type = '' } = this.workflow.nodes.find((n) => n.id === id) ?? {};
    const [left, top] = [x - width / 2, y - height / 2];
    const shape = type === 'condition'
      ? svg('path', { class: 'shape', d: `M${left + 14} ${top}H${left + width - 14}L${left + width} ${y}L${left + width - 14} ${top + height}H${left + 14}L${left} ${y}Z` })
      : svg('rect', { class: 'shape', x: left, y: top, width, height, rx: type === 'human' ? height / 2 : type === 'tool' ? 2 : 9 });
    const node = svg('g', { class: 'node', role: 'button', tabindex: id === this.#at ? 0 : -1, 'data-id': id, 'data-testid': 'graph-node' }, shape,
      svg('text', { class: 'name', x, y: y - 3 }, `${cut(id, Math.floor(width / 8))} `), svg('text', { class: 'what', x, y: y + 13 }));
    node.addEventListener('click', () => this.#open(id));
    this.#nodes.set(id, node);
    return node;
  }

  // Brings states and the way into line with the branches.
  color() {
    const known = new Map(branches(this.turn).reverse().map((b) => [b.branch.id, b.branch]));
    const isNarrow = this.#plan.boxes[0]?.width < 120;
    const letters = isNarrow ? 15 : 21;
    for (const { id, type, agent, tool } of this.workflow.nodes) {
      const [node, branch] = [this.#nodes.get(id), known.get(id)];
      if (!node) continue;
      const word = branch ? states.get(branch.state) ?? '' : '';
      const seen = branch ? (branch.state === 'waiting' ? (isNarrow ? 'waits' : word) : isNarrow ? word : `${cut(type)} ${word}`) : cut(agent ?? tool ?? type, letters);
      attribute(node, 'data-state', branch?.state ?? 'none');
      // It begins with what is seen, for those who speak to the page.
      attribute(node, 'aria-label', visible(`${node.querySelector('.name')?.textContent}${seen}, ${short([type, agent ?? tool].filter(Boolean).join(' '))}${branch ? '' : ', not begun'}`));
      set(/** @type {Element} */ (node.lastElementChild), branch ? `${marks[branch.state] ?? ''} ${seen}`.trim() : seen);
    }
    const taken = way(this.workflow, (id) => known.get(id)?.state);
    for (const [edge, line] of this.#lines) {
      const isDead = [edge.from, edge.to].some((id) => known.get(id)?.state === 'skipped');
      attribute(line, 'data-way', isDead ? 'dead' : taken.has(edge) ? 'taken' : null);
    }
    this.#list(known);
  }

  #list(/** @type {Map<string, Branch>} */ known) {
    set(this.#rows, ...this.workflow.nodes.map(({ id, type, agent, tool }) => {
      const branch = known.get(id);
      const next = this.workflow.edges.filter((e) => e.from === id).map((e) => `${e.to}${e.match ? ` (${e.match})` : e.condition ? ` (if ${e.condition})` : ''}`);
      return el('tr', {}, el('th', { scope: 'row' }, short(id)), el('td', {}, [type, agent ?? tool].filter(Boolean).join(' ')),
        el('td', {}, branch ? `${states.get(branch.state)}${branch.ms === undefined ? '' : ` after ${duration(branch.ms)}`}` : 'not begun'), el('td', {}, next.join(', ')));
    }));
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const { boxes } = this.#plan;
    if (event.key === 'Enter' || event.key === ' ') this.#open(this.#at);
    else if (event.key === 'Home') this.#focus(boxes[0].id);
    else if (event.key === 'End') this.#focus(boxes[boxes.length - 1].id);
    else if (Object.hasOwn(ways, event.key)) this.#focus(nextBox(boxes, this.#at, ways[event.key])?.id ?? this.#at);
    else return;
    event.preventDefault();
  }

  #focus(/** @type {string} */ id) {
    for (const [name, node] of this.#nodes) attribute(node, 'tabindex', name === id ? 0 : -1);
    this.#at = id;
    const node = /** @type {SVGElement | undefined} */ (this.#nodes.get(id));
    node?.focus();
  }

  #open(/** @type {string} */ id) {
    const found = branches(this.turn).find(({ branch }) => branch.id === id);
    const row = found && document.getElementById(`branch-${found.of.key}-node-${id.replace(/\W/g, '_')}`);
    if (!row) return void (spoken.value = `${id} has not begun`);
    attribute(row, 'open', true);
    row.querySelector('summary')?.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
  }
}

/** The nodes of a run that were seen, newest first: it may have waited, and gone on in another turn. @param {Turn} turn */
function branches(turn) {
  /** @type {Turn[]} */
  const all = [];
  for (let record = turn.record; record; record = record.after) all.push(...[turnOf(record) ?? []].flat());
  return all.flatMap((of) => of.fold.turn.parts
    .flatMap((p) => (p.kind === 'fork' && p.what === 'node' ? p.branches : [])).map((branch) => ({ of, branch })));
}

/** @param {string} s @param {number} [most] */
const cut = (s, most = 20) => (s.length > most ? `${s.slice(0, most - 1)}…` : s);
