package task

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// client is the output of a client, which notes what it receives.
type client struct {
	lines   []string
	onWrite func(stream.Stamp) error // may be nil
}

func (c *client) Write(s stream.Stamp, ev stream.Event) error {
	if c.onWrite != nil {
		if err := c.onWrite(s); err != nil {
			return err
		}
	}
	c.lines = append(c.lines, lineOf(s, ev))
	return nil
}

func (*client) Flush() error           { return nil }
func (*client) Blocked() time.Duration { return 0 }

func lineOf(s stream.Stamp, ev stream.Event) string {
	if start, ok := ev.(*stream.Start); ok { // ids differ
		ev = &stream.Start{Model: start.Model}
	}
	text, err := stream.AppendStored(nil, s, ev)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// follow reads a log from behind event after to its end.
func follow(ctx context.Context, s *Service, turn string, after int) (lines []string, err error) {
	log, err := s.OpenLog(ctx, turn)
	if err != nil {
		return nil, err
	}
	if more, err := log.Skip(ctx, after, func(stream.Event) {}); !more || err != nil {
		return nil, err
	}
	for logged, err := range log.Events(ctx) {
		if err != nil {
			return lines, err
		}
		for _, e := range logged {
			lines = append(lines, lineOf(e.Stamp, e.Event))
		}
	}
	return lines, nil
}

// events collects what passes a Guard, which refuses what a client must not see.
type events struct{ all []stream.Event }

func (e *events) Emit(ev stream.Event) error { e.all = append(e.all, ev); return nil }
func (*events) Flush() error                 { return nil }

// Wherever a turn was broken off, what is added makes a whole one of it. It may be run
// again only if no call has begun that must not run twice.
func TestClosingMakesATurnWhole(t *testing.T) {
	t.Parallel()
	call := func(id string) stream.Call { return stream.Call{ID: id, Tool: "t"} }
	yes, no, ms := true, false, int64(5)
	whole := []stream.Event{
		&stream.Start{}, &stream.Route{Decision: stream.Routed}, &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentStarted},
		&stream.AgentRun{AgentID: "b", Attempt: 1, Status: stream.AgentStarted}, &stream.Delta{Text: "x"},
		&stream.ToolStarted{Call: call("c1"), Repeatable: true}, &stream.ToolStarted{Call: call("c2")}, &stream.ToolProgress{Call: call("c1")},
		&stream.ToolCompleted{Call: call("c1")}, &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentCompleted, Success: &yes, Millis: &ms},
		&stream.ToolFailed{Call: call("c2")}, &stream.AgentRun{AgentID: "b", Attempt: 2, Status: stream.AgentRetrying},
		&stream.AgentRun{AgentID: "b", Attempt: 2, Status: stream.AgentFailed, Success: &no, Millis: &ms},
		&stream.Error{Type: fault.Timeout, Fatal: true}, &stream.Done{Reason: stream.TimedOut},
	}
	for cut := 1; cut <= len(whole); cut++ {
		k := stored{last: cut}
		for i, ev := range whole[:cut] {
			k.logged = append(k.logged, Logged{stream.Stamp{N: i + 1, At: time.Duration(i+1) * time.Second}, ev})
		}
		data, n := k.closingEvents(lostFault(), time.Hour, nil)
		if cut == len(whole) {
			if n != 0 || data != nil {
				t.Errorf("a turn that had ended: %d, %s", n, data)
			}
			continue
		}
		out := &events{}
		guard, last := stream.NewGuard(out), cut
		for _, logged := range k.logged {
			_ = guard.Emit(logged.Event)
		}
		for line := range strings.Lines(string(data)) {
			err := stream.ReadStoredLine([]byte(line), func(stamp stream.Stamp, ev stream.Event) {
				if last++; stamp.N != last {
					t.Errorf("cut after %d: event %d has the number %d", cut, last, stamp.N)
				}
				if err := guard.Emit(ev); err != nil {
					t.Errorf("cut after %d: %v", cut, err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if !guard.Ended() || n != last {
			t.Errorf("cut after %d: ended %v with %d events, want %d", cut, guard.Ended(), n, last)
		}
		fatal := out.all[len(out.all)-2].(*stream.Error)
		want := &stream.Error{Type: fault.TurnLost, Message: lostMessage, Fatal: true, Recoverable: cut < 7}
		if cut == 14 {
			want = &stream.Error{Type: fault.Timeout, Fatal: true}
		}
		if diff := cmp.Diff(want, fatal); diff != "" {
			t.Errorf("cut after %d (-want +got):\n%s", cut, diff)
		}
	}
}

// flaky is a store whose appends fail as verdict says: before they do what is asked of them, or
// after it.
type flaky struct {
	*memory.Store
	verdict func() (before, after error)
}

func (f *flaky) AppendLog(ctx context.Context, turn string, a store.Append) error {
	before, after := f.verdict()
	if before != nil {
		return before
	}
	return errors.Join(f.Store.AppendLog(ctx, turn, a), after)
}

// Whenever the store fails, and whether or not it did what was asked of it: the client gets
// every event at once, and in the end the log is whole or gone.
func TestOutagesLeaveNoGap(t *testing.T) {
	t.Parallel()
	logs := 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2)) // of the turn; of the store, also when a timer calls
			var off atomic.Bool
			shared := &flaky{Store: memory.New(memory.Config{}), verdict: func() (before, after error) { return nil, nil }}
			s := New(Config{Store: shared})
			defer s.Close()
			turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi"}, Cancel: func(error) {}})
			if err != nil {
				t.Fatal(err)
			}
			shared.verdict = func() (before, after error) {
				switch {
				case off.Load():
				case luck.IntN(4) == 0:
					return store.ErrUnavailable, nil
				case luck.IntN(3) == 0:
					return nil, store.ErrUnavailable
				}
				return nil, nil
			}
			own := new(client)
			out := stream.NewStamper(turn.Before(own), time.Now())
			for i, ev := range append(many(20), &stream.Done{Reason: stream.Stop}) {
				if err := errors.Join(out.Emit(ev), out.Flush()); err != nil || len(own.lines) != i+1 {
					t.Fatalf("seed %d: %d events, %v", seed, len(own.lines), err)
				}
				time.Sleep(time.Duration(random.IntN(1500)) * []time.Duration{0, time.Microsecond, time.Millisecond}[random.IntN(3)])
			}
			turn.End()
			off.Store(true)
			time.Sleep(20 * time.Second)
			if task, err := shared.Task(t.Context(), turn.Task()); err != nil || task.State != Completed {
				t.Errorf("seed %d: %v: %+v", seed, err, task.Meta)
			}
			got, err := follow(t.Context(), s, turn.ID(), 0)
			if errors.Is(err, ErrGone) {
				return
			}
			logs++
			if diff := cmp.Diff(own.lines, got); diff != "" || err != nil {
				t.Fatalf("seed %d: %v (-told +read):\n%s", seed, err, diff)
			}
		})
	}
	if logs < 290 {
		t.Errorf("only %d of 300 logs are there", logs)
	}
}

