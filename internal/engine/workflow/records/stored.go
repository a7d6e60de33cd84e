// This file stores runs for several gateways, so that one of them can continue when another has
// stopped. It implements engine.Records over store.Values, store.Lists and store.Indexes, and does
// not know the work of nodes.
//
// The rule that all of it follows: the lists are written first and the record last, and only the
// record makes them count. A crash between the two leaves items that are never read. A process that
// lost the run fails at the record's version, and has changed nothing that counts. A lease does not
// exist: the claim of another process ends ours.

package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// A run in a store has one record and two lists that grow: of checkpoints and of messages. The
// record is replaced as a whole, and its version guards every write. An item of a list counts on
// two conditions: the record counts its number, and the life that wrote it owned this number. An
// item of a process that is not the owner any more stays in the list and is never read.

// ErrVersion is wrapped by the error of a record that a later version of the program wrote.
var ErrVersion = run.ErrVersion

// maxClaims is how often a run is taken over without a new checkpoint.
const maxClaims = 5

// maxKept is how many bytes of a call's result are kept.
const maxKept = 32 << 10

// RunStore stores the runs of all gateways. It is safe for concurrent use.
//
// The maps are caches. defs and put grow with the number of definitions that a process has seen,
// that is, with the versions of the configuration.
type RunStore struct {
	cfg     RunStoreConfig
	mu      sync.Mutex                 // guards the fields below
	defs    map[string]*graph.Workflow // by SHA-256
	put     map[string]time.Time       // when each was put into the store last
	settled map[string]results         // by task

	seconds metrics.Histogram
	bytes   metrics.Counter
	claims  metrics.Counter
}

// RunStoreConfig describes a RunStore. Store is required.
type RunStoreConfig struct {
	Store interface {
		store.Values
		store.Lists
		store.Indexes
	}
	// TTL is how long the records of a run are kept after its end; 0: for ever.
	TTL time.Duration
	// Wait is how long a person may take over a question that says nothing of that.
	Wait    time.Duration
	Metrics *metrics.Registry
	// Room refuses a run that is about to wait for a person, if too many of its user's do.
	// nil: there is room.
	Room func(context.Context, *chat.Request) error
}

// NewRunStore returns a RunStore.
func NewRunStore(cfg RunStoreConfig) *RunStore {
	return &RunStore{
		cfg: cfg, defs: map[string]*graph.Workflow{}, put: map[string]time.Time{}, settled: map[string]results{},
		seconds: cfg.Metrics.Histogram("checkpoint_seconds", "Writes of checkpoints.", "engine"),
		bytes:   cfg.Metrics.Counter("checkpoint_bytes_total", "Bytes of checkpoints and messages that were written."),
		claims:  cfg.Metrics.Counter("run_claims_total", "Runs that this process went on with.", "why"),
	}
}

// storedRun is the record of a run.
//
// Its JSON is stored. Every change of it raises the version of the store's value, and a
// write with an old version is refused.
type storedRun struct {
	Schema   int             `json:"schema"`
	Epoch    int64           `json:"epoch"`
	Claims   int             `json:"claims,omitempty"` // take-overs since the last checkpoint
	Header   engine.Header   `json:"header"`
	Progress engine.Progress `json:"progress"`
	// Checkpoints is how many count; Lives say which epoch wrote which.
	Checkpoints int                      `json:"checkpoints"`
	Lives       []life                   `json:"lives"`
	Intents     map[string]*storedIntent `json:"intents,omitempty"`
	Journal     map[string]*engine.Entry `json:"journal,omitempty"`
	Due         int64                    `json:"due,omitempty"` // in the index, Unix milliseconds
}

// life is one owner's: its checkpoints have numbers from From on.
//
// A claim adds one. Items carry the epoch of their writer, and owner says by these lists
// which of two items with one number counts.
type life struct {
	Epoch int64 `json:"epoch"`
	From  int   `json:"from"`
	// Claim is unique for each claim: a process must not take another one's claim at the same time
	// for its own earlier attempt.
	Claim string `json:"claim,omitempty"`
}

// storedIntent is a call that is, or was, about to be made. Tries counts how often it was
// let through; a result means that it need not be made again.
type storedIntent struct {
	Intent engine.Intent `json:"intent"`
	Tries  int           `json:"tries"`
	Result *tool.Result  `json:"result,omitempty"` // nil: it is not known
}

