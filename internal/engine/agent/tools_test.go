package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// results returns what the model received of its calls in its n-th request.
func (o *outcome) results(n int) (texts []string) {
	msgs := o.requests[n-1].Messages
	for _, p := range msgs[len(msgs)-1].Parts {
		mark := ""
		if p.Result.IsError {
			mark = "! "
		}
		texts = append(texts, mark+p.Result.Text)
	}
	return texts
}

// delays makes each call take as long as its name says, or until its context ends.
func delays(ctx context.Context, c tool.Call) (tool.Result, error) {
	d, _ := time.ParseDuration(c.Name)
	return result(c, "after "+c.Name), wait(ctx, d)
}

func TestCallsOfAStepRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "3s", "{}"), call("b", "1s", "{}"), call("c", "2s", "{}")), says("x")},
		tools:   &tool.Set{Specs: []tool.Spec{{Name: "1s", Server: "s"}, {Name: "2s", Server: "s"}, {Name: "3s", Server: "s"}}},
		call:    delays,
	})
	got.want(t, "start m", "call a 3s@s {}", "call b 1s@s {}", "call c 2s@s {}",
		"completed b 1s after 1s", "completed c 2s after 2s", "completed a 3s after 3s", "delta x", "done stop")
	if got.elapsed != 3*time.Second {
		t.Errorf("the turn took %v, want 3s: the longest call", got.elapsed)
	}
	if diff := cmp.Diff([]string{"after 3s", "after 1s", "after 2s"}, got.results(2)); diff != "" {
		t.Errorf("results must have the order of the calls (-want +got):\n%s", diff)
	}
}

// A call's time is the tool's, not that of reporting what was called.
func TestDurationIsTheTools(t *testing.T) {
	t.Parallel()
	set := &tool.Set{Specs: []tool.Spec{{Name: "1s", Server: "s"}}}
	got := play(t, scene{
		answers: []answer{wants(call("a", "1s", "{}")), says("x")}, tools: set, call: delays,
		onFlush: func(int) error { time.Sleep(time.Second); return nil },
	})
	got.want(t, "start m", "call a 1s@s {}", "completed a 1s after 1s", "delta x", "done stop")
}

