package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// isMalformed is the cause of a call that cannot be read, as a driver reports it.
type isMalformed struct{}

func (isMalformed) Error() string       { return "MALFORMED_FUNCTION_CALL" }
func (isMalformed) MalformedCall() bool { return true }

var errMalformed = &fault.Error{Type: fault.ModelError, Message: "The model wrote a call that cannot be read", Err: isMalformed{}}

func text(s string) chat.Chunk    { return chat.Chunk{Parts: []chat.Part{{Text: s}}} }
func thought(s string) chat.Chunk { return chat.Chunk{Parts: []chat.Part{{Text: s, Thought: true}}} }
func end(f chat.Finish) chat.Chunk {
	return chat.Chunk{Finish: f}
}

// then makes one answer of several, the last of which says how it ends.
func then(answers ...answer) answer {
	return func(ctx context.Context, yield func(*chat.Chunk) error) error {
		for _, a := range answers {
			if err := a(ctx, yield); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	limited := &fault.Error{Type: fault.ModelRateLimited, Message: "Too many requests", RetryAfter: 3 * time.Second, Service: "gemini"}
	reread := "error fatal model_error " + errMalformed.Message
	for _, tt := range []struct {
		name    string
		answers []answer
		want    []string
	}{
		{"plain", []answer{says("Hel", "lo")}, []string{"start m", "delta Hel", "delta lo", "done stop"}},
		{"thoughts", []answer{chunks(thought("hm"), text("a"), thought("so"), text("b"), end(chat.FinishStop))},
			[]string{"start m", "thinking hm", "delta a", "thinking so", "delta b", "done stop"}},
		{"empty pieces", []answer{chunks(thought(""), text(""), text("a"), end(chat.FinishStop))},
			[]string{"start m", "delta a", "done stop"}},
		{"nothing said", []answer{chunks(end(chat.FinishStop))}, []string{"start m", "done stop"}},
		{"max tokens", []answer{chunks(text("a"), end(chat.FinishMaxTokens))}, []string{"start m", "delta a", "done max_tokens"}},
		{"no finish reason", []answer{chunks(text("a"))},
			[]string{"start m", "delta a", "error fatal model_unavailable AI service temporarily unavailable", "done error"}},
		{"nothing at all", []answer{chunks()},
			[]string{"start m", "error fatal model_unavailable AI service temporarily unavailable", "done error"}},
		{"fault", []answer{then(chunks(text("a")), fails(limited))},
			[]string{"start m", "delta a", "error fatal model_rate_limited Too many requests", "done error"}},
		{"untyped error", []answer{fails(errors.New("dial tcp 10.0.0.1: key=SECRET"))},
			[]string{"start m", "error fatal internal_error Something went wrong on our side", "done error"}},
		{"panic", []answer{then(chunks(text("a")), func(context.Context, func(*chat.Chunk) error) error { panic("SECRET") })},
			[]string{"start m", "delta a", "error fatal internal_error Something went wrong on our side", "done error"}},
		{"malformed call", []answer{fails(errMalformed), says("a")}, []string{"start m", "delta a", "done stop"}},
		{"malformed call after a thought", []answer{then(chunks(thought("hm")), fails(errMalformed)), says("a")},
			[]string{"start m", "thinking hm", "delta a", "done stop"}},
		{"malformed call twice", []answer{fails(errMalformed), fails(errMalformed), says("a")},
			[]string{"start m", reread, "done error"}},
		{"malformed call after text", []answer{then(chunks(text("a")), fails(errMalformed)), says("a")},
			[]string{"start m", "delta a", reread, "done error"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{answers: tt.answers})
			got.want(t, tt.want...)
			if got.err != nil {
				t.Errorf("Run: %v", got.err)
			}
		})
	}
}

func TestFaultKeepsItsDetails(t *testing.T) {
	t.Parallel()
	got := play(t, scene{answers: []answer{fails(&fault.Error{
		Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Service: "gemini", RetryAfter: time.Minute, Err: errors.New("open"),
	})}})
	ev := got.faults[0]
	if ev.RetryAfter != time.Minute || ev.Service != "gemini" || !ev.Recoverable {
		t.Errorf("error event %+v lost something of the fault", ev)
	}
}

// What goes back to the model is what it said: text joined unless a piece is
// signed, calls with their ids, arguments and signatures as they came, and no
// thoughts; then the results, in the order of the calls.
func TestWhatGoesBack(t *testing.T) {
	t.Parallel()
	args := `{ "b":1.50, "a":"\u00e9" }`
	second := call("", "read", `{}`)
	first := call("fc-1", "add", args)
	got := play(t, scene{
		request: chat.Request{Input: "do it"},
		answers: []answer{
			chunks(
				thought("hm"), text("I "), text("will"),
				chat.Chunk{Parts: []chat.Part{{Text: " now", Signature: "c2ln"}, {Text: ""}, {Text: "", Signature: "ZW5k"}}},
				text("."),
				chat.Chunk{Parts: []chat.Part{{Call: &first, Signature: "Y2FsbA=="}}},
				chat.Chunk{Parts: []chat.Part{{Call: &second}}},
				text("ok?"), end(chat.FinishStop)),
			says("done"),
		},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "add" { // the first call ends last
				_ = wait(ctx, time.Second)
			}
			return result(c, c.Name+" did it"), nil
		},
	})
	want := []chat.Message{
		{Role: chat.RoleUser, Parts: []chat.Part{{Text: begun + "do it"}}},
		{Role: chat.RoleModel, Parts: []chat.Part{
			{Text: "I will"}, {Text: " now", Signature: "c2ln"}, {Signature: "ZW5k"}, {Text: "."},
			{Call: &first, Signature: "Y2FsbA=="}, {Call: &second}, {Text: "ok?"},
		}},
		{Role: chat.RoleUser, Parts: []chat.Part{
			{Result: &tool.Result{ID: "fc-1", Name: "add", Text: "add did it"}},
			{Result: &tool.Result{Name: "read", Text: "read did it"}},
		}},
	}
	if diff := cmp.Diff(want, got.requests[1].Messages); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], got.requests[0].Messages); diff != "" {
		t.Errorf("first request (-want +got):\n%s", diff)
	}
	got.want(t, "start m", "thinking hm", "delta I ", "delta will", "delta  now", "delta .", "delta ok?",
		"call fc-1 add@todo "+args, "call call_1 read@todo {}",
		"completed call_1 0s read did it", "completed fc-1 1s add did it", "delta \n\n", "delta done", "done stop")
}

