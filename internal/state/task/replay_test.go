package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A client learns at once that its turn is over if the process died before there was a log:
// nobody makes that log. The log of a run may come from another process, so it is waited for.
func TestRepeatedKeyOfADeadProcess(t *testing.T) {
	t.Parallel()
	for name, durable := range map[string]bool{"turn": false, "run": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				owner, other := New(Config{Store: shared, Runs: &errands{ends: map[string]errandEnd{}}}), New(Config{Store: shared})
				defer other.Close()
				sum := sha256.Sum256(nil)
				req := Request{Chat: &chat.Request{Input: "hi"}, Durable: durable, Key: "key-12345", Body: &sum, Cancel: func(error) {}}
				if turn, err := owner.Begin(t.Context(), req); err != nil || turn == nil {
					t.Fatal(turn, err)
				}
				reopen := func() (waited time.Duration, err error) {
					_, err = other.Begin(t.Context(), req)
					replay, ok := errors.AsType[*Replay](err)
					if !ok {
						t.Fatal(err)
					}
					began := time.Now()
					_, err = other.Reopen(t.Context(), replay, func() {})
					return time.Since(began), err
				}
				begins := func(what string) {
					waited, err := reopen()
					if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != fault.DuplicateRequest || f.RetryAfter != time.Second || waited != beginTime {
						t.Errorf("%s: %v after %v", what, err, waited)
					}
				}
				begins("while its process lives")
				owner.Close()
				if durable {
					begins("when it has died")
				} else if waited, err := reopen(); !errors.Is(err, ErrGone) || waited != 0 {
					t.Errorf("when it has died: %v after %v", err, waited)
				}
			})
		})
	}
}

// After an outage of the store the lease of a process that lives may be over. Its turn is not.
func TestRepeatedKeyAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &failing{Store: memory.New(memory.Config{})}
		owner, other := New(Config{Store: shared}), New(Config{Store: shared})
		defer owner.Close()
		defer other.Close()
		sum := sha256.Sum256(nil)
		req := Request{Chat: &chat.Request{Input: "hi"}, Key: "key-12345", Body: &sum, Cancel: func(error) {}}
		turn, err := owner.Begin(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End()
		turn.Before(nowhere{})
		_, err = other.Begin(t.Context(), req)
		replay, _ := errors.AsType[*Replay](err)
		if err := shared.Store.ReleaseLease(t.Context(), owner.holder); err != nil { // as if it were over
			t.Fatal(err)
		}
		other.failed.Store(new(time.Now()))
		go func() {
			time.Sleep(time.Second)
			_ = errors.Join(turn.Write(stream.Stamp{N: 1}, &stream.Start{}), turn.Flush())
		}()
		if log, err := other.Reopen(t.Context(), replay, func() {}); err != nil || log.Turn != turn.ID() {
			t.Errorf("%+v, %v", log, err)
		}
	})
}

// A turn that begins and ends between two looks of a repetition, first at its log and then at
// its key, is reported.
func TestRepeatedKeyOfAQuickTurn(t *testing.T) {
	t.Parallel()
	shared := memory.New(memory.Config{})
	owner := New(Config{Store: shared})
	between := &meanwhile{Store: shared}
	other := New(Config{Store: between})
	defer owner.Close()
	defer other.Close()
	sum := sha256.Sum256(nil)
	req := Request{Chat: &chat.Request{Input: "hi"}, Key: "key-12345", Body: &sum, Cancel: func(error) {}}
	turn, err := owner.Begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	turn.Before(nowhere{})
	_, err = other.Begin(t.Context(), req)
	replay, _ := errors.AsType[*Replay](err)
	between.then = func() {
		if err := errors.Join(turn.Write(stream.Stamp{N: 1}, &stream.Start{}), turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
			t.Error(err)
		}
		turn.End()
	}
	if log, err := other.Reopen(t.Context(), replay, func() {}); err != nil || log.Turn != turn.ID() {
		t.Errorf("%+v, %v", log, err)
	}
}

// meanwhile is a Store in which something happens before the next look at a value.
type meanwhile struct {
	Store
	then func()
}

func (m *meanwhile) Value(ctx context.Context, key string) (store.Value, error) {
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return m.Store.Value(ctx, key)
}

// deaf is a Store that keeps no value.
type deaf struct{ Store }

func (deaf) PutValue(context.Context, string, store.Value, time.Duration) (store.Value, error) {
	return store.Value{}, store.ErrUnavailable
}

// A client that names a key relies on it. One that was made of the request is done without.
func TestKeyWithoutAStore(t *testing.T) {
	t.Parallel()
	s := New(Config{Store: deaf{memory.New(memory.Config{})}})
	defer s.Close()
	sum := sha256.Sum256(nil)
	for made, want := range map[bool]fault.Type{false: fault.StoreUnavailable, true: ""} {
		turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi"}, Key: "key-12345", KeyMade: made, Body: &sum, Cancel: func(error) {}})
		if turn != nil || want == "" && err != nil || want != "" && (err == nil || fault.From(err).Type != want) {
			t.Errorf("made of the request: %v: %v, %v", made, turn, err)
		}
	}
}

// A key outlives a task that made room for others: its request learns that the turn is over, and
// nothing runs a second time.
func TestKeyOfATaskThatMadeRoom(t *testing.T) {
	t.Parallel()
	shared := memory.New(memory.Config{Tasks: 1})
	s := New(Config{Store: shared})
	defer s.Close()
	sum := sha256.Sum256(nil)
	req := Request{Chat: &chat.Request{Input: "hi"}, Key: "key-12345", Body: &sum, Cancel: func(error) {}}
	turn, err := s.Begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	turn.Before(nowhere{})
	if err := errors.Join(turn.Write(stream.Stamp{N: 1}, &stream.Start{}), turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
		t.Error(err)
	}
	turn.End()
	if err := shared.CreateTask(t.Context(), "task_other", store.Task{Doc: []byte("{}")}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Task(t.Context(), turn.Task()); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("the task: %v", err)
	}
	_, err = s.Begin(t.Context(), req)
	replay, ok := errors.AsType[*Replay](err)
	if !ok || replay.Turn != turn.ID() {
		t.Fatalf("begins again: %v", err)
	}
	if _, err := s.Reopen(t.Context(), replay, func() { t.Error("waits for a turn that is over") }); !errors.Is(err, ErrGone) {
		t.Errorf("the log: %v, want %v", err, ErrGone)
	}
}
