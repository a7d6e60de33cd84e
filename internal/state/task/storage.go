// This file reads and writes tasks in the store. Everything that writes a task goes through it, so
// that lost answers, long texts and the time of removal are handled in one place.

package task

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
)

// taskStore reads and writes tasks, their long texts and their traces for one process.
// It is safe for concurrent use.
type taskStore struct {
	cfg    Config
	holder store.Holder // this process
	policy atomic.Pointer[Retention]
	traces atomic.Pointer[record.Spec]
	counts counts
	// failed is the time of the last outage, by a clock that is never set; nil before the first.
	failed atomic.Pointer[time.Time]
}

// counts are the metrics of a Service.
type counts struct {
	states, resumes, lost metrics.Counter
	deleted               metrics.Counter // tasks whose time was over
	claims                metrics.Counter
}

// newTaskStore returns a taskStore of a new process, with an epoch of its own.
func newTaskStore(cfg Config) *taskStore {
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.EventTTL == 0 {
		cfg.EventTTL = DefaultEventTTL
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.MaxHistory == 0 {
		cfg.MaxHistory = DefaultMaxHistory
	}
	s := &taskStore{
		cfg:    cfg,
		holder: store.Holder{Owner: newID("gw_"), Epoch: time.Now().UnixMilli()},
		counts: counts{
			states:  cfg.Metrics.Counter("tasks_total", "Tasks that reached a state in which nothing runs.", "state"),
			resumes: cfg.Metrics.Counter("resumes_total", "Requests for the rest of a stream, by outcome.", "outcome"),
			claims:  cfg.Metrics.Counter("turn_claims_total", "Turns of other processes that this one has gone on with, or closed.", "why", "outcome"),
			lost:    cfg.Metrics.Counter("turns_lost_total", "Turns of processes that are gone, which this one closed."),
			deleted: cfg.Metrics.Counter("retention_deleted_total", "Tasks whose records this process removed because their time was over."),
		},
	}
	s.SetRetention(cfg.Retention)
	s.SetTraces(cfg.Trace)
	return s
}

// recordOutage remembers that the store is unavailable. It returns err.
func (s *taskStore) recordOutage(err error) error {
	if errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrCrowded) {
		now := time.Now()
		s.failed.Store(&now)
	}
	return err
}

// reportState counts and logs a task's new state.
func (s *taskStore) reportState(ctx context.Context, task, before, state string) {
	if state != Working {
		s.counts.states.Inc(state)
	}
	zerolog.Ctx(ctx).Info().Dict("details", zerolog.Dict().
		Str("task_id", task).Str("old_state", before).Str("new_state", state)).Msg("task_state_changed")
}

// waitingTTL returns how long the store keeps a task that waits for a person again. The task of a
// durable turn, a run, does not expire.
func (s *taskStore) waitingTTL(durable bool) time.Duration {
	if durable {
		return 0
	}
	return s.cfg.TTL + longestWait
}

// workingTTL returns how long the store keeps the task of a turn that runs. The task of a durable
// turn, a run, does not expire.
func (s *taskStore) workingTTL(durable bool) time.Duration {
	if durable {
		return 0
	}
	return s.cfg.TTL
}

// fullDocument returns a task's document with all of its texts.
func (s *taskStore) fullDocument(ctx context.Context, id string, t store.Task) (*document, error) {
	d := readDocument(id, t)
	if d.isWhole() {
		return d, nil
	}
	long, err := s.longTexts(ctx, id)
	if err != nil {
		return nil, err
	}
	d.addLongTexts(long)
	return d, nil
}

// longPage is how many items of the list of long texts are read at once. Each may be as
// long as an answer.
const longPage = 4

// longTexts returns the long texts of a task by their ids.
func (s *taskStore) longTexts(ctx context.Context, id string) (map[string]string, error) {
	long := map[string]string{}
	for from := 0; ; from += longPage {
		items, err := s.cfg.Store.List(ctx, store.LongKey(id), from, longPage)
		if err != nil {
			return nil, storeUnavailable(s.recordOutage(err))
		}
		for _, item := range items {
			_ = json.Unmarshal(item, &long, jsontext.AllowInvalidUTF8(true))
		}
		if len(items) < longPage {
			return long, nil
		}
	}
}

// storeLong adds to the long texts of a task. It keeps them as long as the document, and the caller
// writes that next. Each text that a document refers to was added with another of its messages, so
// the number of items is bounded by that of the messages.
func (s *taskStore) storeLong(ctx context.Context, d *document, long []byte, ttl time.Duration) error {
	var err error
	switch {
	case long != nil:
		err = s.cfg.Store.PushList(ctx, store.LongKey(d.ID), long, store.Bounds{Items: s.cfg.MaxHistory + 2*maxAsked, Task: d.ID}, ttl)
	case !d.isWhole():
		err = s.cfg.Store.KeepList(ctx, store.LongKey(d.ID), ttl)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil // the task was removed: the write of its document will fail
	}
	return err
}