func TestUsageAndTimings(t *testing.T) {
	t.Parallel()
	figures := func(in, out, thinking int) chat.Chunk {
		return chat.Chunk{Usage: &chat.Usage{InputTokens: in, OutputTokens: out, ThinkingTokens: thinking}}
	}
	pause := func(ctx context.Context, _ func(*chat.Chunk) error) error { return wait(ctx, 2*time.Second) }
	got := play(t, scene{
		answers: []answer{
			then(pause, chunks(figures(1, 1, 1), figures(10, 2, 3)), wants(call("a", "add", "{}"))),
			then(fails(errMalformed)),
			then(chunks(figures(20, 4, 0)), says("x")),
		},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			return result(c, ""), wait(ctx, 300*time.Millisecond)
		},
	})
	if diff := cmp.Diff(chat.Usage{InputTokens: 30, OutputTokens: 6, ThinkingTokens: 3}, got.done.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 0, 0}, got.done.Model); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
	if ts := got.done.Tools; len(ts) != 1 || ts[0].Tool != "add" || ts[0].Duration != 300*time.Millisecond {
		t.Errorf("tools took %v, want add 300ms", ts)
	}
}

// A chunk with More does not wait for its own flush; without it, each one does.
func TestFlushes(t *testing.T) {
	t.Parallel()
	more := func(s string) chat.Chunk { return chat.Chunk{Parts: []chat.Part{{Text: s}}, More: true} }
	got := play(t, scene{answers: []answer{chunks(more("a"), more("b"), text("c"), text("d"), end(chat.FinishStop))}})
	if diff := cmp.Diff([]int{1, 3, 1, 1}, got.flushed); diff != "" {
		t.Errorf("events in each flush (-want +got):\n%s", diff)
	}
}

// The texts of two steps do not run into one another, and get nothing between
// them when the model has kept them apart itself.
func TestTextOfTwoSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, between string }{
		{"I look.", "Noon.", "\n\n"}, {"I look. ", "Noon.", ""}, {"I look.\n", "Noon.", ""}, {"I look.", "\nNoon.", ""},
		{"", "Noon.", ""}, {"Ich schaue nach…", "Zwölf.", "\n\n"},
	} {
		first := wants(call("a", "read", "{}"))
		if tt.before != "" {
			first = then(chunks(text(tt.before)), first)
		}
		got := play(t, scene{answers: []answer{first, says(tt.after)}})
		if all, want := got.text(), tt.before+tt.between+tt.after; all != want {
			t.Errorf("the answer is %q, want %q", all, want)
		}
		if back := got.requests[1].Messages[1].Parts[0]; tt.before != "" && back.Text != tt.before {
			t.Errorf("the model gets back %q, want %q", back.Text, tt.before)
		}
	}
}

// begun stands in front of what the user says in these tests.
const begun = "Now it is Saturday, 2000-01-01, 00:00 in the time zone UTC (UTC+00:00).\n\n"