type refused struct {
	name    string
	answers []answer
	want    []string // events between start and the final delta
	results []string // as reported in the last request
	calls   int      // that ran
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const tooOften = "! Not executed: the same call was made twice before. Use the results that you have."
	const not = " was not executed: the same call was made twice before"
	for _, tt := range []refused{
		{
			name: "third identical call, however it is spelt",
			answers: []answer{
				wants(call("a", "add", `{"x":1,"y":"é"}`)),
				wants(call("b", "add", `{ "y":"\u00e9", "x":1 }`)), wants(call("c", "add", `{"x":2,"y":"é"}`)),
				wants(call("d", "add", "{\"y\":\"é\",\n\"x\":1}")), says("x"),
			},
			want: []string{
				`call a add@todo {"x":1,"y":"é"}`, "completed a 0s ok",
				`call b add@todo { "y":"\u00e9", "x":1 }`, "completed b 0s ok",
				`call c add@todo {"x":2,"y":"é"}`, "completed c 0s ok",
				"call d add@todo {\"y\":\"é\",\n\"x\":1}", "failed d 0s The call of add" + not, "error tool_execution_failed The call of add" + not,
			},
			results: []string{tooOften}, calls: 3,
		},
		{
			name: "ids that differ beyond 2^53 are not identical",
			answers: []answer{
				wants(call("a", "add", `{"id":18014398509481984}`)), wants(call("b", "add", `{"id":18014398509481985}`)),
				wants(call("c", "add", `{"id":18014398509481986}`)), says("x"),
			},
			want: []string{
				`call a add@todo {"id":18014398509481984}`, "completed a 0s ok",
				`call b add@todo {"id":18014398509481985}`, "completed b 0s ok",
				`call c add@todo {"id":18014398509481986}`, "completed c 0s ok",
			},
			results: []string{"ok"}, calls: 3,
		},
		{
			name: "arguments that are no JSON",
			answers: []answer{
				wants(call("a", "add", `{"x`)), wants(call("b", "add", `{"x`)), wants(call("c", "add", `{"x`)), says("x"),
			},
			want: []string{
				`call a add@todo {"x`, "completed a 0s ok", `call b add@todo {"x`, "completed b 0s ok",
				`call c add@todo {"x`, "failed c 0s The call of add" + not, "error tool_execution_failed The call of add" + not,
			},
			results: []string{tooOften}, calls: 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

func (tt refused) check(t *testing.T) {
	t.Helper()
	got := play(t, scene{answers: tt.answers})
	got.want(t, append(append([]string{"start m"}, tt.want...), "delta x", "done stop")...)
	if diff := cmp.Diff(tt.results, got.results(len(tt.answers))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if len(got.calls) != tt.calls {
		t.Errorf("%d calls ran, want %d", len(got.calls), tt.calls)
	}
}

func TestAtMostEightCallsInAStep(t *testing.T) {
	t.Parallel()
	var calls []tool.Call
	for i := range 50 {
		calls = append(calls, call(fmt.Sprint("c", i), "add", fmt.Sprintf(`{"n":%d}`, i)))
	}
	var mu sync.Mutex
	var now, most int
	got := play(t, scene{
		answers: []answer{wants(calls...), wants(calls[8]), says("x")},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			err := wait(ctx, time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return result(c, "ok"), err
		},
	})
	if most != 8 || len(got.calls) != 9 {
		t.Errorf("%d calls ran, %d at once; want 9 (8 and the one that was called again) and 8", len(got.calls), most)
	}
	texts := got.results(2)
	if len(texts) != 50 || texts[7] != "ok" || texts[8] != "! Not executed: at most 8 calls run in one step. Call it again if it is still needed." {
		t.Errorf("%d results, the eighth %q, the ninth %q", len(texts), texts[7], texts[8])
	}
	if len(got.faults) != 42 || got.done.Reason != "stop" || len(got.done.Tools) != 51 {
		t.Errorf("%d error events (want 42), reason %q, %d timings (want 51: of all the calls told of)", len(got.faults), got.done.Reason, len(got.done.Tools))
	}
}

func TestToolFaults(t *testing.T) {
	t.Parallel()
	broken := func(ctx context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "The tool refused", Hint: "argument x must be a date"}
	}
	down := func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, &fault.Error{Type: fault.MCPUnavailable, Message: fault.MCPUnavailableMessage, Service: "mcp:todo", RetryAfter: time.Second}
	}
	wrong := func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{ID: c.ID, Name: c.Name, Text: "/var/secret is missing", IsError: true}, nil
	}
	late := func(unknown bool) func(context.Context, tool.Call) (tool.Result, error) {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			_ = wait(ctx, 10*time.Second)
			return tool.Result{}, &fault.Error{Type: fault.Timeout, Message: "The tool took too long", Unknown: unknown}
		}
	}
	const outcomeUnknown = "! The tool took too long. The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown."
	again := "! Not executed: the same call was sent before and its outcome is unknown. It must not be repeated; tell the user."
	for _, tt := range []struct {
		name         string
		call         func(context.Context, tool.Call) (tool.Result, error)
		tool         string
		want         []string // events of the first call
		first, other string   // what the model receives of it, and when it calls again
		runs         int
	}{
		{"failed", broken, "add", []string{"call a add@todo {}", "failed a 0s The tool refused", "error tool_execution_failed The tool refused"},
			"! argument x must be a date", "! argument x must be a date", 2},
		{"is error", wrong, "add", []string{"call a add@todo {}", "failed a 0s The tool add answered with an error", "error tool_execution_failed The tool add answered with an error"},
			"! /var/secret is missing", "! /var/secret is missing", 2},
		{"unreachable", down, "add", []string{"call a add@todo {}", "failed a 0s MCP service temporarily unavailable", "error mcp_unavailable MCP service temporarily unavailable"},
			"! MCP service temporarily unavailable", "! MCP service temporarily unavailable", 2},
		{"unknown tool", broken, "nope", []string{"call a nope@ {}", "failed a 0s The tool refused", "error tool_execution_failed The tool refused"},
			"! argument x must be a date", "! argument x must be a date", 2},
		{"timeout", late(true), "add", []string{"call a add@todo {}", "unknown a 10s The tool took too long", "error timeout The tool took too long"},
			outcomeUnknown, again, 1},
		{"timeout of a repeatable tool", late(false), "read", []string{"call a read@todo {}", "failed a 10s The tool took too long", "error timeout The tool took too long"},
			"! The tool took too long", "! The tool took too long", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{
				answers: []answer{wants(call("a", tt.tool, "{}")), wants(call("b", tt.tool, " { } ")), says("x")},
				call:    tt.call,
			})
			if diff := cmp.Diff(tt.want, got.events[1:4]); diff != "" {
				t.Errorf("events of the first call (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tt.first, tt.other}, append(got.results(2), got.results(3)...)); diff != "" {
				t.Errorf("what the model is told (-want +got):\n%s", diff)
			}
			if len(got.calls) != tt.runs || got.done.Reason != "stop" || got.faults[0].Fatal {
				t.Errorf("%d calls ran (want %d), reason %q, fault %+v", len(got.calls), tt.runs, got.done.Reason, got.faults[0])
			}
		})
	}
}