// storedCheckpoint is an item of a list of checkpoints, storedMessages one of messages.
type storedCheckpoint struct {
	Epoch int64 `json:"epoch"`
	engine.Checkpoint
	Ends []engine.Ended `json:"ends,omitempty"`
}

// Sequence is that of the checkpoint with these messages.
type storedMessages struct {
	Epoch    int64            `json:"epoch"`
	Sequence int              `json:"sequence"`
	Messages []engine.Message `json:"messages,omitempty"`
}

// ownerOf returns the epoch whose checkpoint of that number counts; 0: none.
func (r *storedRun) ownerOf(sequence int) (epoch int64) {
	if sequence < 0 || sequence >= r.Checkpoints {
		return 0
	}
	for _, l := range r.Lives {
		if l.From <= sequence {
			epoch = l.Epoch
		}
	}
	return epoch
}

// readAs is the record that a Run was read from.
//
// It is nil for a run that began in this process. Records claims the run on the basis of record and
// version: of two processes with the same version only one succeeds.
type readAs struct {
	record   storedRun
	version  int64
	orphaned bool   // the process that ran it is gone
	late     bool   // nobody has answered in time
	last     string // status of the last checkpoint
	before   int    // how many nodes had ended when the run's last turn began
}

// Orphaned implements engine.Origin.
func (at *readAs) Orphaned() bool { return at.orphaned }

// TimedOut implements engine.Origin.
func (at *readAs) TimedOut() { at.orphaned, at.late = false, true }

// TakeOver prepares a run that was read from the store, so that this process can continue it for a
// dead one. emitted are the events in the log of the run's turn; nil without a log. It returns the
// events that the log lacks.
//
// run must come from Load.
func (s *RunStore) TakeOver(run *engine.Run, emitted []stream.Event) []stream.Event {
	at := run.Origin.(*readAs)
	at.orphaned = true
	return run.TakeOver(func(node string) *engine.Entry { return at.record.Journal[node] }, emitted, at.before)
}

// Unseen reports whether the last turn of a run sent only its start: no node has begun since the
// run did, or since people were asked. The run must come from Load.
func (s *RunStore) Unseen(run *engine.Run) bool {
	at := run.Origin.(*readAs)
	return at.last == engine.CheckpointResumed || at.record.Checkpoints <= 1 || run.Progress.Status == engine.StatusWaiting
}

