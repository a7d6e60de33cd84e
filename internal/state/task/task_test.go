package task

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// nowhere is the output of a client that takes everything.
type nowhere struct{}

func (nowhere) Write(stream.Stamp, stream.Event) error { return nil }
func (nowhere) Flush() error                           { return nil }
func (nowhere) Blocked() time.Duration                 { return 0 }

// begin begins a turn at s and emits events.
func begin(t *testing.T, s *Service, cancel context.CancelCauseFunc, events ...stream.Event) *Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", ConversationID: "conv_1"}, RequestID: "req_1", Cancel: cancel})
	if err != nil || turn == nil {
		t.Fatal(turn, err)
	}
	out := turn.Before(nowhere{})
	for i, ev := range events {
		if err := errors.Join(out.Write(stream.Stamp{N: i + 1, At: time.Duration(i + 1)}, ev), out.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	return turn
}

// logLines returns the log of a turn, an event a line.
func logLines(t *testing.T, s *Service, turn string) (lines []string) {
	t.Helper()
	log, err := s.OpenLog(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	for events, err := range log.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			line := stream.Name(e.Event)
			switch ev := e.Event.(type) {
			case *stream.ToolUnknown:
				line += " unknown " + ev.ID
			case *stream.AgentRun:
				line += " " + string(ev.Status)
			case *stream.Error:
				line += " " + string(ev.Type)
				if ev.Recoverable {
					line += ", recoverable"
				}
			case *stream.Done:
				line += " " + string(ev.Reason)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// The turn of a process that is gone is closed by one of the others: its tools, its
// agents and the turn get an end, and its owner, should it come back, adds nothing.
func TestTurnOfTheDeadIsClosed(t *testing.T) {
	t.Parallel()
	for name, repeatable := range map[string]bool{"nothing unsafe ran": true, "an unsafe tool ran": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				dead := New(Config{Store: shared})
				var cause error
				turn := begin(t, dead, func(err error) { cause = err }, &stream.Start{Model: "m"},
					&stream.Route{Decision: stream.Routed, AgentID: "a", Additional: []string{}, Method: "model"},
					&stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted},
					&stream.ToolStarted{Call: stream.Call{ID: "c1", Tool: "add"}, Repeatable: repeatable})
				dead.Close()
				one, two := New(Config{Store: shared}), New(Config{Store: shared})
				defer one.Close()
				defer two.Close()
				began := time.Now()
				fatal := "error turn_lost"
				if repeatable {
					fatal += ", recoverable"
				}
				want := []string{"start", "route", "agent started", "tool_call", "tool_call unknown c1", "agent cancelled", fatal, "done error"}
				if diff := cmp.Diff(want, logLines(t, one, turn.ID())); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if elapsed := time.Since(began); elapsed > 21*time.Second {
					t.Errorf("closed after %v", elapsed)
				}
				if task, err := shared.Task(t.Context(), turn.task); err != nil || task.State != Failed || task.Owner != "" || task.Version != 2 {
					t.Errorf("%v: %+v", err, task.Meta)
				}
				_ = turn.Write(stream.Stamp{N: 5}, &stream.Delta{Text: "late"})
				_ = turn.Flush()
				turn.End()
				if cause == nil || !strings.Contains(cause.Error(), "turn_lost") {
					t.Errorf("the owner that came back was told %v", cause)
				}
				if diff := cmp.Diff(want, logLines(t, two, turn.ID())); diff != "" {
					t.Errorf("events after that (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// failing is a store that is unavailable now and then.
type failing struct {
	*memory.Store
	down     atomic.Bool
	arrived  bool // what is sent while it is unavailable arrives all the same
	appended int
}

func (f *failing) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if f.down.Load() {
		if f.arrived {
			_ = f.Store.AppendLog(ctx, turn, a)
		}
		return store.ErrUnavailable
	}
	f.appended++
	return f.Store.AppendLog(ctx, turn, a)
}

func (f *failing) UpdateTask(ctx context.Context, id string, task store.Task, ttl time.Duration) error {
	if f.down.Load() {
		return store.ErrUnavailable
	}
	return f.Store.UpdateTask(ctx, id, task, ttl)
}

// While the store is unavailable the turn continues; afterwards its log has all events, whether
// those sent meanwhile arrived or not, and also if the turn has ended by then.
func TestLogAfterAnOutageHasNoGap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arrived, ends bool }{
		"nothing arrived": {}, "all arrived": {arrived: true}, "the turn ended meanwhile": {ends: true}, "it ended, all arrived": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := &failing{Store: memory.New(memory.Config{})}
				s := New(Config{Store: shared})
				defer s.Close()
				turn := begin(t, s, nil, &stream.Start{Model: "m"})
				n := 1
				report := func(ev stream.Event) {
					n++
					if err := errors.Join(turn.Write(stream.Stamp{N: n}, ev), turn.Flush()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(600 * time.Millisecond)
				}
				shared.arrived = tt.arrived
				shared.down.Store(true)
				for range 5 {
					report(&stream.Delta{Text: "x"})
				}
				if !tt.ends {
					shared.down.Store(false)
				}
				time.Sleep(2 * time.Second)
				report(&stream.Delta{Text: "y"})
				report(&stream.Done{Reason: stream.Stop})
				turn.End()
				time.Sleep(time.Second)
				shared.down.Store(false)
				want := []string{"start", "response_delta", "response_delta", "response_delta", "response_delta", "response_delta", "response_delta", "done stop"}
				if diff := cmp.Diff(want, logLines(t, s, turn.ID())); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				time.Sleep(10 * time.Second)
				if task, err := shared.Task(t.Context(), turn.task); err != nil || task.State != Completed {
					t.Errorf("%v: %+v", err, task.Meta)
				}
			})
		})
	}
}

// One append a flush, however many events it holds.
func TestOneAppendAFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &failing{Store: memory.New(memory.Config{})}
		s := New(Config{Store: shared})
		defer s.Close()
		turn := begin(t, s, nil, &stream.Start{Model: "m"})
		for n := range 100 {
			_ = turn.Write(stream.Stamp{N: n + 2}, &stream.Delta{Text: "x"})
		}
		_ = turn.Flush()
		_ = turn.Flush()
		if shared.appended != 2 {
			t.Errorf("%d appends", shared.appended)
		}
	})
}

