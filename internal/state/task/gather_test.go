package task

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// counted is a store that counts appends.
type counted struct {
	*memory.Store
	appends atomic.Int64
}

func (c *counted) AppendLog(ctx context.Context, turn string, a store.Append) error {
	c.appends.Add(1)
	return c.Store.AppendLog(ctx, turn, a)
}

// late is a client that notes how long each event took to it, and whether the log had it.
type late struct {
	store   Store
	turn    string
	sentAt  []time.Time // when the events that it does not have were reported, the oldest first
	longest time.Duration
	last    int
	flushes int
	missing []int
}

func (l *late) Write(s stream.Stamp, _ stream.Event) error {
	l.sentAt, l.last = append(l.sentAt, time.Now()), s.N
	return nil
}

func (l *late) Flush() error {
	l.flushes++
	for _, at := range l.sentAt {
		l.longest = max(l.longest, time.Since(at))
	}
	l.sentAt = nil
	if entries, err := l.store.ReadLog(context.Background(), l.turn, 0, 1000); err != nil || entries[len(entries)-1].N < l.last {
		l.missing = append(l.missing, l.last)
	}
	return nil
}

func (*late) Blocked() time.Duration { return 0 }

// gathered begins a turn over a store that counts, with a client that notes.
func gathered(t *testing.T, durable bool) (*Service, *counted, *Turn, *late, *stream.Stamper) {
	t.Helper()
	shared := &counted{Store: memory.New(memory.Config{})}
	s := New(Config{Store: shared})
	t.Cleanup(s.Close)
	turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi"}, Cancel: func(error) {}, Detached: true})
	if err != nil {
		t.Fatal(err)
	}
	turn.durable = durable
	own := &late{store: shared, turn: turn.ID()}
	return s, shared, turn, own, stream.NewStamper(turn.Before(own), time.Now())
}

// speaking begins a turn whose last piece waits for a timer.
func speaking(t *testing.T) (*counted, *Turn, *late, *stream.Stamper) {
	t.Helper()
	_, shared, turn, own, out := gathered(t, false)
	for _, ev := range []stream.Event{&stream.Start{}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "waits"}} {
		_, _ = out.Emit(ev), out.Flush()
	}
	return shared, turn, own, out
}

// Pieces of an answer that come one after the other share appends and flushes, no piece waits
// longer than it may, also when nothing comes behind it, and no client has what the log does
// not: so a process can die at any moment.
func TestPiecesWaitForOthers(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{10 * time.Microsecond, 700 * time.Microsecond, 1900 * time.Microsecond, 20 * time.Millisecond} {
		t.Run(every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, shared, turn, own, out := gathered(t, false)
				emit := func(ev stream.Event) { _ = out.Emit(ev); _ = out.Flush() }
				emit(&stream.Start{})
				emit(&stream.Delta{Text: "first"})
				if own.longest > 0 || len(own.sentAt) > 0 {
					t.Error("the first piece waits")
				}
				began, before := time.Now(), shared.appends.Load()
				for range 100 {
					time.Sleep(every)
					emit(&stream.Delta{Text: "x"})
				}
				elapsed := time.Since(began)
				time.Sleep(2 * time.Millisecond)
				turn.mu.Lock() // which a timer had
				defer turn.mu.Unlock()
				if n := shared.appends.Load() - before; n > int64(elapsed/pace)+1 || n > 100 {
					t.Errorf("%d appends in %v", n, elapsed)
				}
				if len(own.sentAt) > 0 || own.longest > 2*time.Millisecond || len(own.missing) > 0 {
					t.Errorf("%d pieces still wait, the longest wait was %v, the log lacked %v", len(own.sentAt), own.longest, own.missing)
				}
				if every > 2*time.Millisecond && own.longest > 0 {
					t.Errorf("a piece that comes alone waits %v", own.longest)
				}
			})
		})
	}
}

// What is not a piece waits for nothing, and sends what waited with it.
func TestOnlyPiecesWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, shared, turn, own, out := gathered(t, false)
		for i, ev := range []stream.Event{
			&stream.Start{}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "waits"}, &stream.ToolStarted{Call: stream.Call{ID: "c"}},
			&stream.Thinking{Content: "waits"}, &stream.ToolCompleted{Call: stream.Call{ID: "c"}}, &stream.Delta{Text: "waits"}, &stream.Done{Reason: stream.Stop},
		} {
			_, piece := ev.(*stream.Delta)
			_, thought := ev.(*stream.Thinking)
			_, _ = out.Emit(ev), out.Flush()
			turn.mu.Lock()
			if waits := i > 1 && (piece || thought); waits != (len(own.sentAt) > 0) {
				t.Errorf("event %d: %d events wait", i, len(own.sentAt))
			}
			turn.mu.Unlock()
		}
		turn.End()
		if n := shared.appends.Load(); n != 5 || own.longest > 0 {
			t.Errorf("%d appends, the longest wait was %v", n, own.longest)
		}
	})
}

