"""Judges graphs: one JSON object a line in, one out.

In:  {"nodes": 5, "edges": [[0, 1], ...], "entry": 0}
Out: {"acyclic": true, "reachable": [0, 1], "ancestors": [[], [0], ...]}
"""

import json
import sys

import networkx as nx

for line in sys.stdin:
    given = json.loads(line)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(given["nodes"]))
    graph.add_edges_from(given["edges"])
    acyclic = nx.is_directed_acyclic_graph(graph)
    print(json.dumps({
        "acyclic": acyclic,
        "reachable": sorted(nx.descendants(graph, given["entry"]) | {given["entry"]}),
        "ancestors": [sorted(nx.ancestors(graph, n)) for n in graph] if acyclic else None,
    }))
