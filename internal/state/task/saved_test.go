package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// rests is a Turns whose turns say that they go on, and end.
type rests struct {
	mu     sync.Mutex // guards the fields below
	err    error
	states []map[string][][]byte // of those that went on
	runs   func(ctx context.Context, sink stream.Sink) (stream.Result, error)
	// before runs when the turn was read, and before it is claimed.
	before func()
}

func (r *rests) Continue(_ *chat.Request, states map[string][][]byte, _ []stream.Event) (*stream.Frame, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	r.states = append(r.states, states)
	if r.before != nil {
		r.before()
	}
	return &stream.Frame{Runner: r, Model: "m"}, nil
}

// ContinuesText implements task.Turns.
func (*rests) ContinuesText(*chat.Request, string) bool { return false }

// Run implements stream.Runner.
func (r *rests) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if r.runs != nil {
		return r.runs(ctx, sink)
	}
	if req.Facts.Saving == nil {
		return stream.Result{}, errors.New("nothing saves the turn")
	}
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: "whole"})
}

func (r *rests) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states)
}

// left begins a turn whose process is gone: with a state behind the text "Step. ", and more text
// behind that.
func left(t *testing.T, st Store, req Request, also func(*Turn)) (task, turn string) {
	t.Helper()
	return leftBehind(t, st, req, "Half an ans", also)
}

// leftBehind is left with that text behind the state, if any.
func leftBehind(t *testing.T, st Store, req Request, half string, also func(*Turn)) (task, turn string) {
	t.Helper()
	dead := New(Config{Store: st, Turns: new(rests), Lease: 3 * time.Second})
	req.Detached, req.Cancel = true, func(error) {}
	if req.Chat == nil {
		req.Chat = &chat.Request{Input: "hi"}
	}
	of, err := dead.Begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out := of.Before(nowhere{})
	write := func(n int, ev stream.Event) {
		if err := errors.Join(out.Write(stream.Stamp{N: n}, ev), out.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	write(1, &stream.Start{})
	write(2, &stream.Delta{Text: "Step. "})
	of.Saving().Save("", []byte(`{"step":1}`))
	if err := of.Saving().Confirm(); err != nil {
		t.Fatal(err)
	}
	if half != "" {
		write(3, &stream.Delta{Text: half})
	}
	if also != nil {
		also(of)
	}
	of.mu.Lock()
	if err := of.handOn(); err != nil {
		t.Fatal(err)
	}
	of.mu.Unlock()
	dead.Close()
	return of.Task(), of.ID()
}

// awaitEnd waits until a task is over, and returns it with the lines of its turn's log.
func awaitEnd(t *testing.T, s *Service, task, turn string) (store.Task, []string) {
	t.Helper()
	for range 200 {
		got, err := s.cfg.Store.Task(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != Working {
			if _, err := s.OpenLog(t.Context(), turn); err != nil {
				return got, nil
			}
			return got, logLines(t, s, turn)
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the turn is not over")
	return store.Task{}, nil
}

// A turn goes on from where it stood: text behind that is taken back, and numbers have a gap.
func TestTurnGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		task, turn := left(t, shared, Request{Retracts: true}, nil)
		all := new(rests)
		s := New(Config{Store: shared, Turns: all, Lease: 3 * time.Second})
		defer s.Close()
		got, _ := awaitEnd(t, s, task, turn)
		if got.State != Completed || !strings.Contains(string(got.Doc), "Step. whole") {
			t.Errorf("%s: %s", got.State, got.Doc)
		}
		if diff := cmp.Diff([]map[string][][]byte{{"": {[]byte(`{"step":1}`)}}}, all.states); diff != "" {
			t.Errorf("the states (-want +got):\n%s", diff)
		}
		kept, err := s.readAll(t.Context(), turn)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, e := range kept.logged {
			events = append(events, fmt.Sprintf("%d %T", e.N, e.Event))
			if done, ok := e.Event.(*stream.Done); ok && (done.Takeovers != 1 || !done.Usage.Estimated) {
				t.Errorf("the end is %+v", done)
			}
			if reset, ok := e.Event.(*stream.Reset); ok && (reset.Accumulated != "Step. " || reset.Reason != stream.ResetTakenOver) {
				t.Errorf("taken back: %+v", reset)
			}
		}
		want := []string{"1 *stream.Start", "2 *stream.Delta", "3 *stream.Delta", "1000001 *stream.Reset", "1000002 *stream.Delta", "1000003 *stream.Done"}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if items, err := shared.List(t.Context(), store.TurnKey(turn), 0, 0); err != nil || len(items) > 0 {
			t.Errorf("%v, %d items are left", err, len(items))
		}
	})
}

// The clock of the process that is gone was a day ahead, or behind: its turn is gone on with, or
// closed, as if it had not been, and lasted as long as the store says.
func TestClocksADayApart(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "behind": -24 * time.Hour} {
		for what, turns := range map[string]*rests{"gone on with": new(rests), "closed": {err: errors.New("no such agent")}} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					shared := memory.New(memory.Config{})
					id, turn := left(t, shared, Request{Retracts: true}, nil)
					got, err := shared.Task(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					stamp := time.Now().UTC()
					day := stamp.Format("2006-01-02")
					doc := strings.ReplaceAll(string(got.Doc), day, stamp.Add(by).Format("2006-01-02"))
					if doc == string(got.Doc) {
						t.Fatalf("no time in %s", doc)
					}
					got.Doc, got.Created = []byte(doc), got.Created.Add(by)
					if err := shared.UpdateTask(t.Context(), id, got, time.Hour); err != nil {
						t.Fatal(err)
					}
					time.Sleep(30 * time.Second)
					s := New(Config{Store: shared, Turns: turns, Lease: 3 * time.Second})
					defer s.Close()
					if end, _ := awaitEnd(t, s, id, turn); (end.State == Completed) != (turns.err == nil) {
						t.Errorf("%s: %s", end.State, end.Doc)
					}
					kept, err := s.readAll(t.Context(), turn)
					if err != nil {
						t.Fatal(err)
					}
					done := kept.logged[len(kept.logged)-1].Event.(*stream.Done)
					if total := done.Timings.Total; turns.err != nil && (total < 30*time.Second || total > time.Minute) {
						t.Errorf("it lasted %s", total)
					}
				})
			})
		}
	}
}