// replaceDocument writes a task with its document, the long texts first.
func (s *taskStore) replaceDocument(ctx context.Context, d *document, t store.Task, ttl time.Duration) error {
	doc, long := d.encodeStored()
	if err := s.storeLong(ctx, d, long, ttl); err != nil {
		return err
	}
	t.Doc = doc
	return s.confirmWrite(ctx, d.ID, t, s.cfg.Store.UpdateTask(ctx, d.ID, t, ttl))
}

// isUnknown reports whether the command that ended with err may have changed something.
func isUnknown(err error) bool {
	return errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrNotSent)
}

// confirmWrite returns err, the error of a write of t. It returns nil if only the answer was lost.
func (s *taskStore) confirmWrite(ctx context.Context, id string, t store.Task, err error) error {
	if isUnknown(err) && s.isWritten(ctx, id, t) {
		return nil
	}
	return err
}

// isWritten reports whether t is the task that the store has. t has the version that it had before.
func (s *taskStore) isWritten(ctx context.Context, id string, t store.Task) bool {
	there, err := s.cfg.Store.Task(ctx, id)
	return err == nil && there.Version == t.Version+1 && there.Turn == t.Turn && there.Holder == t.Holder && bytes.Equal(there.Doc, t.Doc)
}

// isRunHere reports whether this process runs a turn of a task.
func (s *taskStore) isRunHere(t store.Task, turn string) bool {
	return t.Turn == turn && t.Holder == s.holder && t.State == Working
}

// SetRetention makes r the policy from now on, for tasks that have ended too.
func (s *taskStore) SetRetention(r Retention) { s.policy.Store(&r) }

// SetTraces makes spec the content of the traces of turns that begin from now on.
func (s *taskStore) SetTraces(spec record.Spec) { s.traces.Store(&spec) }

// newRecorder returns the recorder of a turn's trace.
func (s *taskStore) newRecorder(turn string, began time.Time) *record.Recorder {
	return record.New(*s.traces.Load(), turn, began)
}

// currentRetention returns the policy.
func (s *taskStore) currentRetention() Retention { return *s.policy.Load() }

// newSweeper returns a Sweeper with this policy.
func (s *taskStore) newSweeper(r Retention) *Sweeper {
	return &Sweeper{Store: s.cfg.Store, Policy: r, Forget: s.cfg.Forget}
}

// scheduleRemoval returns how long the store keeps a task of this document by itself. If retention
// counts for an ended task, its records stay until a sweep. Their entry is in the index before they
// are written. waits is how long a task that waits for a person is kept beyond its TTL.
func (s *taskStore) scheduleRemoval(ctx context.Context, id string, d *document, waits time.Duration) (time.Duration, error) {
	policy := s.currentRetention()
	if !policy.appliesTo(d) || !isFinal(d.Status.State) {
		return s.cfg.TTL + waits, nil
	}
	return 0, s.cfg.Store.PutIndex(ctx, store.RetainIndex, store.Member{ID: id, Score: policy.removalTime(d).UnixMilli()}, 0)
}

// traceBounds say how much of a task's trace is kept, as long as the task is there: the
// newest turns.
func traceBounds(id string) store.Bounds {
	return store.Bounds{Items: 100, Bytes: 8 << 20, Task: id}
}

// pushTrace adds to a trace that is kept as long as its task. A task's trace is removed after the
// task, so a removed task does not leave a trace behind.
func (s *taskStore) pushTrace(ctx context.Context, id string, part *record.Part, ttl time.Duration) error {
	err := s.cfg.Store.PushList(ctx, store.TraceKey(id), part.Encode(), traceBounds(id), ttl)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return s.recordOutage(err)
}

// taskOf returns a task that c may see.
//
// Its error is a fault: not_found, or store_unavailable.
func (s *taskStore) taskOf(ctx context.Context, c Caller, id string) (store.Task, error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !c.ownsTask(t):
		return store.Task{}, notFound()
	case err != nil:
		return store.Task{}, storeUnavailable(s.recordOutage(err))
	}
	return t, nil
}

// encodedTask returns a task's document with all of its texts, as JSON.
func (s *taskStore) encodedTask(ctx context.Context, id string, t store.Task) ([]byte, error) {
	doc, err := s.fullDocument(ctx, id, t)
	if err != nil {
		return nil, err
	}
	return doc.encode(), nil
}

// logPanic logs a panic.
func (s *taskStore) logPanic(task string, err error) {
	s.cfg.Log.Error().Dict("details", zerolog.Dict().Str("task_id", task).AnErr("error_message", err)).Msg("panic_recovered")
}

// cancelIndex returns the index of the cancelled tasks of a process.
func cancelIndex(owner string) string { return "sluice:cancel:" + owner }

// leftPrefix begins the names of holders without a lease. Their tasks are claimed at once.
const leftPrefix = "left_"

// isLeft reports whether a process has released its task.
func isLeft(h store.Holder) bool { return strings.HasPrefix(h.Owner, leftPrefix) }
