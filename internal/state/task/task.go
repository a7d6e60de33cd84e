// Package task keeps turns beyond the connection, and beyond the process, that they began
// on: a turn is a task with a document and has a log of its events, both in a store.
//
//	Stamper ── Turn ── the client's Output
//	            └───── the log
//
// A Turn writes, then delivers: no client sees an event that the log does not have. So
// a reader of the log, on any gateway, gets what the first client got.
//
// A process holds a lease under its name and an epoch. Each write of a turn's
// log and of its task says which lease it stands on, so that a process that was
// cut off and comes back cannot write into what another one has taken over. The
// sweeper finds tasks whose lease is over, and ends them with an event that
// says so; or, where no call ran that must not run twice, another process may
// run them again.
//
// A document is changed by its version: who loses a race reads again. A log is
// appended to at a number: two writers cannot both succeed.
//
// A Service is safe for concurrent use. One goroutine renews its lease and
// sweeps; it ends with Close, which waits for it.
package task

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
)

// Store is what this package needs of a store.
type Store interface {
	store.Tasks
	store.Logs
	store.Leases
	store.Values
	store.Lists
	store.Indexes
	store.Signals
}

// Defaults of Config.
const (
	DefaultTTL        = 24 * time.Hour
	DefaultEventTTL   = time.Hour
	DefaultLease      = 15 * time.Second
	DefaultMaxHistory = 50
)

// keyMemory is how long an idempotency key is remembered after its turn has ended, and
// longestTurn how long a turn may take at most.
const (
	keyMemory   = 10 * time.Minute
	longestTurn = 15 * time.Minute
)

// lookEvery is how often something is looked at whose signal may be lost: a cancel, a log.
const lookEvery = 500 * time.Millisecond

// Config describes a Service. Store is required; everything else may be zero.
type Config struct {
	// Store is where all of it is kept. It is required, and the caller closes
	// it.
	Store Store
	// TTL is how long a task is kept after it was written last; EventTTL the same of the
	// log of a turn.
	TTL, EventTTL time.Duration
	// Lease is after what silence the turns of a process are given up.
	Lease time.Duration
	// MaxHistory is how many messages a task keeps.
	MaxHistory int
	// Required refuses turns while the store is unavailable; else they run, and nobody
	// can resume them.
	Required bool
	// Trace says what the trace of a task holds.
	Trace record.Spec
	// Retention says for how long records are kept behind the end of a task; see
	// SetRetention. Forget removes what else is kept of a task.
	Retention Retention
	Forget    []Forget
	// Turns runs the rest of turns whose processes are gone; nil: those turns are lost.
	Turns Turns
	// Runs are continued when their process has died. nil: there are none.
	Runs    Runs
	Metrics *metrics.Registry
	Log     zerolog.Logger
}

// Service keeps the turns of one process. It is safe for concurrent use. Use New.
type Service struct {
	cfg    Config
	holder store.Holder
	leased atomic.Bool // the lease was renewed when it was tried last

	ctx        context.Context // ends with Close
	close      context.CancelFunc
	ended      chan struct{} // closed when the keeper has returned
	ready      chan struct{} // see Ready
	continuing int           // how many runs were continued; the keeper's alone
	// stuckOrphans and stuckDue are how many tasks the last sweeps could not continue: the next ones
	// ask for as many more, so that these hide no others. They are the keeper's alone.
	stuckOrphans, stuckDue int

	buffers buffers       // of turns
	listing chan struct{} // one for each list that is made

	register

	policy   atomic.Pointer[Retention]
	retained retention // of the keeper alone

	counts     counts
	handedOver atomic.Int64 // turns that were left to other processes
	places     atomic.Pointer[func(func(error)) (func(), error)]
	detached   atomic.Int64
	// readers are those who follow a log that may belong to another process.
	readers atomic.Int64
	// failed is when the store was unavailable last, by a clock that is never set; nil: never.
	failed atomic.Pointer[time.Time]
}

// newID returns an id of 128 random bits.
func newID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	var text [32]byte
	return string(idText.AppendEncode(append(text[:0], prefix...), b[:]))
}

// idText writes 26 of [0-9a-v] for 16 bytes.
var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// register are the turns of this process that its store has no end of. A turn is in running
// from its begin to its End, and in one of the other lists after that, if at all.
type register struct {
	mu        sync.Mutex       // guards the fields below
	running   map[string]*Turn // by task
	unsettled []*Turn          // are over, and the store does not know it yet
	leftRuns  []string         // tasks whose runs this process left, to continue with later
	// unconfirmed are writes whose outcome is not known.
	unconfirmed []*unconfirmed
	renewed     time.Time      // when the lease was renewed last
	closed      bool           // no run is continued any more
	unattended  sync.WaitGroup // runs without a client
}

// counts are the metrics of a Service.
type counts struct {
	states, resumes, lost metrics.Counter
	deleted               metrics.Counter // tasks whose time was over
	claims                metrics.Counter
}

// note remembers that the store is unavailable.
func (s *Service) note(err error) error {
	if errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrCrowded) {
		now := time.Now()
		s.failed.Store(&now)
	}
	return err
}

// changed reports a task's new state.
func (s *Service) changed(ctx context.Context, task, before, state string) {
	if state != Working {
		s.counts.states.Inc(state)
	}
	zerolog.Ctx(ctx).Info().Dict("details", zerolog.Dict().
		Str("task_id", task).Str("old_state", before).Str("new_state", state)).Msg("task_state_changed")
}

// uncertain says that processes may live whose lease is over: the store was unavailable so
// shortly ago that they could not renew it.
func (s *Service) uncertain() bool {
	failed := s.failed.Load()
	return failed != nil && time.Since(*failed) < s.cfg.Lease || !s.leased.Load()
}

// keepWaiting returns how long a task is kept that waits for a person again. The task of a run does
// not expire.
func (s *Service) keepWaiting(t *Turn) time.Duration {
	if t.durable {
		return 0
	}
	return s.cfg.TTL + longestWait
}

// working is how long the task of a turn that runs is kept. That of a run does not expire.
func (s *Service) working(t *Turn) time.Duration {
	if t.durable {
		return 0
	}
	return s.cfg.TTL
}