// A client comes back with the id of an event before, in and behind the gap. In the gap it has text
// that the log never got: it is shown first which text counts, under the number that it has.
func TestResumesAroundTheGap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after   int
		retract bool // of the log
		want    string
	}{
		"before":                                 {2, true, "3 delta, 1000001 reset Step. , 1000002 delta, 1000003 done"},
		"the last before, taken back by the log": {3, true, "1000001 reset Step. , 1000002 delta, 1000003 done"},
		"in it, taken back by the log":           {7, true, "1000001 reset Step. , 1000002 delta, 1000003 done"},
		"the last before":                        {2, false, "1000001 delta, 1000002 done"},
		"in it":                                  {7, false, "7 reset Step. , 1000001 delta, 1000002 done"},
		"at its end":                             {1_000_000, false, "1000000 reset Step. , 1000001 delta, 1000002 done"},
		"behind":                                 {1_000_001, false, "1000002 done"},
		"behind the end":                         {1_000_007, false, "1000002 done"},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { resumesAround(t, tt.after, tt.retract, late, tt.want) })
			})
		}
	}
}

// resumesAround compares what a reader is shown behind an event; late: the turn goes on when the
// reader is there.
func resumesAround(t *testing.T, after int, retract, late bool, want string) {
	shared := memory.New(memory.Config{})
	half := "Half"
	if !retract {
		half = ""
	}
	task, turn := leftBehind(t, shared, Request{Retracts: true}, half, nil)
	s := New(Config{Store: shared, Turns: new(rests), Lease: 3 * time.Second})
	defer s.Close()
	if !late {
		awaitEnd(t, s, task, turn)
	} else if after > 1_000_000 {
		return // nobody has that yet
	}
	log, err := s.OpenLog(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := log.Skip(t.Context(), after, func(stream.Event) {}); err != nil {
		t.Fatal(err)
	}
	for events, err := range log.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch ev := e.Event.(type) {
			case *stream.Reset:
				got = append(got, fmt.Sprint(e.N, " reset ", ev.Accumulated))
			case *stream.Delta:
				got = append(got, fmt.Sprint(e.N, " delta"))
			case *stream.Done:
				got = append(got, fmt.Sprint(e.N, " done"))
			}
		}
	}
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A process is gone before the log of its turn had anything. Who reads the turn, by its task or by
// the id of an event, and who repeats its key wait for the process that goes on with it.
func TestTurnWithoutALogGoesOn(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-a-client"
	for _, by := range []string{"its task", "an event", "its key"} {
		t.Run("read by "+by, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				cut := &lapsing{Store: shared}
				dead := New(Config{Store: cut, Turns: new(rests), Lease: 3 * time.Second})
				defer dead.Close()
				req := Request{Key: key, Body: new([32]byte), Chat: &chat.Request{Input: "hi"}, Detached: true, Retracts: true, Cancel: func(error) {}}
				of, err := dead.Begin(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				cut.stopped.Store(true)
				s := New(Config{Store: shared, Turns: new(rests), Lease: 3 * time.Second})
				defer s.Close()
				var log *Log
				switch by {
				case "its task":
					log, err = s.Await(t.Context(), of.Task(), of.ID())
				case "an event":
					log, err = s.Await(t.Context(), "", of.ID())
				case "its key":
					for again := true; again; { // as Retry-After says
						time.Sleep(time.Second)
						var r *Replay
						if _, err = s.Begin(t.Context(), req); !errors.As(err, &r) {
							t.Fatalf("the key again: %v", err)
						}
						log, err = s.Reopen(t.Context(), r, func() {})
						f, busy := errors.AsType[*fault.Error](err)
						again = busy && f.Type == fault.DuplicateRequest && f.RetryAfter > 0
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				text, ended := "", false
				for events, err := range log.Events(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range events {
						if d, ok := e.Event.(*stream.Delta); ok {
							text += d.Text
						}
						_, ended = e.Event.(*stream.Done)
					}
				}
				if text != "whole" || !ended {
					t.Errorf("%q, ended: %v", text, ended)
				}
			})
		})
	}
}