// readRecord returns the record of a run with its version. Its error wraps store.ErrNotFound,
// store.ErrDamaged, ErrVersion or store.ErrUnavailable. A record of an older schema is read
// as it is.
func (s *RunStore) readRecord(ctx context.Context, id string) (readAs, error) {
	v, err := s.cfg.Store.Value(ctx, store.RunKey(id))
	if err != nil {
		return readAs{}, err
	}
	at := readAs{version: v.Version}
	if err := json.Unmarshal(v.Data, &at.record); err != nil {
		return at, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if at.record.Schema > run.Version {
		return at, ErrVersion
	}
	return at, nil
}

// Load returns a run as it was saved last. Without a run the error wraps store.ErrNotFound. If the
// run cannot continue, it wraps engine.ErrRun or engine.ErrGone; otherwise store.ErrUnavailable.
//
// It claims nothing: another process may be running the run. The one that calls Records
// first has it.
func (s *RunStore) Load(ctx context.Context, id string) (*engine.Run, error) {
	at, err := s.readRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	run := &engine.Run{Header: at.record.Header, Progress: at.record.Progress, Origin: &at}
	list, ended, err := s.readCheckpoints(ctx, id, &at.record)
	run.Ended = ended
	for _, c := range list {
		if at.last = c.Status; c.Status == engine.CheckpointResumed {
			at.before = c.EndedCount
		}
	}
	if err == nil {
		run.Messages, err = s.readMessages(ctx, id, &at.record)
	}
	if err != nil {
		return nil, err
	}
	w, err := s.loadDefinition(ctx, run.Header.Definition)
	if err != nil {
		return nil, err
	}
	return run, run.Join(w)
}

// readCheckpoints returns the checkpoints that count, and the ends of the nodes.
//
// Items of processes that had lost the run, and second writes of one item, are passed over.
// Fewer than the record counts means that the store has lost some: engine.ErrRun.
func (s *RunStore) readCheckpoints(ctx context.Context, id string, r *storedRun) (list []engine.Checkpoint, ended []engine.Ended, err error) {
	items, err := s.cfg.Store.List(ctx, store.CheckpointsKey(id), 0, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range items {
		var c storedCheckpoint
		if err := json.Unmarshal(item, &c); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if c.Sequence == len(list) && c.Epoch == r.ownerOf(c.Sequence) {
			list, ended = append(list, c.Checkpoint), append(ended, c.Ends...)
		}
	}
	if len(list) != r.Checkpoints {
		return nil, nil, fmt.Errorf("%w: it has %d checkpoints, not %d", engine.ErrRun, len(list), r.Checkpoints)
	}
	return list, ended, nil
}

// readMessages returns the messages that count, in their order. An item that was pushed twice,
// because the answer to the first push was lost, counts once.
func (s *RunStore) readMessages(ctx context.Context, id string, r *storedRun) (list []engine.Message, err error) {
	items, err := s.cfg.Store.List(ctx, store.MessagesKey(id), 0, 0)
	last := -1
	for _, item := range items {
		var m storedMessages
		if err := json.Unmarshal(item, &m); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if m.Sequence > last && m.Epoch == r.ownerOf(m.Sequence) {
			list, last = append(list, m.Messages...), m.Sequence
		}
	}
	return list, err
}

// loadDefinition returns a definition by its SHA-256.
//
// Its error wraps engine.ErrGone if the store lacks the definition, or if this version of the
// program cannot compile it. A process compiles it once, outside of the lock: two callers may both
// do it, and that only wastes work.
func (s *RunStore) loadDefinition(ctx context.Context, sum string) (*graph.Workflow, error) {
	s.mu.Lock()
	w := s.defs[sum]
	s.mu.Unlock()
	if w != nil {
		return w, nil
	}
	v, err := s.cfg.Store.Value(ctx, store.DefinitionKey(sum))
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("definition %s: %w", sum, engine.ErrGone)
	}
	if err != nil {
		return nil, err
	}
	if w, err = graph.Read(v.Data, engine.Kinds()); err == nil && w.Sum() != sum {
		err = engine.ErrRun
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrGone, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs[sum] = w
	return w, nil
}

// Records makes the run this process's: it is engine.Config.Records. A run that was read is
// claimed, so that who owned it before writes nothing any more.
//
// Its error is a fault: store_unavailable, turn_lost if another process was faster, or
// workflow_recovery after maxClaims take-overs without a new checkpoint. Such a run most likely
// brings down each process that takes it.
func (s *RunStore) Records(ctx context.Context, state *engine.Run) (engine.Records, error) {
	k := &keeping{s: s, id: state.Header.ID}
	at, read := state.Origin.(*readAs)
	if !read {
		return k.beginRun(ctx, state)
	}
	k.record, k.version = at.record, at.version
	k.record.Intents, k.record.Journal = maps.Clone(k.record.Intents), maps.Clone(k.record.Journal)
	why := "decided"
	switch {
	case at.orphaned:
		why = "taken_over"
		k.pinned = pinned{state.Workflow(), time.Now()} // who began it may have died before it was sure
	case at.late:
		why = "wait_over"
	}
	err := k.changeRecord(ctx, func(r *storedRun) {
		r.Epoch++
		r.Lives = append(slices.Clone(r.Lives), life{r.Epoch, r.Checkpoints, engine.NewUUID()})
		if r.Schema, r.Claims = run.Version, 0; at.orphaned {
			r.Claims = at.record.Claims + 1
		}
		s.settledResults(k.id).mergeInto(r)
	})
	if err != nil {
		return nil, err
	}
	s.forgetSettled(k.id)
	s.claims.Inc(why)
	zerolog.Ctx(ctx).Info().Dict("details", zerolog.Dict().Str("task_id", k.id).Int64("epoch", k.record.Epoch).Str("why", why)).Msg("run_claimed")
	if k.record.Claims > maxClaims {
		return nil, &fault.Error{Type: fault.WorkflowRecovery, Message: "The workflow was taken over five times without getting any further, and was stopped"}
	}
	return k, nil
}

// beginRun returns the records of a run that begins.
func (k *keeping) beginRun(ctx context.Context, state *engine.Run) (engine.Records, error) {
	if err := k.pinDefinition(ctx, state.Workflow()); err != nil {
		return nil, storeFault(err)
	}
	k.record = storedRun{Schema: run.Version, Epoch: 1, Header: state.Header, Lives: []life{{Epoch: 1, Claim: engine.NewUUID()}}}
	return k, nil
}

// storeFault is the fault of a write that failed.
//
// The caller sees the message. It promises that the run continues, and that holds because all of
// the run is still stored.
func storeFault(err error) error {
	return &fault.Error{Type: fault.StoreUnavailable, Message: "The store is unavailable; the workflow goes on when it is back", Err: err}
}

// keeping is the Records of one run in one process. It is safe for concurrent use.
//
// One mutex covers a whole write, so writes of parallel nodes come one after the other, each with
// the version of the previous one. After the first failed write all others are refused: they would
// build on a state that the store may lack.
type keeping struct {
	s  *RunStore
	id string

	mu      sync.Mutex // guards the fields below
	record  storedRun
	version int64
	failed  error // of the first failed write: it was the last one
	pinned  pinned
}

// How often, and in what distance, a write is tried that found no store.
const (
	writeTries = 3
	writePause = 150 * time.Millisecond
)

// changeRecord replaces the record, if nobody else has.
//
// f changes the record in place; in maps and slices that older copies share it must replace the
// changed values. After an error the record in memory is not that of the store, and failed keeps
// everybody from using it.
func (k *keeping) changeRecord(ctx context.Context, f func(*storedRun)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changeLocked(ctx, f, 0)
}

// changeLocked is changeRecord for a caller that holds the lock. ttl is how long the record and the
// lists of items are stored; 0 means until they are removed.
//
// A conflict has three meanings: our own earlier try arrived (the bytes are equal), the
// record is gone (workflow_recovery), or another process has the run (turn_lost).
func (k *keeping) changeLocked(ctx context.Context, f func(*storedRun), ttl time.Duration, items ...store.Pushed) error {
	if k.failed != nil {
		return k.failed
	}
	put := k.s.cfg.Store.PutValue
	if at, ok := k.s.cfg.Store.(store.Together); ok {
		put = func(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
			return at.PushAndPut(ctx, items, key, v, ttl)
		}
	} else if err := k.pushItems(ctx, items, ttl); err != nil {
		return err
	}
	f(&k.record)
	data, err := json.Marshal(&k.record)
	if err != nil {
		return err
	}
	lost := false // the record is not there any more
	err = k.retryWrite(ctx, func() error {
		there, err := put(ctx, store.RunKey(k.id), store.Value{Data: data, Version: k.version}, ttl)
		if errors.Is(err, store.ErrConflict) && bytes.Equal(there.Data, data) { // our earlier attempt, whose reply was lost
			err = nil
		}
		if lost = errors.Is(err, store.ErrConflict) && there.Version == 0; err == nil {
			k.version = there.Version
		}
		return err
	})
	if lost {
		err = &fault.Error{Type: fault.WorkflowRecovery, Message: "The store has lost what it had of the workflow", Err: err}
	} else if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Str("task_id", k.id).Int64("epoch", k.record.Epoch)).Msg("run_fenced")
		err = &fault.Error{Type: fault.TurnLost, Message: "Another gateway goes on with this workflow", Err: err}
	} else if err != nil {
		err = storeFault(err)
	}
	k.failed = err
	return err
}

