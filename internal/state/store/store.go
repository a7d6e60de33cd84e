// Package store defines the storage of state: of all data that outlives a turn, a process or a
// machine. An engine (internal/state/store/memory, internal/state/store/sqlite,
// internal/state/store/redis) implements all methods of Store. Each user of state declares the few
// methods that it needs.
//
// The methods come in groups, by shape and not by their users: tasks, logs of events, leases,
// values with a version, bounded lists, indexes by a score, counters, rates, signals. One suite
// (internal/state/store/storetest) defines the meaning of each, on every engine.
//
// A key belongs to one group: a value's key is not a list's (keys.go has their names).
//
// Every method returns within a time limit of the engine's, whatever ctx allows, and its
// error wraps one of those below. After ErrUnavailable a change may have happened all
// the same: each method says how a second try finds out. A TTL of 0 means that the
// record does not expire.
//
// Bytes that were passed to a method or came from one must not be changed: an engine may keep them.
// An Entry's Data alone belongs to the caller again when AppendLog has returned.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors of engines, to be tested for with errors.Is. Their texts, and those of what
// wraps them, are for the operator; they hold no secret.
var (
	// ErrNotFound: the record does not exist, or it has expired or was removed.
	ErrNotFound = errors.New("not in the store")
	// ErrConflict: the record is not as the caller believes. Nothing was changed.
	ErrConflict = errors.New("changed in the store meanwhile")
	// ErrTooLarge: a log would have become longer than its bound. It is gone.
	ErrTooLarge = errors.New("log too large, removed")
	// ErrFull: the store is full. Nothing was changed.
	ErrFull = errors.New("store full")
	// ErrUnavailable: the store did not answer, did not answer in time, or does not take
	// changes now.
	ErrUnavailable = errors.New("store unavailable")
	// ErrNotSent: the command was not sent, so nothing was changed. It comes with ErrUnavailable.
	ErrNotSent = errors.New("command not sent")
	// ErrCrowded: no connection of this process was free in time. It says nothing of the store and
	// comes with ErrNotSent.
	ErrCrowded error = crowded{}
	// ErrReadOnly: the store answers, but refuses changes now. It comes with ErrUnavailable.
	ErrReadOnly = errors.New("store takes no changes")
	// ErrDamaged: the record is of another form; somebody else wrote it.
	ErrDamaged = errors.New("record in the store cannot be read")
	// ErrCursor: the cursor did not come with a page.
	ErrCursor = errors.New("no cursor")
	// ErrOwned: another process runs turns with this file.
	ErrOwned = errors.New("another process owns the store")
)

// crowded is the type of ErrCrowded.
type crowded struct{}

// Error returns a text for the operator.
func (crowded) Error() string { return "all connections are in use" }

// Shortage returns true: the gateway is overloaded, and the store may be well.
func (crowded) Shortage() bool { return true }

// Bounds.
const (
	// MaxLog bounds the content of a log, in bytes of its entries.
	MaxLog = 8 << 20
	// MaxPage bounds the tasks of a page. A page also ends with the task that brings its
	// documents to MaxPageBytes.
	MaxPage      = 100
	MaxPageBytes = 1 << 20
)

// Store is all that an engine does. It is safe for concurrent use.
type Store interface {
	Tasks
	Logs
	Leases
	Values
	Lists
	Indexes
	Counters
	Rates
	Signals
	// Close lets go of the store. Calls that come later fail, or do nothing.
	Close() error
}

// Logs keep the events of turns.
type Logs interface {
	// AppendLog adds an entry to a turn's log if the log ends where the caller believes, and makes
	// the log if it is the first entry. It signals LogTopic. If an entry's N is At, nothing is
	// appended: only Side changes, under the same conditions.
	//
	// Else the error is an *EndError, which wraps ErrConflict; ErrNotFound if a log that
	// ought to be there is not; ErrTooLarge if this entry would pass MaxLog, and then the
	// log is removed. After ErrUnavailable the entry is in the log if a second try gets
	// an EndError whose End is the entry's N.
	AppendLog(ctx context.Context, turn string, a Append) error
	// ReadLog returns the entries whose N is above after, in order and at most limit of them. The list is empty after the last one. The error is ErrNotFound if the log does not exist.
	ReadLog(ctx context.Context, turn string, after, limit int) ([]Entry, error)
	// LogLeft returns how long a log is kept from now on, by the store's clock; 0: without end.
	// ErrNotFound: the log does not exist.
	LogLeft(ctx context.Context, turn string) (time.Duration, error)
	// DropLog removes a log, if it is there, and signals LogTopic.
	DropLog(ctx context.Context, turn string) error
}

// Entry is the content of one append to a log: some events of a turn.
type Entry struct {
	N    int // of the last event in Data
	Data []byte
}

// Append describes an addition to a log.
type Append struct {
	Entry
	// At is the N of the entry that must be the last one. 0: the log must not exist.
	At int
	// TTL is how long the log is kept from now on.
	TTL time.Duration
	// Task, if not empty, is the task that Holder must still hold, or the append is a
	// conflict.
	Task   string
	Holder Holder
	// Side changes in the same step, and is kept as long as the log.
	Side Side
}

// Side is a list that changes in the same step as a task or a log, or not at all. The zero
// value changes nothing.
type Side struct {
	Key  string // of the list; empty: none
	Drop bool   // removes it
	Item []byte // is added after that, as PushList does without bounds; nil: nothing is
}

// EndError says where a log ends, as it does not end where it ought to. It wraps ErrConflict.
type EndError struct{ End int }

// It says where the log ends. A writer continues from there or gives up.
func (e *EndError) Error() string { return fmt.Sprintf("the log ends at event %d", e.End) }