// What cannot go on is closed as lost, with a gap and the number of takeovers; one whose end was
// asked for is cancelled.
func TestTurnsThatDoNotGoOn(t *testing.T) {
	t.Parallel()
	push := func(text string) func(*testing.T, *memory.Store, string, string) {
		return func(t *testing.T, st *memory.Store, _, turn string) {
			if err := st.PushList(t.Context(), store.TurnKey(turn), []byte(text), store.Bounds{}, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
	}
	instead := func(text string) func(*testing.T, *memory.Store, string, string) {
		return func(t *testing.T, st *memory.Store, task, turn string) {
			items, err := st.List(t.Context(), store.TurnKey(turn), 0, 1)
			if err != nil || st.DeleteList(t.Context(), store.TurnKey(turn)) != nil {
				t.Fatal(err)
			}
			push(string(items[0]))(t, st, task, turn)
			push(text)(t, st, task, turn)
		}
	}
	claim := `{"claim":"gw"}` + "\n"
	withoutLog := func(with func(*testing.T, *memory.Store, string, string)) func(*testing.T, *memory.Store, string, string) {
		return func(t *testing.T, st *memory.Store, task, turn string) {
			with(t, st, task, turn)
			_ = st.DropLog(t.Context(), turn)
			time.Sleep(time.Minute)
		}
	}
	for what, tt := range map[string]struct {
		req   Request
		with  func(t *testing.T, st *memory.Store, task, turn string)
		turns *rests
		want  fault.Type // empty: it goes on
	}{
		"as it is":                         {Request{Retracts: true}, nil, new(rests), ""},
		"readers that cannot follow":       {Request{}, nil, new(rests), ""},
		"four processes have failed":       {Request{Retracts: true}, push(strings.Repeat(claim, 4)), new(rests), ""},
		"five processes have failed":       {Request{Retracts: true}, push(strings.Repeat(claim, 5)), new(rests), fault.TurnLost},
		"five, and a step between":         {Request{Retracts: true}, push(strings.Repeat(claim, 5) + `{"text":6,"state":{}}`), new(rests), ""},
		"a line that is cut":               {Request{Retracts: true}, push(`{"text":6,"sta`), new(rests), fault.TurnLost},
		"states that are too large":        {Request{Retracts: true}, push(`{"text":6,"state":"` + strings.Repeat("x", maxSaved) + `"}`), new(rests), fault.TurnLost},
		"states of just the size":          {Request{Retracts: true}, push(`{"text":6,"state":"` + strings.Repeat("x", maxSaved-len(`{"step":1}""`)) + `"}`), new(rests), ""},
		"states and a byte":                {Request{Retracts: true}, push(`{"text":6,"state":"` + strings.Repeat("x", maxSaved+1-len(`{"step":1}""`)) + `"}`), new(rests), fault.TurnLost},
		"states that were left out":        {Request{Retracts: true}, push(`{"too_large":true}`), new(rests), fault.TurnLost},
		"more text than there is":          {Request{Retracts: true}, push(`{"text":99,"state":{}}`), new(rests), fault.TurnLost},
		"a negative text":                  {Request{Retracts: true}, push(`{"text":-1,"state":{}}`), new(rests), fault.TurnLost},
		"a state that is none":             {Request{Retracts: true}, push(`{"text":1}`), new(rests), fault.TurnLost},
		"a request once more":              {Request{Retracts: true}, push(`{"version":1,"request":{"version":1,"Input":"x"}}`), new(rests), fault.TurnLost},
		"a newer version":                  {Request{Retracts: true}, push(`{"version":2}`), new(rests), fault.TurnLost},
		"what answers is not here":         {Request{Retracts: true}, nil, &rests{err: errors.New("no such agent")}, fault.TurnLost},
		"all of it is out, and of several": {Request{}, instead(`{"text":17,"part":"team:","state":{}}` + "\n" + `{"text":17,"part":"` + chat.SavedDelivery + `","state":{}}`), new(rests), ""},
		"not all of it, of a team":         {Request{}, instead(`{"text":17,"part":"team:","state":{}}`), new(rests), ""},
		"nothing was saved": {Request{Retracts: true}, func(t *testing.T, st *memory.Store, _, turn string) {
			_ = st.DeleteList(t.Context(), store.TurnKey(turn))
		}, new(rests), fault.TurnLost},
		"its log is gone": {Request{Retracts: true}, func(t *testing.T, st *memory.Store, _, turn string) { _ = st.DropLog(t.Context(), turn) }, new(rests), "gone"},
		"no log, and old": {Request{Retracts: true}, withoutLog(instead("")), new(rests), "gone"},
		"no log, old, and claimed by a process that died": {Request{Retracts: true}, withoutLog(instead(claim)), new(rests), ""},
		"its end was asked for":                           {Request{Retracts: true}, func(t *testing.T, st *memory.Store, task, _ string) { _, _ = st.CancelTask(t.Context(), task) }, new(rests), fault.Cancelled},
		"silent for ten minutes":                          {Request{Retracts: true}, func(*testing.T, *memory.Store, string, string) { time.Sleep(10*time.Minute + time.Second) }, new(rests), fault.TurnLost},
		"silent for less than ten":                        {Request{Retracts: true}, func(*testing.T, *memory.Store, string, string) { time.Sleep(9 * time.Minute) }, new(rests), ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				task, turn := left(t, shared, tt.req, nil)
				if tt.with != nil {
					tt.with(t, shared, task, turn)
				}
				s := New(Config{Store: shared, Turns: tt.turns, Lease: 3 * time.Second})
				defer s.Close()
				got, _ := awaitEnd(t, s, task, turn)
				if went := tt.turns.count() > 0 && got.State == Completed; went != (tt.want == "") {
					t.Fatalf("it went on: %v; %s %s", went, got.State, got.Doc)
				}
				if tt.want == "" || tt.want == "gone" {
					return
				}
				kept, err := s.readAll(t.Context(), turn)
				if err != nil {
					t.Fatal(err)
				}
				var failed fault.Type
				for _, e := range kept.logged {
					if bad, ok := e.Event.(*stream.Error); ok && bad.Fatal {
						failed = bad.Type
					}
				}
				last := kept.logged[len(kept.logged)-1]
				done := last.Event.(*stream.Done)
				if failed != tt.want || what != "nothing was saved" && (last.N <= 1_000_000 || done.Takeovers == 0) {
					t.Errorf("event %d: %s, %+v", last.N, failed, done)
				}
			})
		})
	}
}

