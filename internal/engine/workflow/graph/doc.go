// Package graph is the definition of a workflow: a graph of agents, tools, conditions and
// people, as the configuration file has it and as runs are pinned to it.
//
//	file ── Section ── Definition ── Compile ── Workflow
//
// It does not know runs: the values of a node's expressions depend on a View, and the types of
// nodes on the given Kinds.
package graph
