package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const requestTimedOut = "error fatal timeout The request took too long and was stopped"

// stalls waits for the end of its context and fails as give says.
func stalls(give func(context.Context) error) answer {
	return func(ctx context.Context, _ func(*chat.Chunk) error) error {
		_ = wait(ctx, time.Hour)
		return give(ctx)
	}
}

// asErrors are the ways in which a Model or a Tools may say that ctx ended.
func asErrors() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"the context's error": context.Context.Err,
		"its cause":           context.Cause,
		"a fault": func(ctx context.Context) error {
			return &fault.Error{Type: fault.Timeout, Message: "the upstream took too long", Err: ctx.Err()}
		},
	}
}

func TestTurnTimeoutWhileTheModelStreams(t *testing.T) {
	t.Parallel()
	for name, give := range asErrors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{answers: []answer{then(chunks(text("a")), stalls(give))}})
			got.want(t, "start m", "delta a", requestTimedOut, "done timeout")
			if got.elapsed != 30*time.Second || !got.faults[0].Recoverable {
				t.Errorf("took %v (want 30s), fault %+v", got.elapsed, got.faults[0])
			}
		})
	}
}

// Of a call that the turn's end cuts nobody knows what it did, unless Tools does or
// it may be repeated anyway. The turn's own error is the only one.
func TestTurnTimeoutWhileToolsRun(t *testing.T) {
	t.Parallel()
	for name, give := range asErrors() {
		if name == "a fault" {
			continue // it says itself what is known: see below
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, want := range map[string]string{
				"add": "unknown a 5s The turn ended before the tool did", "read": "failed a 5s The turn ended before the tool did",
			} {
				s := scene{
					answers: []answer{wants(call("a", name, "{}"))},
					call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
						_ = wait(ctx, time.Hour)
						return tool.Result{}, give(ctx)
					},
				}
				s.timeout = 5 * time.Second
				got := play(t, s)
				got.want(t, "start m", "call a "+name+"@todo {}", want, requestTimedOut, "done timeout")
			}
		})
	}
}

// What a tool is known to have done stays known, although the turn is over.
func TestToolEndsAfterTheTurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"completed": {nil, "completed a 31s ok"},
		"failed":    {&fault.Error{Type: fault.ToolFailed, Message: "no such item"}, "failed a 31s no such item"},
		"not sent":  {&fault.Error{Type: fault.MCPUnavailable, Message: "down"}, "failed a 31s down"},
		"cut":       {&fault.Error{Type: fault.MCPUnavailable, Message: "down", Unknown: true}, "unknown a 31s down"},
		"late":      {&fault.Error{Type: fault.Timeout, Message: "too late", Unknown: true}, "unknown a 31s too late"},
		"withdrawn": {&fault.Error{Type: fault.Timeout, Message: "too late"}, "failed a 31s too late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{
				answers: []answer{wants(call("a", "add", "{}"))},
				call: func(_ context.Context, c tool.Call) (tool.Result, error) {
					time.Sleep(31 * time.Second)
					return result(c, "ok"), tt.err
				},
			})
			got.want(t, "start m", "call a add@todo {}", tt.want, requestTimedOut, "done timeout")
		})
	}
}

// The time may run out just when the model has called a tool: then it is not run.
func TestNoToolStartsAfterTheEnd(t *testing.T) {
	t.Parallel()
	got := play(t, scene{answers: []answer{then(wants(call("a", "add", "{}")), func(context.Context, func(*chat.Chunk) error) error {
		time.Sleep(time.Minute)
		return nil
	})}})
	got.want(t, "start m", requestTimedOut, "done timeout")
	if len(got.calls) > 0 {
		t.Errorf("%d calls ran after the turn's end", len(got.calls))
	}
}

// What was missing at the start is no news any more when the turn is over.
func TestTurnEndsBeforeItBegins(t *testing.T) {
	t.Parallel()
	down := tool.UnavailableServer{Server: "todo", Err: &fault.Error{Type: fault.MCPUnavailable, Message: "down"}}
	got := play(t, scene{listing: time.Minute, tools: &tool.Set{Unavailable: []tool.UnavailableServer{down}}})
	got.want(t, "start m", requestTimedOut, "done timeout")
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	cause := &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"}
	leave := func(ctx context.Context, _ func(*chat.Chunk) error) error {
		cancelTurn(ctx, cause)
		return ctx.Err()
	}
	got := play(t, scene{answers: []answer{then(chunks(text("a")), leave)}})
	got.want(t, "start m", "delta a", "error fatal shutting_down The gateway is shutting down", "done shutdown")
	if got.err != nil || !got.faults[0].Recoverable {
		t.Errorf("Run: %v, fault %+v", got.err, got.faults[0])
	}
}