// Unwrap returns ErrConflict.
func (*EndError) Unwrap() error { return ErrConflict }

// Holder is a process that runs turns. Epoch distinguishes its life from earlier ones under the
// same name: a later one has a greater epoch, such as the time of its start.
type Holder struct {
	Owner string // without a colon; empty: nobody
	Epoch int64  // 0 to 2⁵³
}

// Leases say which processes live.
type Leases interface {
	// RenewLease takes or prolongs a lease. ErrConflict: a greater epoch has it.
	RenewLease(ctx context.Context, h Holder, ttl time.Duration) error
	// ReleaseLease gives a lease back, if h has it.
	ReleaseLease(ctx context.Context, h Holder) error
	// LeasesAlive says of each holder whether it has its lease.
	LeasesAlive(ctx context.Context, holders ...Holder) ([]bool, error)
}

// Value is a record with a version, which counts its changes: 1, 2, 3, …
type Value struct {
	Data    []byte
	Version int64
}

// Values are records that are read and replaced as a whole.
type Values interface {
	// Value returns a record.
	Value(ctx context.Context, key string) (Value, error)
	// PutValue replaces the record whose version is v.Version, and makes one if that is
	// 0. It returns the record as it is afterwards: v with its new version. With ErrConflict it
	// returns the existing record, or the zero Value.
	PutValue(ctx context.Context, key string, v Value, ttl time.Duration) (Value, error)
	// KeepValue changes how long a record is kept, from now on.
	KeepValue(ctx context.Context, key string, ttl time.Duration) error
	// DeleteValue removes a record, if it is there.
	DeleteValue(ctx context.Context, key string) error
}

// Pushed is an item to be added to a list without bounds.
type Pushed struct {
	Key  string
	Item []byte
}

// Together is an optional interface of engines for which one large write is much cheaper than
// several small ones.
type Together interface {
	// PushAndPut is PutValue and a PushList for each item, with the same ttl for all of
	// them. After an error, whose meaning is that of PutValue, nothing was written.
	PushAndPut(ctx context.Context, items []Pushed, key string, v Value, ttl time.Duration) (Value, error)
}

// End is how a turn ends: with the rest of its log, the last state of its task, and its trace.
type End struct {
	Turn, TaskID string
	Log          Append // its Side is not looked at
	Task         Task
	TTL          time.Duration // of task and trace
	Trace        []byte        // is added to the list TraceKey(TaskID)
	Bounds       Bounds        // of that list; its Task is not looked at
}

// Ender is an optional interface of engines for which one large write is much cheaper than several
// small ones.
type Ender interface {
	// EndTurn is AppendLog, UpdateTask and PushList in one step. After an error, which is one of
	// theirs, the store is unchanged. But ErrTooLarge has removed the log, and after ErrUnavailable
	// all may have been written: then the task has the new document.
	EndTurn(ctx context.Context, e End) error
}

// Eraser is an optional interface of engines whose files still hold removed data.
type Eraser interface {
	// Erase removes deleted data from all files. A process that reads the store at this moment may
	// delay it by a minute or so.
	Erase(ctx context.Context) error
}

// Bounds limit a list, and bind it to a task. 0 means no bound.
type Bounds struct {
	Items, Bytes int
	// Task is the id of a task that must be there; empty: none. Thus a task can be removed first
	// and its list next, and a later push to the list fails.
	Task string
}

// Lists keep items in order of arrival.
type Lists interface {
	// PushList adds an item, and then removes the oldest ones until the list keeps its
	// bounds; the one just added stays in any case. A second try may add it twice.
	// ErrNotFound: the task that must be there is not.
	PushList(ctx context.Context, key string, item []byte, b Bounds, ttl time.Duration) error
	// KeepList changes how long a list is kept, from now on, if it is there.
	KeepList(ctx context.Context, key string, ttl time.Duration) error
	// List returns up to limit items from the one with index from on, all if limit is 0. The result
	// is empty without a list.
	List(ctx context.Context, key string, from, limit int) ([][]byte, error)
	// CutList keeps the first length items.
	CutList(ctx context.Context, key string, length int) error
	// DeleteList removes a list, if it is there.
	DeleteList(ctx context.Context, key string) error
}

// Member is one entry of an index.
type Member struct {
	ID    string
	Score int64 // within ±2⁵³
}

// Range asks for members of an index. Its order is by score, then by id.
type Range struct {
	Min, Max   int64
	Descending bool
	After      *Member // the last one of the page before; nil: this is the first page
	Limit      int     // at least 1
}

// Indexes keep sets of ids in the order of their scores, such as times.
type Indexes interface {
	// PutIndex adds a member or changes its score. The index is kept for at least ttl.
	PutIndex(ctx context.Context, name string, m Member, ttl time.Duration) error
	// RemoveIndex removes a member, if it is there.
	RemoveIndex(ctx context.Context, name, id string) error
	// Index returns members.
	Index(ctx context.Context, name string, r Range) ([]Member, error)
	// CountIndex returns how many members an index has.
	CountIndex(ctx context.Context, name string) (int64, error)
}

// Counters count.
type Counters interface {
	// AddCounter adds delta and returns the sum. A second try may count twice.
	AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error)
	// Counter returns the sum, 0 without a counter.
	Counter(ctx context.Context, key string) (int64, error)
}

// Signals wake waiting goroutines, in every process. They carry nothing, may be lost, and may come
// without a reason: a process that is woken looks, and looks now and then unasked.
type Signals interface {
	// Signal wakes all watches of a topic.
	Signal(ctx context.Context, topic string) error
	// Watch begins to watch a topic. Signals that are sent after the first receive from Watch.C,
	// which comes without a signal, are not missed while the store is available. The caller calls
	// Stop.
	Watch(topic string) *Watch
}
