// This file sweeps the store for tasks whose time is over, from the command line. A gateway
// does the same by itself (package task); this is for stores whose gateways do not run, and
// to look at what would go.

package gateway

import (
	"context"
	"errors"
	"time"

	"sluice/config"
	"sluice/store"
	"sluice/store/redis"
	"sluice/store/sqlite"
	"sluice/task"
	"sluice/workflow"
)

// ErrNoRetention says that the store of a configuration cannot be swept by another process.
var ErrNoRetention = errors.New("there is nothing to sweep: SLUICE_STORE must name a file (sqlite:PATH) or a Redis; what a process keeps in its memory it sweeps itself, and no other one sees it")

// Swept is what a sweep says of a task.
type Swept = task.Swept

// SweepRetention looks at all ended tasks of the configured store once, by the policy of cfg,
// and tells each of them. What is over goes. A dry run changes nothing and may run beside a
// gateway; otherwise a file must be free. ErrNoRetention: there is no such store.
//
// tell is called for each task, and one at a time. Tasks that still run are not looked at.
func SweepRetention(ctx context.Context, cfg Config, dry bool, tell func(Swept)) error {
	st, err := openToSweep(ctx, cfg, dry)
	if err != nil {
		return err
	}
	defer st.Close()
	w := &task.Sweeper{Store: st, Policy: cfg.Retention, DryRun: dry, Forget: forgets(st)}
	return w.All(ctx, time.Now(), tell)
}

// forgets returns what removes the records of a task that package task does not know.
//
// It is the same list for a gateway and for a sweep, so that neither leaves something
// behind.
func forgets(st store.Store) []task.Forget {
	r := &runs{RunStore: workflow.NewRunStore(workflow.RunStoreConfig{Store: st}), sessions: &workflow.Sessions{Store: st}}
	return []task.Forget{r.Forget}
}

// openToSweep opens the configured store: for reading only, or so that no other process may
// run turns with its file.
func openToSweep(ctx context.Context, cfg Config, dry bool) (store.Store, error) {
	at, err := store.ParseLocation(cfg.Store.Reveal())
	switch {
	case err != nil:
		return nil, err
	case at.Kind == store.SQLite:
		st, err := sqlite.Open(ctx, sqlite.Config{Path: at.Path, ReadOnly: dry})
		if errors.Is(err, store.ErrOwned) {
			return nil, &config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: "a gateway runs with this file, and sweeps it; --dry-run only reads"}}}
		}
		if err != nil {
			return nil, err
		}
		return st, nil
	case at.Kind == store.Redis:
		return redis.New(redis.Config{Location: at, Prefix: cfg.StorePrefix}), nil
	}
	return nil, ErrNoRetention
}