// Nobody receives an end when the client is gone. A call that is cut is still closed, for
// anyone who counts calls.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"as net/http says it": nil,
		"with a cause":        fmt.Errorf("%w: write: broken pipe", fault.ErrClientGone),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{answers: []answer{then(chunks(text("a")), func(ctx context.Context, _ func(*chat.Chunk) error) error {
				cancelTurn(ctx, cause)
				return &fault.Error{Type: fault.ModelUnavailable, Message: "cut", Err: ctx.Err()}
			})}})
			got.want(t, "start m", "delta a")
			if !errors.Is(got.err, fault.ErrClientGone) {
				t.Errorf("Run: %v, want ErrClientGone", got.err)
			}

			got = play(t, scene{
				answers: []answer{wants(call("a", "add", "{}"))},
				call: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					cancelTurn(ctx, cause)
					return tool.Result{}, ctx.Err()
				},
			})
			got.want(t, "start m", "call a add@todo {}", "unknown a 0s The turn ended before the tool did")
			if !errors.Is(got.err, fault.ErrClientGone) {
				t.Errorf("Run: %v, want ErrClientGone", got.err)
			}
		})
	}
}

// A panic is reported as what it is, whatever else ended the turn meanwhile: its text must not
// get lost.
func TestPanicAfterTheEnd(t *testing.T) {
	t.Parallel()
	const bug = "error fatal internal_error Something went wrong on our side"
	got := play(t, scene{answers: []answer{stalls(func(context.Context) error { panic("SECRET") })}})
	got.want(t, "start m", bug, "done error")
	if !strings.Contains(got.log, "SECRET") || !strings.Contains(got.log, "endings_test.go") {
		t.Errorf("the log lacks the panic's text or stack:\n%s", got.log)
	}

	got = play(t, scene{
		answers: []answer{wants(call("a", "read", "{}"))},
		call: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			_ = wait(ctx, time.Hour)
			panic("SECRET")
		},
	})
	got.want(t, "start m", "call a read@todo {}", "failed a 30s The turn ended before the tool did", bug, "done error")
	if !strings.Contains(got.log, "SECRET") {
		t.Errorf("the log lacks the panic's text:\n%s", got.log)
	}
}

// rich is a scene with every kind of event; the second of its calls would take an
// hour if nobody cut it.
func rich() scene {
	return scene{
		answers: []answer{
			chunks(thought("hm"), text("a"), chat.Chunk{Parts: []chat.Part{
				{Call: &tool.Call{ID: "a", Name: "add", Arguments: []byte("{}")}},
				{Call: &tool.Call{ID: "b", Name: "read", Arguments: []byte("{}")}},
			}}, end(chat.FinishStop)),
			says("b", "c"),
		},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "read" {
				return result(c, "late"), wait(ctx, time.Hour)
			}
			_ = wait(ctx, time.Millisecond) // until both have begun
			return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "no"}
		},
	}
}

// Wherever the sink fails, nothing is reported after it, nothing is begun any more, and what
// runs is cut. The fakes complain about the first two.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	s := rich()
	s.timeout = 2 * time.Hour
	whole := play(t, s)
	const lateEnd = "completed b 1h0m0s late"
	if len(whole.events) != 12 || whole.events[7] != lateEnd {
		t.Fatalf("the scene has not the 12 events that it should have: %q", whole.events)
	}
	errSink := errors.New("the sink failed")
	for n := 1; n <= len(whole.events); n++ {
		for _, where := range []string{"Emit", "Flush"} {
			t.Run(fmt.Sprint(where, n), func(t *testing.T) {
				t.Parallel()
				s := s
				failed := false
				fail := func(i int) error {
					if i == n {
						failed = true
						return errSink
					}
					return nil
				}
				if s.onEmit = fail; where == "Flush" {
					s.onEmit, s.onFlush = nil, fail
				}
				got := play(t, s)
				if errors.Is(got.err, errSink) != failed {
					t.Errorf("Run: %v, while the sink's failing was %v", got.err, failed)
				}
				if diff := cmp.Diff(whole.events[:len(got.events)], append([]string{}, got.events...)); diff != "" {
					t.Errorf("events before the failure (-want +got):\n%s", diff)
				}
				if len(got.events) < slices.Index(whole.events, lateEnd) && got.elapsed > time.Millisecond {
					t.Errorf("took %v after the sink failed", got.elapsed)
				}
			})
		}
	}
}

// A sink that panics must not leave the tools that run without an owner.
func TestSinkPanicsWhileToolsRun(t *testing.T) {
	t.Parallel()
	s := rich()
	s.onEmit = func(n int) error {
		if n == 6 { // of the failure of add, while read runs
			panic("a bug in the sink")
		}
		return nil
	}
	got := play(t, s)
	if got.elapsed > time.Millisecond || !strings.Contains(got.log, "a bug in the sink") {
		t.Errorf("took %v, want 1ms: read is cut; log:\n%s", got.elapsed, got.log)
	}
}
