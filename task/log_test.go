//go:build unix

package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/fault"
	"sluice/store"
	"sluice/store/memory"
	"sluice/stream"
	"sluice/task"
)

// client is an Output that notes what it is told.
type client struct {
	lines   []string
	flushes int
	onWrite func(stream.Stamp) error
}

func (c *client) Write(s stream.Stamp, ev stream.Event) error {
	if c.onWrite != nil {
		if err := c.onWrite(s); err != nil {
			return err
		}
	}
	c.lines = append(c.lines, line(s, ev))
	return nil
}

func (c *client) Flush() error           { c.flushes++; return nil }
func (c *client) Blocked() time.Duration { return time.Second }

func line(s stream.Stamp, ev stream.Event) string {
	text, err := stream.AppendStored(nil, s, ev)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// turn emits a turn with all kinds of events, some of them at once.
func turn(t *testing.T, w *task.Writer, between func(n int)) {
	t.Helper()
	s := stream.NewStamper(w, time.Now())
	call := stream.Call{ID: "c1", Tool: "todo", Arguments: jsontext.Value(`{ "a": 1 }`)}
	delta := &stream.Delta{} // used again, as senders do
	for i, ev := range []stream.Event{
		&stream.Start{Model: "m"}, &stream.Thinking{Content: "hm"}, delta, delta, nil, delta, nil,
		&stream.ToolStarted{Call: call, Repeatable: true}, nil,
		&stream.ToolCompleted{Call: call, Duration: 5, Result: strings.Repeat("ü", 3000)}, delta, nil,
		&stream.Error{Type: fault.ToolFailed, Message: "\u2028<b>"}, nil, delta,
		&stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1}}, nil,
	} {
		delta.Text = fmt.Sprintf("piece %d \u2028<\"\\\x00ü", i)
		if ev != nil {
			must(t, s.Emit(ev))
			continue
		}
		must(t, s.Flush())
		if between != nil {
			between(i)
		}
	}
}

func config(log task.Log) task.WriterConfig {
	return task.WriterConfig{Log: log, Turn: "turn_1", TTL: time.Hour, EventTTL: time.Hour, OnLost: func(error) {}}
}

func TestLogIsTheTurn(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, there store.Store) {
		own, live := &client{}, &client{}
		done := make(chan error, 1)
		w := task.NewWriter(t.Context(), own, config(here))
		turn(t, w, func(n int) {
			if n == 4 { // the log has begun
				go func() { done <- task.Tell(t.Context(), there, "turn_1", 0, nil, live) }()
			}
		})
		must(t, <-done)
		if diff := cmp.Diff(own.lines, live.lines); diff != "" {
			t.Errorf("read while it was written (-told +read):\n%s", diff)
		}
		for n := 1; n <= len(own.lines)+1; n++ {
			if ends, err := task.Ends(t.Context(), there, "turn_1", n); err != nil || ends != (n == len(own.lines)) {
				t.Errorf("event %d is the end: %v, %v", n, ends, err)
			}
		}
		for after := range len(own.lines) + 1 {
			again, skipped := &client{}, []string(nil)
			ctx, cancel := context.WithCancel(t.Context())
			if after == len(own.lines) {
				cancel() // nothing is left to come, not even the end
			}
			err := task.Tell(ctx, there, "turn_1", after, func(s stream.Stamp, ev stream.Event) { skipped = append(skipped, line(s, ev)) }, again)
			cancel()
			if after < len(own.lines) {
				must(t, err)
			}
			if diff := cmp.Diff(own.lines[after:], again.lines, cmp.Transformer("len0", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
				t.Fatalf("read after %d (-told +read):\n%s", after, diff)
			}
			if after < len(own.lines) && len(skipped) != after {
				t.Errorf("skipped %d, want %d", len(skipped), after)
			}
		}
	})
}

// A client never has what the log does not.
func TestEventsAreWrittenBeforeTheyAreDelivered(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, there store.Store) {
		own := &client{onWrite: func(s stream.Stamp) error {
			entries, err := there.ReadLog(t.Context(), "turn_1", s.N-1, 1)
			if err == nil && len(entries) == 0 {
				err = fmt.Errorf("event %d is not in the log", s.N)
			}
			return err
		}}
		turn(t, task.NewWriter(t.Context(), own, config(here)), nil)
	})
}

func TestOneAppendAFlush(t *testing.T) {
	t.Parallel()
	log := &flaky{Store: memory.New(memory.Config{})}
	own := &client{}
	w := task.NewWriter(t.Context(), own, config(log))
	turn(t, w, nil)
	if log.appends != 6 || own.flushes != 6 {
		t.Errorf("%d appends and %d flushes, want 6", log.appends, own.flushes)
	}
	must(t, w.Flush())
	if log.appends != 6 {
		t.Error("a flush of nothing was appended")
	}
	if w.Blocked() != time.Second {
		t.Errorf("blocked %v", w.Blocked())
	}
}

