// This file opens the store and the parts on it: tasks, runs, the memory of conversations. Without
// a store these are nil, and the methods here work on nil, so that the wiring is the same.

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/handlers"
	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store"
	"sluice/internal/state/store/engines"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// storedState is the store, and the parts that store turns in it. It is nil without a store.
//
// Its methods work on nil where their comments say so.
type storedState struct {
	store store.Store
	tasks *task.Service
	runs  *records.Runs
	// memory remembers conversations; nil: nothing does.
	memory *conversation.Memory
	// journal keeps conversations, with memory as a view of them; nil: nothing does.
	journal *conversation.Journal
	// turns continues turns of other processes; it is nil if nothing does.
	turns *lateTurns
	parts []health.Checker
	owned bool // the store is closed with the gateway
	// stop ends the look at the store's configuration; it may be nil.
	stop func()
}

// lateTurns implements task.Turns after setTurns: turns of other processes can continue when the
// gateway and its tools are there. The store is opened earlier.
type lateTurns struct{ turns atomic.Pointer[task.Turns] }

func (l *lateTurns) setTurns(turns task.Turns) { l.turns.Store(&turns) }

// Continue implements task.Turns.
func (l *lateTurns) Continue(req *chat.Request, states map[string][][]byte, before []stream.Event) (*stream.Frame, error) {
	turns := l.turns.Load()
	if turns == nil {
		return nil, task.ErrNotHere
	}
	return (*turns).Continue(req, states, before)
}

// ContinuesText implements task.Turns.
func (l *lateTurns) ContinuesText(req *chat.Request, agent string) bool {
	turns := l.turns.Load()
	return turns != nil && (*turns).ContinuesText(req, agent)
}