// retryWrite makes a write, and makes it again if the store was unavailable.
//
// It makes at most writeTries tries, writePause apart. Every other error is returned at
// once. write must be safe to repeat.
func (k *keeping) retryWrite(ctx context.Context, write func() error) (err error) {
	for n := range writeTries {
		if n > 0 {
			select {
			case <-ctx.Done():
				return err
			case <-time.After(writePause):
			}
		}
		if err = write(); !errors.Is(err, store.ErrUnavailable) {
			break
		}
	}
	return err
}

// pushItems adds items to lists, one after the other. The caller holds the lock. Each may end up
// twice in its list; readers expect that.
func (k *keeping) pushItems(ctx context.Context, items []store.Pushed, ttl time.Duration) error {
	for _, p := range items {
		err := k.retryWrite(ctx, func() error { return k.s.cfg.Store.PushList(ctx, p.Key, p.Item, store.Bounds{}, ttl) })
		if err != nil {
			k.failed = storeFault(err)
			return k.failed
		}
	}
	return nil
}

// listItems returns the items that a checkpoint adds to the lists of its run, in the order of their
// writes.
func (k *keeping) listItems(c *engine.Checkpoint) (items []store.Pushed, err error) {
	if len(c.Messages) > 0 || hasEnded(&c.Progress) {
		data, err := json.Marshal(storedMessages{k.record.Epoch, c.Sequence, c.Messages})
		if err != nil {
			return nil, err
		}
		items = append(items, store.Pushed{Key: store.MessagesKey(k.id), Item: data})
	}
	data, err := json.Marshal(storedCheckpoint{k.record.Epoch, *c, c.Ended})
	for _, p := range items {
		k.s.bytes.Add(float64(len(p.Item)))
	}
	k.s.bytes.Add(float64(len(data)))
	return append(items, store.Pushed{Key: store.CheckpointsKey(k.id), Item: data}), err
}

