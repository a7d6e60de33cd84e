// Package engine runs workflows: graphs that answer a request as one agent does.
//
//	graph.Workflow ── Runner (a stream.Runner) ── Run ── Records
//
// A Run is the state of a run: a value that can be stored, read in another process and continued. A
// Runner is a thin layer around it: it carries out the next step of the Run and emits the events.
package engine