// A log that would be too long is removed, and the turn continues.
func TestLogThatIsTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Store: memory.New(memory.Config{})})
		defer s.Close()
		turn := begin(t, s, nil, &stream.Start{Model: "m"})
		text := strings.Repeat("x", 1<<20)
		for n := range 9 {
			if err := errors.Join(turn.Write(stream.Stamp{N: n + 2}, &stream.Delta{Text: text}), turn.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.OpenLog(t.Context(), turn.ID()); !errors.Is(err, ErrGone) {
			t.Errorf("the log: %v", err)
		}
		_ = turn.Write(stream.Stamp{N: 11}, &stream.Done{Reason: stream.Stop})
		_ = turn.Flush()
		turn.End()
		if task, err := s.cfg.Store.Task(t.Context(), turn.task); err != nil || task.State != Completed {
			t.Errorf("%v: %+v", err, task.Meta)
		}
	})
}

// A document that something else has written is read, whatever the case of its names, and
// keeps what is not known of it.
func TestForeignDocument(t *testing.T) {
	t.Parallel()
	const foreign = `{"ID":"x","SessionId":"conv_2","STATUS":{"State":"completed","mood":1},"metadata":{"RoutingConfidence":"0.75","tier":"gold"},"more":[1]}`
	got := string(readDocument("task_1", store.Task{Doc: []byte(foreign)}).encode())
	const want = `{"id":"task_1","sessionId":"conv_2","contextId":"conv_2","status":{"state":"completed","mood":1},"metadata":{"routingConfidence":0.75,"tier":"gold"},"more":[1]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, broken := range []string{``, `{`, `[]`, `{"id":"x","status":{"state":"dreaming"}}`, `{"status":7}`} {
		if d := readDocument("task_1", store.Task{Doc: []byte(broken)}); d.Status.State != unknown || d.ID != "task_1" {
			t.Errorf("%s: %s", broken, d.encode())
		}
	}
}

// Turns that end while the store is unavailable are settled when it is back, all of them,
// however often that was tried before.
func TestEndsOutlastAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &failing{Store: memory.New(memory.Config{})}
		s := New(Config{Store: shared})
		defer s.Close()
		var turns []*Turn
		for range 3 {
			turns = append(turns, begin(t, s, nil, &stream.Start{Model: "m"}))
		}
		shared.down.Store(true)
		for _, turn := range turns {
			if err := errors.Join(turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
				t.Fatal(err)
			}
			turn.End()
		}
		time.Sleep(time.Minute)
		shared.down.Store(false)
		time.Sleep(DefaultLease)
		for _, turn := range turns {
			if got, err := shared.Task(t.Context(), turn.Task()); err != nil || got.State != Completed {
				t.Errorf("%v: %s", err, got.State)
			}
		}
	})
}

// A turn that has put its question and died before it could end has still asked: its task
// waits for the answer, and its log says so.
func TestQuestionOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		dead := New(Config{Store: shared})
		turn := begin(t, dead, nil, &stream.Start{Model: "m"}, &stream.Approval{ID: "appr_1", Prompt: "May I?"})
		dead.Close()
		s := New(Config{Store: shared})
		defer s.Close()
		time.Sleep(time.Minute)
		if got, err := shared.Task(t.Context(), turn.Task()); err != nil || got.State != InputRequired || got.Owner != "" {
			t.Errorf("%v: %+v", err, got.Meta)
		}
		if diff := cmp.Diff([]string{"start", "approval", "done approval_required"}, logLines(t, s, turn.ID())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
