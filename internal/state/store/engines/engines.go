// Package engines opens the store that a location names. It is the one place that knows all
// engines: a new one is its folder, its kind in package store, and a line here.
package engines

import (
	"context"
	"fmt"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/sqlite"
)

// Engine is a store that reports how it is.
type Engine interface {
	store.Store
	health.Checker
}

// Config says which engine is opened, and how.
type Config struct {
	Location store.Location
	Prefix   string // stands before every key of a server that others use, too
	// ReadOnly opens a file without becoming its owner, so that the owner may continue. Other
	// engines are without an owner.
	ReadOnly bool
	Calls    *store.Calls // nil: nothing guards or counts the calls
}

// Open opens an engine. A server is not asked for anything: one that cannot be reached is
// found by the first call. store.ErrOwned says that another process owns the file.
func Open(ctx context.Context, cfg Config) (Engine, error) {
	switch at := cfg.Location; at.Kind {
	case store.Memory:
		return memory.New(memory.Config{Calls: cfg.Calls}), nil
	case store.SQLite:
		engine, err := sqlite.Open(ctx, sqlite.Config{Path: at.Path, ReadOnly: cfg.ReadOnly, Calls: cfg.Calls})
		if err != nil { // not a nil pointer in an interface
			return nil, err
		}
		return engine, nil
	case store.Redis:
		return redis.New(redis.Config{Location: at, Prefix: cfg.Prefix, Calls: cfg.Calls}), nil
	}
	return nil, fmt.Errorf("there is no store %q", cfg.Location.Kind)
}
