// Package graph is the definition of a workflow: a graph of agents, tools, conditions and
// people, as the configuration file has it and as runs are pinned to it.
//
//	file ── Section ── Definition ── Compile ── Workflow
//
// It knows no run: what a node's expressions come to depends on a View, and what nodes there
// can be on the Kinds that it is given.
package graph
