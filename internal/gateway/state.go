// This file opens the store and what stands on it: tasks, runs, the memory of
// conversations. Without a store all of that is nil, and the methods here work on nil, so
// that the wiring has no branch for it.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/config"
	"sluice/conversation"
	"sluice/handlers"
	"sluice/health"
	"sluice/metrics"
	"sluice/store"
	"sluice/store/memory"
	"sluice/store/redis"
	"sluice/store/sqlite"
	"sluice/stream"
	"sluice/task"
)

// state is the store, and what keeps turns in it. nil: there is none.
//
// Its methods work on nil where their comments say so.
type state struct {
	store store.Store
	tasks *task.Service
	runs  *runs
	// memory remembers conversations; nil: nothing does.
	memory *conversation.Memory
	parts  []health.Checker
	owned  bool // the store is closed with the gateway
	// stop ends what looks at the store's configuration; nil: nothing does.
	stop func()
}

// Kept returns how many bytes of the process's memory are the store; 0 if that is elsewhere,
// or there is none.
func (g *Gateway) Kept() uint64 {
	if g.state == nil {
		return 0
	}
	if s, ok := g.state.store.(*memory.Store); ok {
		return uint64(max(0, s.Size()))
	}
	return 0
}

// Breaker of the store.
const (
	storeService  = "store"
	storeFailures = 5
	storeRecovery = 5 * time.Second
	storeProbes   = 3
)

// openState opens the store. That of with, if not nil, is used in place of the configured one.
//
// nil without an error: no store is configured. A store that cannot be reached now is no
// error either, unless it is a file: turns go on without being kept, or are refused if the
// store is required.
func openState(ctx context.Context, cfg Config, log zerolog.Logger, m *metrics.Registry, with Seams) (*state, error) {
	given := with.Store
	s := &state{store: given}
	if given == nil {
		at, err := store.ParseLocation(cfg.Store.Reveal())
		if err != nil || at.Kind == store.None {
			return nil, err
		}
		if err := s.open(ctx, at, cfg.StorePrefix, log, m); err != nil {
			return nil, err
		}
	}
	s.runs = newRuns(s.store, cfg, m)
	s.tasks = task.New(task.Config{
		Store: s.store, Runs: s.runs, Required: cfg.StoreRequired, Metrics: m, Log: log,
		TTL: cfg.Tasks.TTL, EventTTL: cfg.Tasks.EventTTL, Lease: cfg.Tasks.Lease, MaxHistory: cfg.Tasks.MaxHistory,
		Trace: cfg.Trace, Retention: cfg.Retention, Forget: forgets(s.store),
	})
	if cfg.Memory.Enabled {
		s.memory = conversation.New(conversation.Config{Store: s.store, Spec: cfg.Memory})
	}
	return s, nil
}

// remembering puts the memory of conversations around a runner, if there is one.
func (s *state) remembering(r stream.Runner) stream.Runner {
	if s == nil || s.memory == nil {
		return r
	}
	return s.memory.Around(r)
}

// forgetters returns what forgets a conversation, beside its tasks.
func (s *state) forgetters() (all []handlers.Forget) {
	if s != nil && s.memory != nil {
		all = append(all, s.memory.Forget)
	}
	return all
}

// open opens an engine.
//
// Every engine but the one in memory is behind a breaker, so that a store which is down
// costs a turn no waits.
func (s *state) open(ctx context.Context, at store.Location, prefix string, log zerolog.Logger, m *metrics.Registry) (err error) {
	s.owned = true
	if at.Kind == store.Memory {
		s.store, s.parts = memory.New(memory.Config{}), []health.Checker{inMemory{}}
		return nil
	}
	guard := newBreaker(storeService, config.Breaker{Failures: storeFailures, Recovery: storeRecovery, HalfOpenCalls: storeProbes}, log)
	calls := store.NewCalls(store.CallsConfig{Allow: allow(guard), Metrics: m, Log: log})
	if at.Kind == store.SQLite {
		engine, err := sqlite.Open(ctx, sqlite.Config{Path: at.Path, Calls: calls})
		if errors.Is(err, store.ErrOwned) {
			return &config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: "another process runs turns with this file"}}}
		}
		if err != nil {
			return fmt.Errorf("SLUICE_STORE: %w", err)
		}
		s.store, s.parts = engine, []health.Checker{engine, guard}
		return nil
	}
	engine := redis.New(redis.Config{Location: at, Prefix: prefix, Calls: calls})
	s.store, s.parts = engine, []health.Checker{engine, guard}
	s.inspect(ctx, engine, log)
	return nil
}

// inspectAgain is how long after a failed try the store is asked once more how it is
// configured.
const inspectAgain = 5 * time.Second

// inspect tells in what the store may forget what it has confirmed: at once, or if it is
// unavailable, when it is there.
func (s *state) inspect(ctx context.Context, engine *redis.Store, log zerolog.Logger) {
	look := func(ctx context.Context) error {
		warnings, err := engine.Inspect(ctx)
		if len(warnings) > 0 {
			log.Warn().Dict("details", zerolog.Dict().Strs("warnings", warnings)).Msg("store_warning")
		}
		return err
	}
	if look(ctx) == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var looking sync.WaitGroup
	looking.Go(func() {
		for again := time.NewTicker(inspectAgain); ; {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				if look(ctx) == nil {
					return
				}
			}
		}
	})
	s.stop = func() {
		cancel()
		looking.Wait()
	}
}

// allow makes a breaker the guard of commands.
//
// A command that ended because its caller did says nothing about the store, and an answer
// such as "not found" is a success.
func allow(b *breaker.Breaker) func(context.Context) (func(error), error) {
	return func(ctx context.Context) (func(error), error) {
		done, err := b.Allow(ctx)
		if err != nil {
			return nil, err
		}
		return func(err error) {
			switch {
			case errors.Is(err, store.ErrUnavailable):
				done(breaker.Failure, err)
			case ctx.Err() != nil:
				done(breaker.Neutral, nil)
			default:
				done(breaker.Success, nil)
			}
		}, nil
	}
}

// keeper returns what keeps turns; nil if there is no store.
func (s *state) keeper() *task.Service {
	if s == nil {
		return nil
	}
	return s.tasks
}

// checkers are the parts that readiness looks at. It works on nil: without a
// store there are none.
func (s *state) checkers() []health.Checker {
	if s == nil {
		return nil
	}
	return s.parts
}

// close stops keeping turns, and closes the store unless it was a test's. It
// works on nil.
func (s *state) close() {
	if s == nil {
		return
	}
	s.runs.close()
	s.tasks.Close()
	if s.stop != nil {
		s.stop()
	}
	if s.owned {
		_ = s.store.Close()
	}
}

// inMemory reports the engine in memory, which is always there.
type inMemory struct{}

// Check reports a store that cannot become unavailable.
func (inMemory) Check() health.Status {
	return health.Store{Kind: string(store.Memory), State: health.Available, Warnings: []string{}}
}

// retain makes r the policy of retention. It works on nil.
func (s *state) retain(r task.Retention) {
	if s != nil {
		s.tasks.SetRetention(r)
	}
}