func TestStepLimit(t *testing.T) {
	t.Parallel()
	again := func(id string) answer { return then(chunks(text(id)), wants(call(id, "read", `{"n":"`+id+`"}`))) }
	s := scene{answers: []answer{again("a"), again("b"), again("c")}}
	s.MaxSteps = 2
	got := play(t, s)
	got.want(t, "start m", "delta a", `call a read@todo {"n":"a"}`, "completed a 0s ok", "delta \n\n", "delta b", "done max_steps")
	last := got.requests[1]
	note := last.Messages[len(last.Messages)-1]
	if !last.NoTools || last.Tools != addAndRead || last.System != got.requests[0].System || len(last.Messages) != 4 || !strings.HasSuffix(note.Text(), "say what remains to be done.") {
		t.Errorf("the last request must declare the tools, forbid them and say so at its end, got %+v", last)
	}
	if got.requests[0].NoTools || got.requests[0].Step != 1 || last.Step != 2 {
		t.Errorf("the first request has NoTools %v and step %d, the last step %d", got.requests[0].NoTools, got.requests[0].Step, last.Step)
	}
}

// A model can ask for tools although none is on offer; the limit holds for it too.
func TestStepLimitWithoutTools(t *testing.T) {
	t.Parallel()
	var answers []answer
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		answers = append(answers, wants(call(id, "add", `{"n":"`+id+`"}`)))
	}
	got := play(t, scene{answers: answers, tools: &tool.Set{}})
	if n := len(got.requests); n != 8 || got.requests[7].NoTools {
		t.Errorf("the model was asked %d times (want 8), at last with NoTools %v (want false: no tools are declared)", n, got.requests[n-1].NoTools)
	}
	if got.done.Reason != "max_steps" {
		t.Errorf("finish reason %q, want max_steps", got.done.Reason)
	}

	s := scene{answers: []answer{says("a")}, tools: &tool.Set{}}
	s.MaxSteps = 1
	got = play(t, s)
	got.want(t, "start m", "delta a", "done stop")
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone database: ", err)
	}
	const ours = "Now it is Saturday, 2000-01-01, 01:00 in the time zone Europe/Berlin (UTC+01:00)."
	for _, tt := range []struct {
		name string
		cfg  agent.Config
		req  chat.Request
		want []string
	}{
		{"built in", agent.Config{}, chat.Request{},
			[]string{"You are Sluice,", "Now it is Saturday, 2000-01-01, 00:00 in the time zone UTC (UTC+00:00)."}},
		{"own zone", agent.Config{Location: berlin}, chat.Request{}, []string{"You are Sluice,", ours}},
		{"the request's zone", agent.Config{}, chat.Request{Location: berlin}, []string{"You are Sluice,", ours}},
		{"own prompt", agent.Config{Prompt: "Be brief.", Location: berlin}, chat.Request{}, []string{"Be brief.", ours}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{Config: tt.cfg, request: tt.req, answers: []answer{says("a")}})
			system, said := got.requests[0].System, got.requests[0].Messages[0].Text()
			if !strings.HasPrefix(system, tt.want[0]) || strings.Contains(system, "2000") || said != tt.want[1]+"\n\nhi" {
				t.Errorf("the system prompt is %q, the message %q, want %q", system, said, tt.want)
			}
		})
	}
}

// The model learns that it does not see all, and the State keeps it.
func TestModelLearnsOfAPrunedHistory(t *testing.T) {
	t.Parallel()
	const note = "its earlier messages are left out."
	earlier := []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "a"}}}, {Role: chat.RoleModel, Parts: []chat.Part{{Text: "b"}}}}
	for _, dropped := range []int{0, 2} {
		request := chat.Request{Input: "hi", Past: chat.Past{History: earlier, Pruning: chat.Pruning{Kept: 2, Dropped: dropped}}}
		got := play(t, scene{request: request, answers: []answer{wants(tool.Call{Name: "find"}), says("done")}, cut: true})
		if len(got.requests) != 2 {
			t.Fatalf("%d model calls", len(got.requests))
		}
		for i, req := range got.requests {
			parts := req.Messages[2].Parts
			if strings.HasSuffix(parts[len(parts)-1].Text, note) != (dropped > 0) || strings.Contains(req.System, note) {
				t.Errorf("%d dropped: model call %d has:\n%s\n%v", dropped, i+1, req.System, parts)
			}
		}
	}
}

func TestUnavailableTools(t *testing.T) {
	t.Parallel()
	down := func(server string) error {
		return &fault.Error{Type: fault.MCPUnavailable, Message: fault.MCPUnavailableMessage, Service: "mcp:" + server, RetryAfter: time.Second}
	}
	got := play(t, scene{
		answers: []answer{says("sorry")},
		tools:   &tool.Set{Unavailable: []tool.UnavailableServer{{Server: "todo", Err: down("todo")}, {Server: "files", Err: down("files")}}},
	})
	e := "error mcp_unavailable MCP service temporarily unavailable"
	got.want(t, "start m", e, e, "delta sorry", "done stop")
	if ev := got.faults[0]; ev.RetryAfter != time.Second || ev.Service != "mcp:todo" || ev.Fatal || !ev.Recoverable {
		t.Errorf("error event %+v does not match the fault", ev)
	}
	parts := got.requests[0].Messages[0].Parts
	if len(parts) != 2 || !strings.Contains(parts[1].Text, "\nUnavailable tools: those of todo, files cannot be reached right now.") {
		t.Errorf("the model does not learn which tools are missing: %v", parts)
	}
}