// many returns events that each are a flush.
func many(n int) []stream.Event {
	all := []stream.Event{&stream.Start{Model: "m"}}
	for range n {
		all = append(all, &stream.Delta{Text: "x"})
	}
	return all
}

// A log that the store has forgotten, or that another process has ended, is not gone on
// with. The client of this turn gets what it was to get; only a turn that another process has
// taken ends.
func TestLogsThatCannotGoOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before    func(t *testing.T, s *Service, turn *Turn)
		left      bool // the log stays
		cancelled bool
	}{
		"the store forgot the log": {func(t *testing.T, s *Service, turn *Turn) {
			if err := s.cfg.Store.DropLog(t.Context(), turn.ID()); err != nil {
				t.Fatal(err)
			}
		}, false, false},
		"the store forgot all": {func(t *testing.T, s *Service, turn *Turn) {
			if err := errors.Join(s.cfg.Store.DropLog(t.Context(), turn.ID()), s.cfg.Store.DeleteTask(t.Context(), turn.Task())); err != nil {
				t.Fatal(err)
			}
		}, false, false},
		"somebody took the turn": {func(t *testing.T, s *Service, turn *Turn) {
			task, err := s.cfg.Store.Task(t.Context(), turn.Task())
			if err != nil {
				t.Fatal(err)
			}
			task.Holder = store.Holder{Owner: "other", Epoch: 1}
			if err := s.cfg.Store.UpdateTask(t.Context(), turn.Task(), task, time.Hour); err != nil {
				t.Fatal(err)
			}
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Store: memory.New(memory.Config{})})
				defer s.Close()
				var cause error
				turn := begin(t, s, func(err error) { cause = err }, &stream.Start{Model: "m"}, &stream.Delta{Text: "x"})
				tt.before(t, s, turn)
				own := new(client)
				turn.Before(own)
				turn.OnBreak(func() { own.lines = nil })
				want := 2 // events
				if tt.cancelled {
					want = 0
				}
				for i, ev := range []stream.Event{&stream.Delta{Text: "y"}, &stream.Done{Reason: stream.Stop}} {
					err := errors.Join(turn.Write(stream.Stamp{N: i + 3}, ev), turn.Flush())
					if _, last := ev.(*stream.Done); err != nil && !tt.cancelled || last && errors.Is(err, ErrBroken) != tt.cancelled {
						t.Error(err)
					}
				}
				turn.End()
				if len(own.lines) != want || (cause != nil) != tt.cancelled {
					t.Errorf("the client was told %q, the turn was ended by %v", own.lines, cause)
				}
				entries, err := s.cfg.Store.ReadLog(t.Context(), turn.ID(), 0, 9)
				if (err == nil) != tt.left || tt.left && len(entries) != 2 {
					t.Errorf("the log has %d entries, %v", len(entries), err)
				}
			})
		})
	}
}