// Save implements engine.Records.
//
// The order is messages, checkpoint, record, or all at once: see the top of the file. Journal entries and
// intents of nodes that have ended are dropped, as is a wait. The lists of a run that is
// over get their expiry with their last items.
func (k *keeping) Save(ctx context.Context, c *engine.Checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return k.failed
	}
	began := time.Now()
	ttl := time.Duration(0)
	if hasEnded(&c.Progress) {
		ttl = k.s.cfg.TTL
		k.ensurePinned(ctx)
	}
	c.TaskID = k.id
	items, err := k.listItems(c)
	if err != nil {
		return err
	}
	was := k.record.Due
	err = k.changeLocked(ctx, func(r *storedRun) {
		c.Progress.Acted = c.Progress.Acted || r.Progress.Acted
		r.Progress, r.Checkpoints, r.Claims = c.Progress, c.Sequence+1, 0
		r.dropEnded()
		r.Due = 0
	}, ttl, items...)
	if err == nil && was != 0 {
		err = k.retryWrite(ctx, func() error { return k.s.cfg.Store.RemoveIndex(ctx, store.DueIndex, k.id) })
	}
	k.s.seconds.Observe(time.Since(began).Seconds(), "store")
	zerolog.Ctx(ctx).Debug().Dict("details", zerolog.Dict().Str("task_id", k.id).Int("sequence", c.Sequence).Str("position", c.Position)).Msg("checkpoint_saved")
	return err
}

// dropEnded drops the journal entries and intents of nodes that have ended.
func (r *storedRun) dropEnded() {
	for node := range r.Journal {
		if r.nodeHasEnded(node) || r.keepsSession(node) {
			delete(r.Journal, node)
		}
	}
	for key, i := range r.Intents {
		if r.nodeHasEnded(i.Intent.Node) {
			delete(r.Intents, key)
		}
	}
}

// hasEnded reports whether a run has ended.
func hasEnded(p *engine.Progress) bool {
	return p.Status == engine.StatusCompleted || p.Status == engine.StatusFailed
}

// nodeHasEnded reports whether a node has ended: it is not open any more.
func (r *storedRun) nodeHasEnded(node string) bool {
	return !slices.ContainsFunc(r.Progress.Frontier, func(o engine.Open) bool { return o.Node == node })
}

// keepsSession reports whether the frontier has the session of a node that waits.
func (r *storedRun) keepsSession(node string) bool {
	return slices.ContainsFunc(r.Progress.Frontier, func(o engine.Open) bool { return o.Node == node && o.Entry != nil && o.Waits() })
}

// Wait implements engine.Records.
//
// The index of waits is written before the record: an entry too many costs a look at the run, but a
// missing one would leave a run waiting for ever. due is the earliest end of all questions; a
// question without an end gets the configured one.
func (k *keeping) Wait(ctx context.Context, p *engine.Progress) error {
	due := k.s.fillDue(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return k.failed
	}
	if room := k.s.cfg.Room; room != nil {
		if err := room(ctx, (&engine.Run{Header: k.record.Header}).Request()); err != nil {
			return err
		}
	}
	k.ensurePinned(ctx)
	err := k.retryWrite(ctx, func() error {
		return k.s.cfg.Store.PutIndex(ctx, store.DueIndex, store.Member{ID: k.id, Score: due.UnixMilli()}, 0)
	})
	if err != nil {
		return storeFault(err)
	}
	return k.changeLocked(ctx, func(r *storedRun) {
		acted := r.Progress.Acted || p.Acted
		r.Progress, r.Due, r.Claims = *p, due.UnixMilli(), 0
		r.Progress.Acted = acted
		r.Progress.Frontier, r.Progress.Sent = slices.Clone(p.Frontier), slices.Clone(p.Sent)
	}, 0)
}