// storeBytes returns how many bytes of the process's memory the store has. It is 0 without a store,
// and if the store is elsewhere. It works on nil.
func (s *storedState) storeBytes() uint64 {
	if s == nil {
		return 0
	}
	if m, ok := s.store.(interface{ Size() int }); ok { // the engine in memory
		return uint64(max(0, m.Size()))
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

// openState opens the store. The store of seams, if not nil, is used in place of the configured one.
//
// nil without an error: no store is configured. A store that cannot be reached now is not an error
// either, unless it is a file. Turns then run without being stored, or are refused if the store is
// required.
func openState(ctx context.Context, cfg settings.Config, log zerolog.Logger, m *metrics.Registry, seams Seams) (*storedState, error) {
	given := seams.Store
	s := &storedState{store: given}
	if given == nil {
		if in := settings.Of[store.Config](&cfg); !in.On() {
			return nil, nil
		}
		if err := s.openEngine(ctx, cfg, log, m); err != nil {
			return nil, err
		}
	}
	s.runs = records.NewRuns(records.RunsConfig{Store: s.store, Wait: settings.Of[approval.Config](&cfg).TTL, TTL: cfg.Tasks.TTL, Metrics: m})
	own := task.Config{
		Store: s.store, Runs: s.runs, Required: settings.Of[store.Config](&cfg).Required, Metrics: m, Log: log,
		TTL: cfg.Tasks.TTL, EventTTL: cfg.Tasks.EventTTL, Lease: cfg.Tasks.Lease, MaxHistory: cfg.Tasks.MaxHistory,
		Trace: cfg.Traces(), Retention: cfg.Retention, Forget: []task.Forget{records.Of(s.store).Forget},
	}
	if cfg.Memory.Enabled {
		s.memory = conversation.New(conversation.Config{Store: s.store, Location: settings.Of[agent.Config](&cfg).Location, Spec: cfg.Memory})
	}
	if cfg.Conversations.Enabled {
		s.journal = conversation.NewJournal(conversation.JournalConfig{
			Store: s.store, Memory: s.memory, OmitCalls: cfg.Memory.OmitCalls, JournalSpec: cfg.Conversations,
			Later: func(check func(context.Context) error) { s.tasks.CheckLater(check) },
		})
		own.Lost = s.journal.AppendLost
	}
	if s.isPersistent() && (cfg.Tasks.TakeOver == nil || *cfg.Tasks.TakeOver) {
		s.turns = new(lateTurns)
		own.Turns = s.turns
	}
	s.tasks = task.New(own)
	return s, nil
}

// isPersistent says whether the store outlives the process.
func (s *storedState) isPersistent() bool {
	_, inMemory := s.store.(interface{ Size() int })
	return !inMemory
}

// hasTakeover says whether turns go on in other processes. It works on nil.
func (s *storedState) hasTakeover() bool { return s != nil && s.turns != nil }

// withMemory puts the memory of conversations around a runner, or their journal, if there is one.
// before are the events of its turn that another process has emitted. It works on nil.
func (s *storedState) withMemory(r stream.Runner, before []stream.Event) stream.Runner {
	switch {
	case s == nil:
		return r
	case s.journal != nil:
		return s.journal.Around(r, before...)
	case s.memory != nil:
		return s.memory.Around(r, before...)
	}
	return r
}

// conversations returns the journal of conversations; nil: none is kept. It works on nil.
func (s *storedState) conversations() *conversation.Journal {
	if s == nil {
		return nil
	}
	return s.journal
}

// forgetters returns the functions that forget a conversation, besides its tasks. With a journal
// the memory's own list and ChatKit's own thread go too: they may be of a time before it.
func (s *storedState) forgetters() (all []handlers.Forget) {
	if s == nil {
		return nil
	}
	if s.journal != nil {
		all = append(all, s.forgetJournal, func(ctx context.Context, tenant, owner, id string) error {
			return s.store.DeleteList(ctx, store.MemoryKey(tenant, owner, id))
		}, s.forgetThread)
	} else if s.memory != nil {
		all = append(all, s.memory.Forget)
	}
	return all
}

// forgetJournal removes the record and the turns of a conversation.
func (s *storedState) forgetJournal(ctx context.Context, tenant, owner, id string) error {
	turns, found, err := s.journal.Forget(ctx, tenant, owner, id)
	if err == nil && found {
		zerolog.Ctx(ctx).Info().Str("conversation_id", id).Dict("details", zerolog.Dict().Int("turns", turns)).Msg("conversation_deleted")
	}
	return err
}

// forgetConversation removes all data of a caller's conversation, as DELETE /conversations/{id}
// does.
func (s *storedState) forgetConversation(ctx context.Context, c task.Caller, id string) error {
	if err := s.tasks.Forget(ctx, c, id); err != nil {
		return err
	}
	for _, forget := range s.forgetters() {
		if err := forget(ctx, c.Principal.Tenant, c.Owner(), id); err != nil {
			return fault.NewStoreUnavailable(err)
		}
	}
	return s.tasks.Erase(ctx)
}

// recoveryWithin returns how long the breaker of the store stays open: a third of a lease at most. A
// gateway whose breaker outlasts its lease is taken for dead once the store answers again, and
// another one runs the tasks of turns that ran without being stored.
func recoveryWithin(lease time.Duration) time.Duration {
	return min(storeRecovery, cmp.Or(lease, task.DefaultLease)/3)
}

// openEngine opens the configured engine.
//
// Every engine but the one in memory is behind a breaker, so that a turn does not wait for a broken
// store.
func (s *storedState) openEngine(ctx context.Context, cfg settings.Config, log zerolog.Logger, m *metrics.Registry) error {
	s.owned = true
	in := settings.Of[store.Config](&cfg)
	calls := store.CallsConfig{Metrics: m, Log: log}
	var guard *breaker.Breaker
	if in.At.Kind != store.Memory {
		guard = breaker.Of(storeService, breaker.Config{Failures: storeFailures, Recovery: recoveryWithin(cfg.Tasks.Lease), HalfOpenCalls: storeProbes}, nil, log)
		calls.Allow = breakerGuard(guard)
	}
	engine, err := engines.Open(ctx, engines.Config{Location: in.At, Prefix: in.Prefix, Calls: store.NewCalls(calls)})
	if errors.Is(err, store.ErrOwned) {
		return &config.Error{Faults: []config.Fault{{Name: "SLUICE_STORE", Message: "another process runs turns with this file: end it, name another file, or have both use one Redis"}}}
	}
	if err != nil {
		return fmt.Errorf("SLUICE_STORE: %w", err)
	}
	s.store, s.parts = engine, []health.Checker{engine}
	if guard != nil {
		s.parts = append(s.parts, guard)
	}
	if engine, ok := engine.(inspector); ok {
		s.inspectEngine(ctx, engine, log)
	}
	return nil
}

// inspector is a store whose own configuration may make it forget.
type inspector interface {
	Inspect(context.Context) (warnings []string, err error)
}

// inspectAgain is how long after a failed try the store is asked once more how it is
// configured.
const inspectAgain = 5 * time.Second

// inspectEngine logs by which settings the store may lose confirmed writes. If the store is
// unavailable now, it does so later.
func (s *storedState) inspectEngine(ctx context.Context, engine inspector, log zerolog.Logger) {
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
	// Goroutine (look again): asks a Redis that did not answer at the start how it is configured,
	// every five seconds.
	// Ends: it has answered, or `Close`.
	// Waits: `Close`.
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

// breakerGuard makes a breaker the guard of commands.
//
// The store's own verdict on a command decides the outcome for the breaker.
func breakerGuard(b *breaker.Breaker) func(context.Context) (func(store.Verdict, error), error) {
	return func(ctx context.Context) (func(store.Verdict, error), error) {
		done, err := b.Allow(ctx)
		if err != nil {
			return nil, err
		}
		return func(v store.Verdict, err error) {
			switch v {
			case store.Ill:
				done(breaker.Failure, err)
			case store.Unsaid:
				done(breaker.Neutral, nil)
			case store.Well:
				done(breaker.Success, nil)
			}
		}, nil
	}
}

// taskService returns the service of stored turns, or nil without a store.
func (s *storedState) taskService() *task.Service {
	if s == nil {
		return nil
	}
	return s.tasks
}

// recordsOf returns the reader of the records of tasks, or nil without a store. It works on nil.
func (s *storedState) recordsOf() handlers.Records {
	if s == nil {
		return nil
	}
	return records.Records{Runs: s.runs.RunStore, Sessions: s.runs.Sessions}
}

// healthParts are the parts that readiness looks at. It works on nil: without a store the list is
// empty.
func (s *storedState) healthParts() []health.Checker {
	if s == nil {
		return nil
	}
	return s.parts
}

// close stops storing turns, and closes the store unless it was a test's. It works on nil.
func (s *storedState) close() {
	if s == nil {
		return
	}
	s.runs.Close()
	s.tasks.Close()
	if s.stop != nil {
		s.stop()
	}
	if s.owned {
		_ = s.store.Close()
	}
}

// useFile takes over the policy of retention and the content of traces. It works on nil.
func (s *storedState) useFile(cfg settings.Config) {
	if s != nil {
		s.tasks.SetRetention(cfg.Retention)
		s.tasks.SetTraces(cfg.Traces())
	}
}