// What happens between the moment in which a turn is read and that in which it is claimed is not
// lost: a turn that is deleted then does not come back, and one whose end is asked for ends.
func TestClaimsInTheSameInstant(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"deleted", "cancelled"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				task, turn := left(t, shared, Request{Retracts: true}, nil)
				once := sync.OnceFunc(func() {
					var err error
					if what == "cancelled" {
						_, err = shared.CancelTask(t.Context(), task)
					} else {
						err = errors.Join(shared.DropLog(t.Context(), turn), shared.DeleteTask(t.Context(), task), shared.DeleteList(t.Context(), store.TurnKey(turn)))
					}
					if err != nil {
						t.Error(err)
					}
				})
				all := &rests{before: once, runs: func(ctx context.Context, _ stream.Sink) (stream.Result, error) {
					select {
					case <-ctx.Done():
						return stream.Result{}, context.Cause(ctx)
					case <-time.After(time.Minute):
						return stream.Result{Reason: stream.Stop}, nil
					}
				}}
				s := New(Config{Store: shared, Turns: all, Lease: 3 * time.Second})
				defer s.Close()
				if what == "cancelled" {
					if got, _ := awaitEnd(t, s, task, turn); got.State != Canceled {
						t.Errorf("it is %s", got.State)
					}
					return
				}
				time.Sleep(2 * time.Minute)
				if _, err := shared.Task(t.Context(), task); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the task is back: %v", err)
				}
				if items, _ := shared.List(t.Context(), store.TurnKey(turn), 0, 0); len(items) > 0 {
					t.Errorf("%d items are back", len(items))
				}
				if _, err := s.OpenLog(t.Context(), turn); err == nil {
					t.Error("the log is back")
				}
			})
		})
	}
}