// fillDue returns the earliest end of the questions, and gives the configured end to questions
// without one.
func (s *RunStore) fillDue(p *engine.Progress) time.Time {
	due := time.Now().Add(s.cfg.Wait).UTC()
	for i := range p.Frontier {
		switch a := p.Frontier[i].Asks; {
		case a == nil:
		case a.Expires.IsZero(): // it must not end with the wait for another one
			own := *a
			own.Expires = time.Now().Add(s.cfg.Wait).UTC()
			p.Frontier[i].Asks = &own
		case a.Expires.Before(due):
			due = a.Expires
		}
	}
	return due
}

// Journal implements engine.Records.
func (k *keeping) Journal(ctx context.Context, e *engine.Entry) error {
	return k.changeRecord(ctx, func(r *storedRun) {
		if r.Journal == nil {
			r.Journal = map[string]*engine.Entry{}
		}
		r.Journal[e.Node] = e
		for key, i := range r.Intents { // the session has their results
			if i.Intent.Node == e.Node && i.Result != nil {
				delete(r.Intents, key)
			}
		}
	})
}

// Intend implements engine.Records.
func (k *keeping) Intend(ctx context.Context, i *engine.Intent) (*tool.Result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	made := k.record.Intents[i.Key]
	switch {
	case k.failed != nil:
		return nil, k.failed
	case made == nil:
	case made.Result != nil:
		known := *made.Result
		return &known, nil
	case made.Tries > i.Retries:
		return nil, engine.ErrUnknown
	}
	return nil, k.changeLocked(ctx, func(r *storedRun) {
		if r.Intents == nil {
			r.Intents = map[string]*storedIntent{}
		}
		r.Intents[i.Key], r.Progress.Acted = &storedIntent{Intent: *i, Tries: 1 + i.Retries}, true
	}, 0)
}

// StoreOutcome implements engine.Records.
//
// A result longer than maxKept bytes is cut: it is read only by a run that is taken over
// before its next checkpoint. If the write fails the result stays in this process
// (settled.go).
func (k *keeping) StoreOutcome(ctx context.Context, i *engine.Intent, result *tool.Result, err error) error {
	f := fault.From(err)
	if f != nil && (f.Unknown || !f.NoEffect) {
		return nil // it is not known what became of it
	}
	var kept *tool.Result // nil: it was not made
	if f == nil {
		whole := *result
		whole.Text, _ = chat.Truncate(whole.Text, maxKept)
		kept = &whole
	}
	one := results{i.Key: kept}
	failed := k.changeRecord(ctx, one.mergeInto)
	if failed != nil {
		k.s.keepSettled(k.id, one)
	}
	return failed
}

// Due returns up to limit runs whose wait is over at now.
//
// They are ordered by the time, oldest first. Another gateway may see the same runs; the
// claim in Records decides.
func (s *RunStore) Due(ctx context.Context, now time.Time, limit int) (ids []string, err error) {
	list, err := s.cfg.Store.Index(ctx, store.DueIndex, store.Range{Max: now.UnixMilli(), Limit: limit})
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids, err
}

// Finish lets the records of a run expire that nobody continues, and Forget removes them.
func (s *RunStore) Finish(ctx context.Context, id string) error {
	s.forgetSettled(id)
	err := s.cfg.Store.RemoveIndex(ctx, store.DueIndex, id)
	if err == nil && s.cfg.TTL > 0 {
		if err = s.cfg.Store.KeepValue(ctx, store.RunKey(id), s.cfg.TTL); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	return err
}

// Forget removes all records of a run.
//
// It continues after an error and returns all of them joined. Missing records count as removed.
func (s *RunStore) Forget(ctx context.Context, id string) error {
	if err := s.unpinRun(ctx, id); err != nil {
		return err // the record has the definition of the run
	}
	return errors.Join(
		s.cfg.Store.DeleteValue(ctx, store.RunKey(id)), s.cfg.Store.DeleteList(ctx, store.CheckpointsKey(id)),
		s.cfg.Store.DeleteList(ctx, store.MessagesKey(id)), s.cfg.Store.RemoveIndex(ctx, store.DueIndex, id))
}