// What goes to the store together with a state does so in one append, also where a timer of what
// was flushed before fires in between, and where it is more than an output has room for.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, turn, own, out := speaking(t)
		before, flushes := shared.appends.Load(), own.flushes
		saver{turn}.Together(func() {
			for range 3 {
				_ = out.Emit(&stream.AgentRun{})
				time.Sleep(pace)
				turn.mu.Lock()
				_ = turn.Spill()
				turn.mu.Unlock()
			}
			if n := shared.appends.Load() - before; n > 0 || own.flushes > flushes {
				t.Errorf("%d appends and %d flushes before all is saved", n, own.flushes-flushes)
			}
			_ = out.Flush()
		})
		if n := shared.appends.Load() - before; n != 1 || own.flushes != flushes+1 || len(own.missing) > 0 {
			t.Errorf("%d appends, %d flushes", n, own.flushes-flushes)
		}
		_, _ = out.Emit(&stream.Delta{Text: "b"}), out.Flush()
		time.Sleep(2 * latest)
		if n := shared.appends.Load() - before; n != 2 {
			t.Errorf("a piece that comes behind is not handed on: %d appends", n)
		}
	})
}

// No log ends between the first message of a channel and the end of its turn: nothing of such an answer
// can be taken back. So neither a timer nor an output without room hands a part of them on, and the turn
// is left to no other process.
func TestMessagesGoWithTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, turn, own, out := speaking(t)
		before := shared.appends.Load()
		for i := range 2 {
			_ = out.Emit(&stream.ChannelMessage{Sequence: i + 1, Total: 2, Content: "a"})
			time.Sleep(2 * latest)
			turn.mu.Lock()
			_ = turn.Spill()
			turn.mu.Unlock()
			turn.handOver(shuttingDown())
		}
		if n := shared.appends.Load() - before; n > 0 || turn.end.state == endHandedOver {
			t.Errorf("%d appends before the end; left: %t", n, turn.end.state == endHandedOver)
		}
		_, _ = out.Emit(&stream.Done{Reason: stream.Stop}), out.Flush()
		if n := shared.appends.Load() - before; n != 1 || len(own.missing) > 0 || own.last != 6 {
			t.Errorf("%d appends, and the client has %d events", n, own.last)
		}
		turn.End()
	})
}

// A run writes what it has reported itself: nothing of it waits.
func TestRunsDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, shared, turn, own, out := gathered(t, true)
		for i, ev := range many(5) {
			_, _ = out.Emit(ev), out.Flush()
			if n := shared.appends.Load(); n != int64(i+1) || len(own.sentAt) > 0 {
				t.Errorf("event %d: %d appends, %d events wait", i, n, len(own.sentAt))
			}
		}
		turn.StopGathering()
	})
}

// Who reads the log elsewhere gets a piece in the time that the client does.
func TestReadersGetPiecesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, shared, turn, _, out := gathered(t, false)
		_, _ = out.Emit(&stream.Start{}), out.Flush()
		other := New(Config{Store: shared})
		defer other.Close()
		reported := make(chan time.Time, 100)
		read := make(chan string, 1)
		go func() {
			log, err := other.OpenLog(t.Context(), turn.ID())
			if err != nil {
				read <- err.Error()
				return
			}
			pieces, longest := 0, time.Duration(0)
			for all := range log.Events(t.Context()) {
				for _, e := range all {
					if _, ok := e.Event.(*stream.Delta); ok {
						pieces++
						longest = max(longest, time.Since(<-reported))
					}
				}
			}
			read <- fmt.Sprint(pieces, longest <= 2*time.Millisecond)
		}()
		synctest.Wait()
		for range 50 {
			reported <- time.Now()
			_, _ = out.Emit(&stream.Delta{Text: "x"}), out.Flush()
			time.Sleep(900 * time.Microsecond)
		}
		time.Sleep(2 * time.Millisecond)
		_, _ = out.Emit(&stream.Done{Reason: stream.Stop}), out.Flush()
		turn.End()
		if got := <-read; got != "50 true" {
			t.Errorf("pieces, in time: %s", got)
		}
	})
}

// Behind Rest the client's output is its owner's: what waited is there, and no timer comes.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, shared, turn, own, out := gathered(t, false)
		for _, ev := range many(2) {
			_, _ = out.Emit(ev), out.Flush()
		}
		if len(own.sentAt) != 1 {
			t.Fatalf("%d events wait", len(own.sentAt))
		}
		turn.StopGathering()
		flushes, appends := own.flushes, shared.appends.Load()
		if len(own.sentAt) > 0 || own.last != 3 {
			t.Errorf("%d events wait behind Rest", len(own.sentAt))
		}
		_, _ = out.Emit(&stream.Delta{Text: "y"}), out.Flush()
		if len(own.sentAt) > 0 {
			t.Error("an event waits for a timer that does not come")
		}
		turn.StopGathering()
		time.Sleep(time.Second)
		if own.flushes != flushes+1 || shared.appends.Load() != appends+1 {
			t.Error("something came later")
		}
		turn.End()
	})
}
