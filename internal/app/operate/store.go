package operate

import (
	"context"

	"sluice/internal/app/settings"
	"sluice/internal/state/store"
	"sluice/internal/state/store/engines"
)

// openShared opens the configured store for a moment: to read while its owner runs, or as the owner
// of a file. If no other process can open the store, it returns the parameter none.
//
// A server is not asked for anything: one that cannot be reached is found by the first read.
func openShared(ctx context.Context, cfg settings.Config, readOnly bool, none error) (store.Store, error) {
	in := settings.Of[store.Config](&cfg)
	if !in.At.Shared() {
		return nil, none
	}
	return engines.Open(ctx, engines.Config{Location: in.At, Prefix: in.Prefix, ReadOnly: readOnly})
}