// A process that is alive after all, and saves a call between the moment in which its turn is read and
// that in which it is claimed, has the turn go on with that call, or does not make it.
func TestIntentBeforeTheClaimIsSeen(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"an event", "no event"} {
		t.Run("with "+with, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				var owner *Turn
				task, turn := leftBehind(t, shared, Request{Retracts: true}, "", func(of *Turn) { owner = of })
				call := stream.Call{ID: "c", Tool: "pay"}
				confirmed := errors.New("nothing was saved")
				save := sync.OnceFunc(func() {
					owner.Saving().Save("", []byte(`{"step":2}`))
					if with == "an event" {
						if err := owner.Write(stream.Stamp{N: 3}, &stream.ToolStarted{Call: call}); err != nil {
							t.Error(err)
						}
					}
					confirmed = owner.Saving().Confirm()
				})
				runs := 0
				all := &rests{before: save}
				all.runs = func(_ context.Context, sink stream.Sink) (stream.Result, error) {
					runs++
					if with == "an event" {
						_ = sink.Emit(&stream.ToolUnknown{Call: call})
					}
					return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: "whole"})
				}
				s := New(Config{Store: shared, Turns: all, Lease: 3 * time.Second})
				defer s.Close()
				got, _ := awaitEnd(t, s, task, turn)
				states := all.states[len(all.states)-1][""]
				if last := string(states[len(states)-1]); confirmed != nil || last != `{"step":2}` || runs != 1 || got.State != Completed {
					t.Errorf("confirmed: %v; it went on from %s, %d times, and is %s", confirmed, last, runs, got.State)
				}
				if _, err := s.OpenLog(t.Context(), turn); err != nil {
					t.Errorf("its log: %v", err)
				}
			})
		})
	}
}

// Turns whose end goes with their client, and turns where it is switched off, save nothing.
func TestTurnsThatAreNotSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for what, cfg := range map[string]Config{"attached": {Turns: new(rests)}, "off": {}} {
			shared := memory.New(memory.Config{})
			cfg.Store = shared
			s := New(cfg)
			turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi"}, Detached: what == "off", Cancel: func(error) {}})
			if err != nil {
				t.Fatal(err)
			}
			if turn.Saving() != nil {
				t.Errorf("%s: it saves", what)
			}
			if items, _ := shared.List(t.Context(), store.TurnKey(turn.ID()), 0, 0); len(items) > 0 {
				t.Errorf("%s: %q is saved", what, items)
			}
			turn.End()
			s.Close()
		}
	})
}

// sized is a state of so many bytes.
func sized(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }

// What is saved has room for exactly a mebibyte of states, and for as much of a request: a byte more,
// and nobody goes on with the turn.
func TestSizesOfWhatIsSaved(t *testing.T) {
	t.Parallel()
	empty, err := (&chat.Request{Input: "x"}).Stored()
	if err != nil {
		t.Fatal(err)
	}
	before := len(`{"step":1}`)
	for what, tt := range map[string]struct {
		request int
		states  []int // behind the one that each of these turns has
		goesOn  bool
	}{
		"a whole state":            {0, []int{maxSaved - before}, true},
		"a state and a byte":       {0, []int{maxSaved - before + 1}, false},
		"states":                   {0, []int{maxSaved / 2, maxSaved/2 - before}, true},
		"states and a byte":        {0, []int{maxSaved / 2, maxSaved/2 - before + 1}, false},
		"too much, and one behind": {0, []int{maxSaved, 10}, false},
		"a whole request":          {maxSaved, nil, true},
		"a request and a byte":     {maxSaved + 1, nil, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared, all := memory.New(memory.Config{}), new(rests)
				dead := New(Config{Store: shared, Turns: new(rests), Lease: 3 * time.Second})
				of, err := dead.Begin(t.Context(), Request{Chat: &chat.Request{Input: strings.Repeat("x", max(1, tt.request-len(empty)+1))}, Detached: true, Retracts: true, Cancel: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				if saves := of.Saving() != nil; saves != (tt.request <= maxSaved) {
					t.Fatalf("it saves: %v", saves)
				}
				out := of.Before(nowhere{})
				if err := errors.Join(out.Write(stream.Stamp{N: 1}, &stream.Start{}), out.Flush()); err != nil {
					t.Fatal(err)
				}
				for i, state := range append([]int{before}, tt.states...) {
					if of.Saving() == nil {
						break
					}
					of.Saving().Save("", sized(state))
					if err := of.Saving().Confirm(); err != nil {
						t.Errorf("state %d: %v", i, err)
					}
				}
				of.mu.Lock()
				_ = of.handOn()
				of.mu.Unlock()
				dead.Close()
				s := New(Config{Store: shared, Turns: all, Lease: 3 * time.Second})
				defer s.Close()
				got, lines := awaitEnd(t, s, of.Task(), of.ID())
				if lost := strings.Contains(strings.Join(lines, "\n"), string(fault.TurnLost)); lost == tt.goesOn || (got.State == Completed) != tt.goesOn {
					t.Fatalf("%s, and lost is %v", got.State, lost)
				}
				if tt.goesOn && tt.states != nil && len(all.states[0][""]) != 1+len(tt.states) {
					t.Errorf("%d states", len(all.states[0][""]))
				}
			})
		})
	}
}

// A turn that is handed over goes on elsewhere at once, though its process still lives; and its
// process emits nothing more.
func TestTurnIsHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		one, two := New(Config{Store: shared, Turns: new(rests)}), New(Config{Store: shared, Turns: new(rests)})
		defer two.Close()
		defer one.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		turn, err := one.Begin(ctx, Request{Chat: &chat.Request{Input: "hi"}, Detached: true, Retracts: true, Cancel: cancel})
		if err != nil {
			t.Fatal(err)
		}
		out := turn.Before(nowhere{})
		if err := errors.Join(out.Write(stream.Stamp{N: 1}, &stream.Start{}), out.Write(stream.Stamp{N: 2}, &stream.Delta{Text: "Half"}), out.Flush()); err != nil {
			t.Fatal(err)
		}
		end := turn.Saving().Begin()
		began := time.Now()
		turn.HandOver(shuttingDown())
		time.Sleep(time.Second)
		if ctx.Err() != nil {
			t.Error("a call is cut that must not be made twice")
		}
		end()
		<-ctx.Done()
		if fault.From(context.Cause(ctx)).Type != fault.ShuttingDown {
			t.Errorf("it ends because of %v", context.Cause(ctx))
		}
		if err := out.Write(stream.Stamp{N: 3}, &stream.Delta{Text: "late"}); !errors.Is(err, ErrBroken) {
			t.Errorf("it emits more: %v", err)
		}
		turn.End()
		got, lines := awaitEnd(t, two, turn.Task(), turn.ID())
		if got.State != Completed || strings.Contains(strings.Join(lines, "\n"), "late") || !strings.Contains(string(got.Doc), "whole") {
			t.Errorf("%s %s\n%s", got.State, got.Doc, strings.Join(lines, "\n"))
		}
		if elapsed := time.Since(began); elapsed > 3*time.Second {
			t.Errorf("it lasted %s", elapsed)
		}
	})
}