// A model can make up a name, which must not become part of a text for a person.
func TestMadeUpNameIsNotShown(t *testing.T) {
	t.Parallel()
	c := call("", "/etc/passwd", "{}")
	refused := &fault.Error{Type: fault.ToolFailed, Message: "no such tool"}
	got := play(t, scene{
		answers: []answer{wants(c), wants(c), wants(c), says("x")},
		call:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, refused },
	})
	if want := "The call of a tool that does not exist was not executed: the same call was made twice before"; got.faults[2].Message != want {
		t.Errorf("got %q, want %q", got.faults[2].Message, want)
	}
}

// A tool that fails without a word leaves the model with more than an empty text.
func TestErrorWithoutText(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}")), says("x")},
		call: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{ID: c.ID, Name: c.Name, IsError: true, Text: "\n"}, nil
		},
	})
	if diff := cmp.Diff([]string{"! add failed without saying why"}, got.results(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPromptNamesToolsThatStillWork(t *testing.T) {
	t.Parallel()
	set := &tool.Set{
		Specs:       []tool.Spec{{Name: "search", Server: "one", Fallback: "lookup"}, {Name: "lookup", Server: "two"}},
		Unavailable: []tool.UnavailableServer{{Server: "one", Err: isUnavailable(true)}},
	}
	got := play(t, scene{answers: []answer{says("x")}, tools: set})
	if want := "These still work, as another tool is run in their place: search."; !strings.HasSuffix(got.requests[0].Messages[0].Text(), want) {
		t.Errorf("%q is not in %q", want, got.requests[0].Messages[0].Text())
	}
}

func TestCallIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	got := play(t, scene{answers: []answer{
		wants(call("dup", "read", `{"n":1}`)),
		wants(call("dup", "read", `{"n":2}`)), wants(call("", "read", `{"n":3}`)),
		wants(call("a b", "read", `{"n":4}`)), wants(call(long, "read", `{"n":5}`)), wants(call("call_5", "read", `{"n":6}`)),
		wants(call("", "read", `{"n":7}`)), says("x"),
	}})
	var ids []string
	for _, ev := range got.events {
		if rest, ok := strings.CutPrefix(ev, "call "); ok {
			ids = append(ids, strings.Fields(rest)[0])
		}
	}
	if diff := cmp.Diff([]string{"dup", "call_1", "call_2", "call_3", "call_4", "call_5", "call_6"}, ids); diff != "" {
		t.Errorf("ids in the events (-want +got):\n%s", diff)
	}
	var back []string
	for _, c := range got.calls {
		back = append(back, c.ID)
	}
	if diff := cmp.Diff([]string{"dup", "dup", "", "a b", long, "call_5", ""}, back); diff != "" {
		t.Errorf("the model's own ids must reach the tool (-want +got):\n%s", diff)
	}
}

// 32 KiB reach the model, cut between two code points, and the text says so; the event has the
// whole text, which the encoder shortens.
func TestResultIsCapped(t *testing.T) {
	t.Parallel()
	const limit = 32 << 10
	for _, tt := range []struct {
		name, text, want string
	}{
		{"exact", strings.Repeat("x", limit), strings.Repeat("x", limit)},
		{"one more", strings.Repeat("x", limit+1), strings.Repeat("x", limit) +
			"\n[cut here: the first 32768 of 32769 bytes are shown; ask for less, for example with a filter]"},
		{"in a code point", strings.Repeat("x", limit-1) + "é", strings.Repeat("x", limit-1) +
			"\n[cut here: the first 32767 of 32769 bytes are shown; ask for less, for example with a filter]"},
	} {
		for _, failed := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " failed ", failed), func(t *testing.T) {
				t.Parallel()
				got := play(t, scene{
					answers: []answer{wants(call("a", "add", "{}")), says("x")},
					call: func(_ context.Context, c tool.Call) (tool.Result, error) {
						if failed {
							return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "no", Hint: tt.text}
						}
						return result(c, tt.text), nil
					},
				})
				if text := strings.TrimPrefix(got.results(2)[0], "! "); text != tt.want {
					t.Errorf("the model is given %d bytes that end %q", len(text), text[max(0, len(text)-100):])
				}
				if !failed && got.events[2] != "completed a 0s "+tt.text {
					t.Errorf("the event has %d bytes, want %d", len(got.events[2]), len(tt.text))
				}
			})
		}
	}
}

