package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"sluice/internal/state/store"
)

// The records of an ended task do not expire by themselves: they go together, when the
// index sluice:retain says that their time has come. An entry is written before the task
// has its last state and removed behind all records, so that whatever dies in between
// leaves an entry, and some later sweep finishes. Any gateway may sweep, twice too.

const (
	// retainPage is how many tasks a sweep looks at.
	retainPage = 100
	// lookLater is when an entry is looked at again whose task has not ended: the process
	// that was to end it died, or is about to.
	lookLater = time.Hour
)

// retainedPolicy is the value that says by which policy the entries of the index have their
// times.
const retainedPolicy = store.RetainIndex + ":policy"

// Sweeper removes the records of tasks whose time is over. Store is required; the rest may
// be zero. It is safe for concurrent use.
type Sweeper struct {
	Store  Store
	Policy Retention
	// Forget removes records that this package does not know.
	Forget []Forget
	// DryRun changes nothing: the store may be open for reading only.
	DryRun bool
}

// Swept is the result of a sweep for one task.
type Swept struct {
	ID      string
	State   string    // empty: the task itself was removed already
	Days    int       // retention
	Due     time.Time // when its records go
	Removed bool      // they are removed, or would be
}

// All looks at every task that has ended, by the policy as it is now, whatever it was when
// the task ended, and reports each of them.
func (s *Sweeper) All(ctx context.Context, now time.Time, report func(Swept)) error {
	last := &store.Member{Score: -1 << 53}
	seen := map[string]bool{} // an entry that moves comes again
	for last != nil {
		var err error
		last, err = s.sweepPage(ctx, store.Range{Min: last.Score, Max: 1 << 53, After: last, Limit: retainPage}, now, func(w Swept) {
			if !seen[w.ID] {
				seen[w.ID] = true
				report(w)
			}
		})
		if err != nil {
			return err
		}
	}
	if s.DryRun {
		return nil
	}
	return s.Policy.storeMark(ctx, s.Store)
}

// Due looks at up to 100 tasks whose time is over. It returns how many were removed.
func (s *Sweeper) Due(ctx context.Context, now time.Time) (gone int, err error) {
	_, err = s.sweepPage(ctx, store.Range{Min: -1 << 53, Max: now.UnixMilli(), Limit: retainPage}, now, func(w Swept) {
		if w.Removed {
			gone++
		}
	})
	return gone, err
}

// sweepPage looks at the tasks of a part of the index, and returns the last one; nil: nothing
// follows.
func (s *Sweeper) sweepPage(ctx context.Context, r store.Range, now time.Time, report func(Swept)) (*store.Member, error) {
	members, err := s.Store.Index(ctx, store.RetainIndex, r)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		w, err := s.sweepTask(ctx, m, now)
		if err != nil {
			return nil, err
		}
		report(w)
	}
	if len(members) < r.Limit {
		return nil, nil
	}
	return &members[len(members)-1], nil
}

// sweepTask removes the records of a task, or puts its entry where it belongs.
func (s *Sweeper) sweepTask(ctx context.Context, m store.Member, now time.Time) (Swept, error) {
	w := Swept{ID: m.ID, Due: time.UnixMilli(m.Score)}
	t, err := s.Store.Task(ctx, m.ID)
	switch {
	case errors.Is(err, store.ErrNotFound): // an earlier sweep did not finish
		w.Removed = true
		return w, s.removeTask(ctx, m.ID)
	case err != nil:
		return w, err
	}
	w.State = t.State
	if !isFinal(t.State) { // it lives or waits: whatever ends it puts its entry right
		w.Due = now.Add(lookLater)
		return w, s.moveEntry(ctx, m, w.Due)
	}
	doc := readDocument(m.ID, t)
	w.Days, w.Due = s.Policy.retentionDays(doc), s.Policy.removalTime(doc)
	if w.Due.After(now) {
		return w, s.moveEntry(ctx, m, w.Due)
	}
	w.Removed = true
	return w, s.removeTask(ctx, m.ID)
}

// moveEntry changes the time of an entry.
func (s *Sweeper) moveEntry(ctx context.Context, m store.Member, due time.Time) error {
	if s.DryRun || m.Score == due.UnixMilli() {
		return nil
	}
	return s.Store.PutIndex(ctx, store.RetainIndex, store.Member{ID: m.ID, Score: due.UnixMilli()}, 0)
}

// removeTask removes a task with all its records, and its entry behind them. The logs of its
// turns end by themselves.
func (s *Sweeper) removeTask(ctx context.Context, id string) error {
	if s.DryRun {
		return nil
	}
	return s.deleteRecords(ctx, id)
}

func (s *Sweeper) deleteRecords(ctx context.Context, id string) error {
	err := s.Store.DeleteTask(ctx, id)
	if err == nil { // a turn that ends now finds that the task was removed
		err = s.Store.DeleteList(ctx, store.TraceKey(id))
	}
	if err == nil {
		err = s.Store.DeleteList(ctx, store.LongKey(id))
	}
	for _, forget := range s.Forget {
		if err == nil {
			err = forget(ctx, id)
		}
	}
	if err == nil {
		err = s.Store.RemoveIndex(ctx, store.RetainIndex, id)
	}
	return err
}

// storeMark stores the mark of this policy: the times in the index are by it.
func (r Retention) storeMark(ctx context.Context, st store.Values) error {
	for range 3 { // another gateway may do the same
		there, err := st.Value(ctx, retainedPolicy)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		there.Data = []byte(r.policySum())
		if _, err = st.PutValue(ctx, retainedPolicy, there, 0); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// isMarked reports whether the index has its times by this policy.
func (r Retention) isMarked(ctx context.Context, st store.Values) (bool, error) {
	there, err := st.Value(ctx, retainedPolicy)
	if errors.Is(err, store.ErrNotFound) {
		return r.equals(Retention{}), nil
	}
	return string(there.Data) == r.policySum(), err
}

// policySum returns a name for a policy, made of its hash.
func (r Retention) policySum() string {
	text, _ := json.Marshal(r.Settled()) // maps of numbers; their keys come sorted
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
