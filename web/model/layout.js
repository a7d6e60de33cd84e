// Where the nodes and edges of a workflow lie. Nothing is drawn here.

import { Graph, layout } from '../vendor/dagre.js';

/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ id: string, x: number, y: number, width: number, height: number }} Box  x and y: of its centre */
/** @typedef {{ edge: Workflow['edges'][number], points: Point[], label: string, at: Point }} Line */
/** @typedef {{ width: number, height: number, boxes: Box[], lines: Line[] }} Plan */

const sizes = { wide: { width: 148, height: 46 }, narrow: { width: 100, height: 44 } }; // of a node
const letter = 6.5; // the width of a letter of a label, about

/** @param {Workflow} workflow @param {'LR' | 'TB'} direction @param {{ width: number, height: number }} [size] @returns {Plan} */
export function plan({ nodes, edges }, direction, size = sizes.wide) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: direction === 'LR' ? 18 : 14, ranksep: direction === 'LR' ? 44 : 34, edgesep: 10, marginx: 6, marginy: 6 });
  const keys = new Map(nodes.map(({ id }, i) => [id, `n${i}`])); // dagre keeps its own by name in plain objects, which have names already
  const key = (/** @type {string} */ id) => keys.get(id) ?? '';
  // Of those of one rank the one that is set last comes first.
  for (const { id } of nodes.toReversed()) graph.setNode(key(id), { ...size });
  const drawn = edges.filter((e) => keys.has(e.from) && keys.has(e.to)).map((edge, i) => ({ edge, name: `e${i}`, label: label(edge) }));
  for (const { edge, name, label: words } of drawn.toReversed()) {
    graph.setEdge(key(edge.from), key(edge.to), words ? { width: words.length * letter + 8, height: 16, labelpos: 'c' } : {}, name);
  }
  layout(graph);
  const { width = 0, height = 0 } = nodes.length > 0 ? graph.graph() : {};
  return {
    width: Math.ceil(width), height: Math.ceil(height),
    boxes: nodes.map(({ id }) => ({ id, x: graph.node(key(id)).x, y: graph.node(key(id)).y, ...size })),
    lines: drawn.map(({ edge, name, label: words }) => {
      const { points, x, y } = graph.edge(key(edge.from), key(edge.to), name);
      return { edge, points, label: words, at: { x, y } };
    }),
  };
}

const least = 0.85; // letters that are drawn smaller are hard to read

/** From left to right if that fits, if need be with small nodes, else from top to bottom. @param {Workflow} workflow @param {number} room  in pixels */
export function fitting(workflow, room) {
  const ways = [plan(workflow, 'LR'), plan(workflow, 'LR', sizes.narrow), plan(workflow, 'TB')];
  return ways.find((way) => way.width * (way === ways[1] ? least : 1) <= room) ?? plan(workflow, 'TB', sizes.narrow);
}

function label(/** @type {Workflow['edges'][number]} */ { match = '', condition = '' }) {
  const words = match || (condition ? 'if' : '');
  return words.length > 18 ? `${words.slice(0, 17)}…` : words;
}

/**
 * The edges that a run went, as far as its nodes say so: an edge with a condition counts if nothing
 * else leads to where the run went on.
 * @param {Workflow} workflow @param {(id: string) => string | undefined} stateOf  undefined: it has not begun
 * @returns {Set<Workflow['edges'][number]>}
 */
export function way({ nodes, edges }, stateOf) {
  const conditions = new Set(nodes.filter((n) => n.type === 'condition').map((n) => n.id));
  const begun = edges.filter(({ from, to }) => ![undefined, 'skipped', 'running', 'retrying', 'waiting'].includes(stateOf(from)) && ![undefined, 'skipped'].includes(stateOf(to)));
  const sure = new Set(begun.filter((e) => (!conditions.has(e.from) && !e.condition && !e.match) || begun.every((other) => other === e || other.to !== e.to)));
  for (const e of begun) {
    const isElsewhere = conditions.has(e.from) && edges.some((other) => other.from === e.from && sure.has(other)); // it goes one way alone
    if (!isElsewhere && ![...sure].some((other) => other.to === e.to)) sure.add(e);
  }
  return sure;
}

/** The nearest box in a direction; null: there is none. @param {Box[]} boxes @param {string} id @param {Point} way  one of its figures is 0 */
export function nextBox(boxes, id, way) {
  const here = boxes.find((b) => b.id === id);
  /** @type {{ box: Box, far: number } | null} */
  let best = null;
  for (const box of here ? boxes : []) {
    const [dx, dy] = [box.x - /** @type {Box} */ (here).x, box.y - /** @type {Box} */ (here).y];
    const along = dx * way.x + dy * way.y;
    const far = along + 2 * Math.abs(way.x ? dy : dx);
    if (along > 1 && (!best || far < best.far)) best = { box, far };
  }
  return best?.box ?? null;
}

/** A curve through points, and the head of an arrow at its end, each as the d of a path. @param {Point[]} points */
export function arrow(points) {
  const [last, before] = [points[points.length - 1], points[points.length - 2] ?? points[0]];
  const turn = Math.atan2(last.y - before.y, last.x - before.x);
  const at = (/** @type {number} */ far, /** @type {number} */ side) => `${num(last.x - far * Math.cos(turn) - side * Math.sin(turn))} ${num(last.y - far * Math.sin(turn) + side * Math.cos(turn))}`;
  let d = `M${num(points[0].x)} ${num(points[0].y)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const end = i === points.length - 2 ? at(6, 0) : `${num((points[i].x + points[i + 1].x) / 2)} ${num((points[i].y + points[i + 1].y) / 2)}`;
    d += `Q${num(points[i].x)} ${num(points[i].y)} ${end}`;
  }
  if (points.length === 2) d += `L${at(6, 0)}`;
  return { line: d, head: `M${at(8, 4)}L${at(0, 0)}L${at(8, -4)}Z` };
}

const num = (/** @type {number} */ n) => String(Math.round(n * 10) / 10);
