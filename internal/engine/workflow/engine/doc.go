// Package engine runs workflows: graphs that answer a request as one agent does.
//
//	graph.Workflow ── Runner (a stream.Runner) ── Run ── Records
//
// What a run has come to is a Run: a value that can be stored, read in another process and
// continued. A Runner is a thin layer around it: it does what the Run says is to be done next,
// and says what happens as it happens.
package engine
