// The parts of dagre that layout.js uses, for the type checker alone.

export interface Label { width?: number; height?: number; x?: number; y?: number; points?: { x: number; y: number }[]; labelpos?: string; rankdir?: string; nodesep?: number; ranksep?: number; edgesep?: number; marginx?: number; marginy?: number }
export class Graph {
  constructor(options: { multigraph: boolean });
  setGraph(label: Label): void;
  graph(): Label;
  setNode(id: string, label: Label): void;
  node(id: string): Required<Label>;
  setEdge(from: string, to: string, label: Label, name: string): void;
  edge(from: string, to: string, name: string): Required<Label>;
}
export function layout(graph: Graph): void;
