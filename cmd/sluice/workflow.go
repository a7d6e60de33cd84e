// This file is the command workflow: it checks the workflows of a file, draws one, or runs
// one in a gateway of its own, like ask. Checking and drawing ask no upstream.

package main

import (
	"context"
	"fmt"
	"strings"

	"sluice/internal/app/settings"
	"sluice/internal/clients/ask"
	"sluice/internal/engine/workflow/graph"
)

// withStore returns p with a store if none is configured: a definition that needs one to
// run can be looked at without.
func (p program) withStore() program {
	lookup := p.lookup
	p.lookup = func(name string) (string, bool) {
		value, ok := lookup(name)
		file, _ := lookup("SLUICE_STORE_FILE")
		if name != "SLUICE_STORE" || strings.TrimSpace(value) != "" || strings.TrimSpace(file) != "" {
			return value, ok
		}
		return "memory", true
	}
	return p
}

// workflowCheck checks the configuration file, and says which workflows are in it.
func (p program) workflowCheck(args []string) int {
	f, code := p.readChecked("workflow check", args)
	if code != exitOK || f.Path == "" {
		return code
	}
	for _, w := range f.Workflows {
		d := w.Definition()
		fmt.Fprintf(p.stdout, "%s: ok (%d nodes, %d edges)\n", d.Name, len(d.Nodes), len(d.Edges))
	}
	if len(f.Workflows) == 0 {
		fmt.Fprintln(p.stdout, "there are no workflows in the file")
	}
	return exitOK
}

// workflowGraph prints the graph of a workflow for Mermaid.
func (p program) workflowGraph(args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 1
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	w, ok := p.workflowOf(f, l.Args())
	if !ok {
		return exitUsage
	}
	fmt.Fprint(p.stdout, w.Mermaid())
	return exitOK
}

// workflowOf returns the workflow that is named.
//
// For an unknown name it prints the known names and returns false.
func (p program) workflowOf(f settings.File, args []string) (*graph.Workflow, bool) {
	var names []string
	for _, w := range f.Workflows {
		if len(args) > 0 && w.Definition().Name == args[0] {
			return w, true
		}
		names = append(names, w.Definition().Name)
	}
	if len(names) == 0 {
		fmt.Fprintln(p.stderr, "sluice workflow: the configuration file has no workflows (--config, SLUICE_CONFIG)")
	} else {
		fmt.Fprintf(p.stderr, "sluice workflow: name one of %s\n", strings.Join(names, ", "))
	}
	return nil, false
}

// workflowRun runs a workflow once and shows its events live.
//
// Questions to people are answered as ask answers them. Without a store a run that asks
// ends with the command.
func (p program) workflowRun(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 2
	raw := l.Bool("json", "print the raw events, one JSON object a line")
	approve := l.Bool("approve", "say yes to every question to a person")
	reject := l.Bool("reject", "say no to all of them")
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	w, ok := p.workflowOf(f, l.Args())
	if !ok {
		return exitUsage
	}
	if len(l.Args()) < 2 {
		fmt.Fprintln(p.stderr, `sluice workflow run: give the name and the input: sluice workflow run NAME "TEXT"`)
		return exitUsage
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	s, err := p.startForAsk(ctx, cfg, f)
	if err != nil {
		return p.refuseStart(err)
	}
	defer s.Close()
	c := p.newClient("sluice workflow run", "http://"+reachableAddr(s.Addr()), *approve, *reject)
	c.Raw, c.Header = *raw, withCredential(cfg, nil)
	return p.adviseOnFailure(true, c.Turn(ctx, ask.Message{Text: l.Args()[1], Workflow: w.Definition().Name}))
}
