// Package workflow runs workflows: graphs of agents, tools, conditions and people that
// answer a request as one agent does.
//
//	file ── Section ── Definition ── Compile ── Workflow ── Runner (a stream.Runner)
//
// What a run has come to is a Run: a value that can be stored, read in another process and
// continued. A Runner is a thin layer around it: it does what the Run says is to be done next,
// and says what happens as it happens.
package graph
