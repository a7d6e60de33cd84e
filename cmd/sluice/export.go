// This file is the command export: it writes the records of one task as a folder of files. It reads
// the store directly, so that it works without a running gateway. A store in memory cannot be
// exported.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
)

// runExport writes a task and its records as files.
func (p program) runExport(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 1
	out := l.String("out", ".", "the folder; default: the current one")
	cfg, code, ok := p.loadConfig(l, flagsFirst(args))
	if !ok {
		return code
	}
	if len(l.Args()) == 0 || !isTaskID(l.Args()[0]) {
		fmt.Fprintln(p.stderr, "sluice export: name the task: sluice export TASK [--out DIR]")
		return exitUsage
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	err := operate.Export(ctx, gatewayConfig(cfg, f), l.Args()[0], *out)
	if errors.Is(err, operate.ErrNoExport) {
		return p.refuseStart(&config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: err.Error()}}})
	}
	if err != nil {
		return p.refuseStart(err)
	}
	fmt.Fprintln(p.stdout, filepath.Join(*out, "tasks", l.Args()[0]))
	return exitOK
}

// isTaskID says whether a text can be the id of a task, and is a name of a folder. It has 1 to 128
// letters and digits of ASCII, dashes, underscores and points. A point must not be first: ".." and
// a hidden file are not ids.
func isTaskID(text string) bool {
	return text != "" && len(text) <= 128 && text[0] != '.' && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	})
}