// A call that takes longer than two seconds is not waited for any more.
func TestHandOverDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Store: memory.New(memory.Config{}), Turns: new(rests)})
		defer s.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		turn, err := s.Begin(ctx, Request{Chat: &chat.Request{Input: "hi"}, Detached: true, Cancel: cancel})
		if err != nil {
			t.Fatal(err)
		}
		turn.Before(nowhere{})
		end, began := turn.Saving().Begin(), time.Now()
		turn.HandOver(shuttingDown())
		<-ctx.Done()
		if elapsed := time.Since(began); elapsed != 2*time.Second {
			t.Errorf("it lasted %s", elapsed)
		}
		end()
		turn.End()
	})
}

func FuzzReadSaved(f *testing.F) {
	f.Add([]byte(`{"version":1,"request":{},"head":{}}`), []byte("{\"text\":1,\"state\":{}}\n{\"claim\":\"x\"}\n"))
	f.Add([]byte(`{"version":2}`), []byte(`{"too_large":true}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		s, err := readSaved([][]byte{one, two})
		if err != nil && !errors.Is(err, errSaved) {
			t.Errorf("%v", err)
		}
		if err == nil && (s.size > maxSaved || s.text < 0 || s.claims > s.all) {
			t.Errorf("%+v", s)
		}
	})
}

// Text that no saved state knows of is taken back. Of what several have said each by itself the turn
// takes back all or nothing: they know the rest.
func TestTextIsTakenBack(t *testing.T) {
	t.Parallel()
	log := []stream.Event{&stream.Start{}, &stream.Delta{Text: "One. "}, &stream.Delta{Text: "Two."}}
	for _, tt := range []struct {
		saved savedTurn
		want  string // what stays; "-": nothing is taken back
	}{
		{savedTurn{retracts: true}, ""},
		{savedTurn{retracts: true, text: 5, states: map[string][][]byte{"": {{}}}}, "One. "},
		{savedTurn{retracts: true, text: 9, states: map[string][][]byte{"": {{}}}}, "-"},
		{savedTurn{retracts: true, text: 0, states: map[string][][]byte{"team:": {{}}, "a": {{}}}}, ""},
		{savedTurn{retracts: true, text: 5, states: map[string][][]byte{"team:": {{}}, "a": {{}}}}, "-"},
		{savedTurn{retracts: true, text: 9, states: map[string][][]byte{"team:": {{}}, chat.SavedDelivery: {{}}}}, "-"},
	} {
		stays := "-"
		for _, ev := range (&plainRun{savedTurn: &tt.saved, request: new(chat.Request)}).TakeOver(log) {
			stays = ev.(*stream.Reset).Accumulated
		}
		if stays != tt.want {
			t.Errorf("%+v: %q stays, want %q", tt.saved, stays, tt.want)
		}
	}
	several := []stream.Event{&stream.Delta{Text: "One. ", Attribution: stream.Attribution{AgentID: "a"}}, &stream.Delta{Text: "Two.", Attribution: stream.Attribution{AgentID: "b"}}}
	remote := []stream.Event{&stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Remote: true}, log[1], log[2]}
	for _, tt := range []struct {
		saved savedTurn
		log   []stream.Event
		shown string
	}{
		{savedTurn{}, log, "One. Two."},
		{savedTurn{text: 5, states: map[string][][]byte{"": {{}}}}, log, "Two."},
		{savedTurn{text: 9, states: map[string][][]byte{"": {{}}}}, log, ""},
		{savedTurn{text: 5, states: map[string][][]byte{"team:": {{}}, "a": {{}}}}, log, "One. Two."},
		{savedTurn{text: 5, states: map[string][][]byte{"team:": {{}}, "a": {{}}}}, several, ""},
		{savedTurn{}, remote, ""},
		{savedTurn{text: 5, states: map[string][][]byte{"": {{}}, chat.SavedDelivery: {{}}}}, log, ""},
	} {
		run := &plainRun{savedTurn: &tt.saved, request: new(chat.Request)}
		var kept stored
		for _, ev := range tt.log {
			kept.logged = append(kept.logged, Logged{Event: ev})
		}
		run.readLog(kept)
		if run.TakeOver(run.before); run.shownText != tt.shown {
			t.Errorf("%+v: %q is continued, want %q", tt.saved, run.shownText, tt.shown)
		}
	}
}
