package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sluice/config"
	"sluice/internal/gateway"
	"sluice/internal/settings"
)

// export writes a task and what belongs to it as files.
func (p program) export(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 1
	out := l.String("out", "", "the folder; default: ~/.multi-agent")
	if len(args) > 1 && !strings.HasPrefix(args[0], "-") { // flags may stand behind the task
		args = append(slices.Clone(args[1:]), args[0])
	}
	cfg, code, ok := p.load(l, args)
	if !ok {
		return code
	}
	if len(l.Args()) == 0 || !isTaskID(l.Args()[0]) {
		fmt.Fprintln(p.stderr, "sluice export: name the task: sluice export TASK [--out DIR]")
		return exitUsage
	}
	if *out == "" {
		home, ok := p.lookup("HOME")
		if !ok || home == "" {
			fmt.Fprintln(p.stderr, "sluice export: there is no home folder; name a folder with --out")
			return exitUsage
		}
		*out = filepath.Join(home, ".multi-agent")
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	err := gateway.Export(ctx, gatewayConfig(cfg, f), l.Args()[0], *out)
	if errors.Is(err, gateway.ErrNoExport) {
		return p.refuse(&config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: err.Error()}}})
	}
	if err != nil {
		return p.refuse(err)
	}
	fmt.Fprintln(p.stdout, filepath.Join(*out, "tasks", l.Args()[0]))
	return exitOK
}

// isTaskID says whether a text can be the id of a task, and is a name of a folder.
func isTaskID(text string) bool { return taskID.MatchString(text) }

var taskID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)