// A log that is damaged, or that a newer version has written, is none: nothing of it is
// reported in part.
func TestDamagedLogs(t *testing.T) {
	t.Parallel()
	const good = `{"task":"task_1","turn":"turn_1","request_id":"r","accumulated":true}` + "\n"
	for name, data := range map[string]string{
		"empty": "", "no JSON": "x", "no head": `{"n":1}`, "another turn's": strings.Replace(good, "turn_1", "turn_2", 1),
		"an event that is none": good + "{}\n", "an event that is cut": good + `{"n":1,"at":1,"event":"response_del`,
		"an event of a newer version": good + `{"n":1,"at":1,"event":"newer","data":{}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Store: memory.New(memory.Config{})})
				defer s.Close()
				if err := s.cfg.Store.AppendLog(t.Context(), "turn_1", store.Append{Entry: store.Entry{N: 1, Data: []byte(data)}}); err != nil {
					t.Fatal(err)
				}
				if _, err := s.OpenLog(t.Context(), "turn_1"); !errors.Is(err, ErrGone) {
					t.Errorf("%v, want %v", err, ErrGone)
				}
			})
		})
	}
}

// A process whose lease the store has forgotten does not take its own turns for those of the
// dead.
func TestOwnTurnsAreNotClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		s := New(Config{Store: shared})
		defer s.Close()
		turn := begin(t, s, func(err error) { t.Errorf("the turn was ended by %v", err) }, &stream.Start{Model: "m"})
		s.readers.Add(1) // who looks every second
		for range 10 {
			if err := shared.ReleaseLease(t.Context(), s.holder); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1300 * time.Millisecond)
		}
		if err := errors.Join(turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
			t.Error(err)
		}
		turn.End()
		if diff := cmp.Diff([]string{"start", "done stop"}, logLines(t, s, turn.ID())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