// flaky fails as verdict says: before the append, or after it.
type flaky struct {
	store.Store
	appends, drops int
	verdict        func() (before, after error)
	drop           error
}

func (f *flaky) AppendLog(ctx context.Context, turn string, a store.Append) error {
	f.appends++
	var before, after error
	if f.verdict != nil {
		before, after = f.verdict()
	}
	if before != nil {
		return before
	}
	return errors.Join(f.Store.AppendLog(ctx, turn, a), after)
}

func (f *flaky) DropLog(ctx context.Context, turn string) error {
	f.drops++
	return errors.Join(f.drop, f.Store.DropLog(ctx, turn))
}

// Whenever the store fails, and whether or not it did what it was told: the client gets
// every event at once, and the log is whole in the end.
func TestOutagesLeaveNoGap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			log := &flaky{Store: memory.New(memory.Config{})}
			log.verdict = func() (before, after error) {
				switch random.IntN(4) {
				case 0:
					return store.ErrUnavailable, nil
				case 1:
					return nil, store.ErrUnavailable
				case 2:
					return store.ErrFull, nil
				}
				return nil, nil
			}
			own := &client{}
			w := task.NewWriter(t.Context(), own, config(log))
			turn(t, w, nil)
			must(t, w.Settle(t.Context()))
			if !w.Logged() {
				t.Fatalf("seed %d: the log is not whole", seed)
			}
			again := &client{}
			must(t, task.Tell(t.Context(), log, "turn_1", 0, nil, again))
			if diff := cmp.Diff(own.lines, again.lines); diff != "" {
				t.Fatalf("seed %d (-told +read):\n%s", seed, diff)
			}
		})
	}
}

func TestSettleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &flaky{Store: memory.New(memory.Config{}), verdict: func() (before, after error) { return store.ErrUnavailable, nil }}
		w := task.NewWriter(t.Context(), nil, config(log))
		turn(t, w, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("settled: %v", err)
		}
		log.verdict = nil
		must(t, w.Settle(t.Context()))
		if !w.Logged() {
			t.Error("the log is not whole")
		}
	})
}

func TestLogsThatCannotGoOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(t *testing.T, s store.Store) // the second flush
		want   error
		left   bool // the log stays
	}{
		"the store forgot": {func(t *testing.T, s store.Store) { must(t, s.DropLog(t.Context(), "turn_1")) }, store.ErrNotFound, false},
		"somebody closed the turn": {func(t *testing.T, s store.Store) {
			must(t, s.AppendLog(t.Context(), "turn_1", store.Append{Entry: store.Entry{N: 90, Data: []byte("x")}, At: 4, TTL: time.Hour}))
		}, store.ErrConflict, true},
		"somebody took the turn": {func(t *testing.T, s store.Store) {
			must(t, s.UpdateTask(t.Context(), "task_1", store.Task{Meta: store.Meta{Version: 1, Holder: store.Holder{Owner: "other"}}}, time.Hour))
		}, store.ErrConflict, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memory.New(memory.Config{})
			holder := store.Holder{Owner: "g", Epoch: 1}
			must(t, s.CreateTask(t.Context(), "task_1", store.Task{Meta: store.Meta{Holder: holder}}, time.Hour))
			var lost []error
			cfg := config(s)
			cfg.Task, cfg.Holder, cfg.OnLost = "task_1", holder, func(err error) { lost = append(lost, err) }
			own := &client{}
			w := task.NewWriter(t.Context(), own, cfg)
			turn(t, w, func(n int) {
				if n == 4 {
					tt.before(t, s)
				}
			})
			must(t, w.Settle(t.Context()))
			if len(lost) != 1 || !errors.Is(lost[0], tt.want) || w.Logged() {
				t.Errorf("lost %v, want %v once", lost, tt.want)
			}
			if len(own.lines) != 11 {
				t.Errorf("the client was told %d events, want all 11", len(own.lines))
			}
			if _, err := s.ReadLog(t.Context(), "turn_1", 0, 1); errors.Is(err, store.ErrNotFound) == tt.left {
				t.Errorf("the log: %v", err)
			}
		})
	}
}