// A tool that panics or fails without a place in the contract ends the turn. What ran at the
// same time is cut and waited for, and nobody knows what became of it.
func TestToolBug(t *testing.T) {
	t.Parallel()
	for name, bug := range map[string]func() error{
		"panic": func() error { panic("SECRET") },
		"error": func() error { return errors.New("SECRET") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ours = "Something went wrong on our side"
			fatal := "error fatal internal_error " + ours
			do := func(ctx context.Context, c tool.Call) (tool.Result, error) {
				if c.ID == "bug" {
					return tool.Result{}, bug()
				}
				err := wait(ctx, time.Hour)
				_ = wait(context.Background(), time.Second) // some work is left when it is cut
				return tool.Result{}, err
			}
			got := play(t, scene{answers: []answer{wants(call("bug", "read", "{}")), says("x")}, call: do})
			got.want(t, "start m", "call bug read@todo {}", "failed bug 0s "+ours, fatal, "done error")

			got = play(t, scene{answers: []answer{wants(call("cut", "add", "{}"), call("bug", "add", `{"n":1}`), call("safe", "read", "{}")), says("x")}, call: do})
			head := []string{"start m", "call cut add@todo {}", `call bug add@todo {"n":1}`, "call safe read@todo {}", "unknown bug 0s " + ours}
			if diff := cmp.Diff(head, got.events[:5]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			all := strings.Join(got.events, "\n")
			for _, want := range []string{"\nunknown cut 1s " + ours, "\nfailed safe 1s " + ours, "\n" + fatal + "\ndone error"} {
				if !strings.Contains(all, want) {
					t.Errorf("events lack %q:\n%s", want, all)
				}
			}
			if got.elapsed != time.Second || strings.Contains(all, "SECRET") || !strings.Contains(got.log, "SECRET") {
				t.Errorf("took %v (want 1s: cut calls are waited for); the cause belongs into the log and not into events:\n%s\n%s", got.elapsed, all, got.log)
			}
		})
	}
}
