package task

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
	"sluice/internal/state/task/conversation"
	"sluice/internal/state/task/record"
)

// Store has the methods of a store that this package needs.
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

// longestWait is how long an approval waits for a person at most.
const longestWait = 30 * day

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
	// Lease is the silence after which other processes may claim the turns of a process.
	Lease time.Duration
	// MaxHistory is how many messages a task keeps.
	MaxHistory int
	// Required refuses turns while the store is unavailable; else they run, and cannot be resumed.
	Required bool
	// Trace configures the content of a task's trace; see SetTraces.
	Trace record.Spec
	// Retention says for how long records are kept behind the end of a task; see SetRetention.
	// Forget removes the other records of a task.
	Retention Retention
	Forget    []Forget
	// Lost appends a turn that no process ends to its conversation; nil: nothing does.
	Lost func(context.Context, conversation.Lost) error
	// Turns runs the rest of turns whose processes are gone; nil: those turns are lost.
	Turns Turns
	// Runs are continued when their process has died. nil: without runs.
	Runs    Runs
	Metrics *metrics.Registry
	Log     zerolog.Logger
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

// sweepEvery is how often the keeper looks for the turns of the dead: more often while
// a client reads a log here, and would wait for them.
const sweepEvery, sweepForReaders = 5 * time.Second, time.Second