// What cannot be kept until the store is back is not told in part.
func TestTooMuchToAppendLater(t *testing.T) {
	t.Parallel()
	log := &flaky{Store: memory.New(memory.Config{})}
	var lost error
	cfg := config(log)
	cfg.OnLost = func(err error) { lost = err }
	w := task.NewWriter(t.Context(), nil, cfg)
	s := stream.NewStamper(w, time.Now())
	must(t, s.Emit(&stream.Start{}))
	must(t, s.Flush())
	log.verdict, log.drop = func() (before, after error) { return store.ErrUnavailable, nil }, store.ErrUnavailable
	for range 9 {
		must(t, s.Emit(&stream.Delta{Text: strings.Repeat("x", 1<<20)}))
		must(t, s.Flush())
	}
	if !errors.Is(lost, store.ErrUnavailable) {
		t.Errorf("lost: %v", lost)
	}
	log.drop = nil
	must(t, w.Settle(t.Context()))
	if _, err := log.ReadLog(t.Context(), "turn_1", 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the log is still there: %v", err)
	}
}

func TestLongTurnHasNoLog(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	var lost error
	cfg := config(s)
	cfg.OnLost = func(err error) { lost = err }
	own := &client{}
	w := task.NewWriter(t.Context(), own, cfg)
	for n := range 10 {
		must(t, w.Write(stream.Stamp{N: n + 1}, &stream.Delta{Text: strings.Repeat("x", 1<<20)}))
		must(t, w.Flush())
	}
	if !errors.Is(lost, store.ErrTooLarge) || len(own.lines) != 10 {
		t.Errorf("lost: %v; %d events told, want 10", lost, len(own.lines))
	}
}

func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	for _, detach := range []bool{true, false} {
		s := memory.New(memory.Config{})
		cfg := config(s)
		cfg.Detach = detach
		w := task.NewWriter(t.Context(), &client{onWrite: func(stream.Stamp) error { return fault.ErrClientGone }}, cfg)
		must(t, w.Write(stream.Stamp{N: 1}, &stream.Start{}))
		if err := w.Flush(); (err == nil) != detach {
			t.Errorf("detach %v: %v", detach, err)
		}
		must(t, w.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}))
		if err := w.Flush(); (err == nil) != detach {
			t.Errorf("detach %v: %v", detach, err)
		}
		again := &client{}
		must(t, task.Tell(t.Context(), s, "turn_1", 0, nil, again))
		if len(again.lines) != 2 {
			t.Errorf("the log has %d events, want 2", len(again.lines))
		}
	}
}

func TestDamagedLogs(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"x", "{}", `{"n":1}`, "\n", `{"n":1,"at":1,"event":"newer","data":{}}`} {
		s := memory.New(memory.Config{})
		must(t, s.AppendLog(t.Context(), "turn_1", store.Append{Entry: store.Entry{N: 1, Data: []byte(data)}}))
		if err := task.Tell(t.Context(), s, "turn_1", 0, nil, &client{}); !errors.Is(err, stream.ErrStored) {
			t.Errorf("%q: %v, want %v", data, err, stream.ErrStored)
		}
	}
	if err := task.Tell(t.Context(), memory.New(memory.Config{}), "none", 0, nil, &client{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no log: %v", err)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	if id := task.NewID(); !task.IsID(id) || task.IsTurnID(id) || id == task.NewID() {
		t.Errorf("id %q", id)
	}
	if id := task.NewTurnID(); !task.IsTurnID(id) || task.IsID(id) {
		t.Errorf("id %q", id)
	}
	for _, id := range []string{"", "task_", "task_1", "task_" + strings.Repeat("A", 26), "task_" + strings.Repeat("a", 27), strings.Repeat("a", 31), "task_" + strings.Repeat("a", 25) + "\n"} {
		if task.IsID(id) {
			t.Errorf("%q is taken for an id", id)
		}
	}
}

// A chunk of an answer is a piece of text and a flush.
func BenchmarkWriterChunk(b *testing.B) {
	s := memory.New(memory.Config{Bytes: 1 << 40})
	deltas := stream.Delta{Text: "a usual piece of text, with \"quotes\" and ü"}
	b.ReportAllocs()
	var w *task.Writer
	for n := 0; b.Loop(); n++ {
		if n%1000 == 0 {
			_ = s.DropLog(b.Context(), "turn_1")
			w = task.NewWriter(b.Context(), nothing{}, config(s))
		}
		if err := errors.Join(w.Write(stream.Stamp{N: n%1000 + 1, At: 12345678}, &deltas), w.Flush()); err != nil {
			b.Fatal(err)
		}
	}
}

type nothing struct{}

func (nothing) Write(stream.Stamp, stream.Event) error { return nil }
func (nothing) Flush() error                           { return nil }
func (nothing) Blocked() time.Duration                 { return 0 }
