// This file is the command retention run: it removes the records of tasks beyond the policy, once,
// in place of the gateway's own sweep. --dry-run only lists them.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/task"
)

// retentionRun looks at all ended tasks once. A line is written for each that goes, and one of
// them all.
func (p program) retentionRun(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	dry := l.Bool("dry-run", "change nothing: tell what would be removed; a gateway may run with the file")
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	done := "removed"
	if *dry {
		done = "would be removed"
	}
	gone, all := 0, 0
	err := operate.SweepRetention(ctx, gatewayConfig(cfg, f), *dry, func(w task.Swept) {
		all++
		if !w.Removed {
			return
		}
		gone++
		if w.State == "" {
			fmt.Fprintf(p.stdout, "%s: the rest of it %s\n", w.ID, done)
			return
		}
		fmt.Fprintf(p.stdout, "%s: %s, kept for %d days until %s: %s\n", w.ID, w.State, w.Days, w.Due.UTC().Format(time.RFC3339), done)
	})
	if errors.Is(err, operate.ErrNoRetention) {
		return p.refuseStart(&config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: err.Error()}}})
	}
	if err != nil {
		return p.refuseStart(err)
	}
	fmt.Fprintf(p.stdout, "%d of %d tasks %s\n", gone, all, done)
	return exitOK
}
