// This file sweeps the store for tasks whose time is over, from the command line. A gateway
// does the same by itself (package task); this is for stores whose gateways do not run, and
// to look at what would go.

package operate

import (
	"context"
	"errors"
	"time"

	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
)

// ErrNoRetention says that the store of a configuration cannot be swept by another process.
var ErrNoRetention = errors.New("there is nothing to sweep: SLUICE_STORE must name a file (sqlite:PATH) or a Redis; a store in memory belongs to one process, which sweeps it itself")

// SweepRetention looks at all ended tasks of the configured store once, by the policy of cfg, and
// calls each for each of them. Tasks beyond their time are removed. A dry run changes nothing and
// may run while a gateway does; otherwise a file must be free. ErrNoRetention means that no other
// process can open the store.
//
// each is called for one task at a time. Tasks that still run are not looked at.
func SweepRetention(ctx context.Context, cfg settings.Config, dry bool, each func(task.Swept)) error {
	st, err := openShared(ctx, cfg, dry, ErrNoRetention)
	if errors.Is(err, store.ErrOwned) {
		return &config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: "a gateway runs with this file, and sweeps it; --dry-run only reads"}}}
	}
	if err != nil {
		return err
	}
	defer st.Close()
	w := &task.Sweeper{Store: st, Policy: cfg.Retention, DryRun: dry, Forget: []task.Forget{records.Of(st).Forget}}
	if err := w.All(ctx, time.Now(), each); err != nil || dry {
		return err
	}
	if e, ok := st.(store.Eraser); ok {
		return e.Erase(ctx)
	}
	return nil
}
