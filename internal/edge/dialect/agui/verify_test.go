package agui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// verifier checks a run as verifyEvents of @ag-ui/client 1.0.0 does, and as earlier clients do:
// no type that they do not know, no key that is null, no call that overlaps with anything.
type verifier struct {
	started, finished, failed      bool
	texts, thoughts, spans, called map[string]bool // what is open
	steps                          map[string]bool
	seen                           map[string]bool // ids of messages, of calls and of results
}

func newVerifier() *verifier {
	open := func() map[string]bool { return map[string]bool{} }
	return &verifier{texts: open(), thoughts: open(), spans: open(), called: open(), steps: open(), seen: open()}
}

// members are those that an event of a type must have, and may have none besides.
var members = map[string][]string{
	"RUN_STARTED": {"threadId", "runId"}, "RUN_FINISHED": {"threadId", "runId", "usage"}, "RUN_ERROR": {"message", "code"},
	"TEXT_MESSAGE_START": {"messageId", "role"}, "TEXT_MESSAGE_CONTENT": {"messageId", "delta"}, "TEXT_MESSAGE_END": {"messageId"},
	"REASONING_START": {"messageId"}, "REASONING_END": {"messageId"},
	"REASONING_MESSAGE_START": {"messageId", "role"}, "REASONING_MESSAGE_CONTENT": {"messageId", "delta"}, "REASONING_MESSAGE_END": {"messageId"},
	"TOOL_CALL_START": {"toolCallId", "toolCallName", "parentMessageId"}, "TOOL_CALL_ARGS": {"toolCallId", "delta"}, "TOOL_CALL_END": {"toolCallId"},
	"TOOL_CALL_RESULT": {"messageId", "toolCallId", "content", "role"},
	"STEP_STARTED":     {"stepName"}, "STEP_FINISHED": {"stepName"}, "CUSTOM": {"name", "value"},
}

// next takes the next event.
func (v *verifier) next(data string) error {
	var ev map[string]any
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		return err
	}
	kind, _ := ev["type"].(string)
	if err := shaped(kind, ev); err != nil {
		return err
	}
	switch {
	case v.failed:
		return errors.New("an event after RUN_ERROR")
	case v.finished:
		return errors.New("an event after RUN_FINISHED")
	case !v.started && kind != "RUN_STARTED" && kind != "RUN_ERROR":
		return errors.New("the first event must be RUN_STARTED")
	}
	return v.ordered(kind, ev)
}

// shaped checks the members of an event.
func shaped(kind string, ev map[string]any) error {
	want, ok := members[kind]
	if !ok {
		return fmt.Errorf("%q is not of the table", kind)
	}
	if _, ok := ev["outcome"]; ok && kind == "RUN_FINISHED" {
		want = append(slices.Clone(want), "outcome")
	}
	if len(ev) != len(want)+1 {
		return fmt.Errorf("%s has %d members", kind, len(ev))
	}
	for _, name := range want {
		switch value := ev[name].(type) {
		case nil:
			return fmt.Errorf("%s has no %s", kind, name)
		case string:
			if value == "" && name != "content" {
				return fmt.Errorf("%s has an empty %s", kind, name)
			}
		}
	}
	return nil
}

// ordered checks that the event may come now.
func (v *verifier) ordered(kind string, ev map[string]any) error {
	str := func(name string) string { s, _ := ev[name].(string); return s }
	message, call := str("messageId"), str("toolCallId")
	switch kind {
	case "RUN_STARTED":
		if v.started {
			return errors.New("two runs")
		}
		v.started = true
	case "RUN_ERROR":
		v.failed = true
		return v.quiet()
	case "RUN_FINISHED":
		v.finished = true
		if len(v.steps) > 0 {
			return errors.New("a step is open")
		}
		return v.quiet()
	case "TEXT_MESSAGE_START":
		return errors.Join(v.quiet(), v.fresh("message "+message), toggle(v.texts, message, true))
	case "TEXT_MESSAGE_CONTENT":
		return has(v.texts, message)
	case "TEXT_MESSAGE_END":
		return toggle(v.texts, message, false)
	case "REASONING_START":
		return errors.Join(v.quiet(), v.fresh("message "+message), toggle(v.spans, message, true))
	case "REASONING_MESSAGE_START":
		return errors.Join(has(v.spans, message), toggle(v.thoughts, message, true))
	case "REASONING_MESSAGE_CONTENT":
		return has(v.thoughts, message)
	case "REASONING_MESSAGE_END":
		return toggle(v.thoughts, message, false)
	case "REASONING_END":
		return errors.Join(not(v.thoughts, message), toggle(v.spans, message, false))
	case "TOOL_CALL_START":
		return errors.Join(v.quiet(), v.fresh("call "+call), toggle(v.called, call, true))
	case "TOOL_CALL_ARGS":
		if !json.Valid([]byte(str("delta"))) {
			return errors.New("the arguments are no JSON")
		}
		return has(v.called, call)
	case "TOOL_CALL_END":
		return toggle(v.called, call, false)
	case "TOOL_CALL_RESULT":
		if !v.seen["call "+call] {
			return errors.New("a result of no call")
		}
		return errors.Join(v.quiet(), v.fresh("message "+message), v.fresh("result of "+call))
	case "STEP_STARTED":
		return toggle(v.steps, str("stepName"), true)
	case "STEP_FINISHED":
		return toggle(v.steps, str("stepName"), false)
	}
	return nil
}

// quiet says that no text, no thought and no call may be open.
func (v *verifier) quiet() error {
	if len(v.texts)+len(v.thoughts)+len(v.spans)+len(v.called) > 0 {
		return errors.New("something is open")
	}
	return nil
}

func (v *verifier) fresh(id string) error {
	if v.seen[id] {
		return fmt.Errorf("%s comes twice", id)
	}
	v.seen[id] = true
	return nil
}

func has(open map[string]bool, id string) error {
	if !open[id] {
		return fmt.Errorf("%q is not open", id)
	}
	return nil
}

func not(open map[string]bool, id string) error {
	if open[id] {
		return fmt.Errorf("%q is open", id)
	}
	return nil
}

func toggle(open map[string]bool, id string, begins bool) error {
	if open[id] == begins {
		return fmt.Errorf("%q: open is %v", id, open[id])
	}
	if begins {
		open[id] = true
	} else {
		delete(open, id)
	}
	return nil
}

// verify checks the frames of a whole turn.
func verify(t *testing.T, frames string) {
	t.Helper()
	v := newVerifier()
	for i, data := range lines(t, frames) {
		if err := v.next(data); err != nil {
			t.Fatalf("event %d, %s: %v\nin\n%s", i, data, err, frames)
		}
	}
	if !v.finished && !v.failed {
		t.Fatalf("the run does not end:\n%s", frames)
	}
}

// turnOf collects the events that the grammar lets pass.
type turnOf struct{ events []stream.Event }

func (c *turnOf) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok { // a receiver keeps none
		kept := *d
		ev = &kept
	}
	c.events = append(c.events, ev)
	return nil
}

func (*turnOf) Flush() error { return nil }

// anyEvent returns any event of package stream. Few ids, so that they come again.
func anyEvent(r *rand.Rand) stream.Event {
	who := []stream.Attribution{{}, {}, by("x"), by("y"), {AgentID: "y", SessionID: "s1"}, {NodeID: "n"}}[r.IntN(6)]
	call := stream.Call{Attribution: who, ID: []string{"a", "b", "c", "d"}[r.IntN(4)], Tool: "t", Arguments: jsontext.Value(`{"a":1}`)}
	run := &stream.AgentRun{AgentID: []string{"x", "y"}[r.IntN(2)], Role: stream.RolePrimary, Attempt: 1}
	run.Status = []stream.AgentStatus{stream.AgentStarted, stream.AgentStarted, stream.AgentRetrying, stream.AgentCompleted, stream.AgentFailed, stream.AgentStopped}[r.IntN(6)]
	if r.IntN(2) == 0 {
		run.Role, run.AgentID, run.SessionID, run.CallID = stream.RoleDelegate, "z", []string{"s1", "s2"}[r.IntN(2)], "a" // a session is of one agent
	}
	events := []stream.Event{
		&stream.Thinking{Attribution: who, Content: "t"}, &stream.Thinking{Content: "\n"}, &stream.Delta{Attribution: who, Text: "d"}, &stream.Delta{Text: "\u2028"},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call, Message: "no"},
		&stream.ToolUnknown{Call: call, Message: "lost"}, &stream.ToolProgress{Call: call}, &stream.ToolRequired{Call: call}, &stream.Error{Type: fault.Timeout, Message: "late"},
		&stream.Error{Type: fault.Timeout, Message: "late", Fatal: true}, &stream.Done{Reason: stream.Stop}, run, run, run,
		&stream.Route{Decision: stream.Routed, AgentID: "x"}, &stream.InnerDelta{Delta: "i", Attempt: r.IntN(3)}, &stream.ModelChanged{Step: 1, Key: "b", Previous: "a", Reason: "timeout"},
		&stream.NodeRun{}, &stream.Quality{}, &stream.ChannelMessage{},
		&stream.Approval{ID: "q", Kind: chat.AskTools, ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "k", Calls: []stream.ApprovalCall{{CallID: "p", Tool: "t"}}},
	}
	return events[r.IntN(len(events))]
}

// ending returns what ends a turn in each way that there is; the grammar refuses what does not
// fit, and what is open stays so until its end is found.
func ending(r *rand.Rand, g *stream.Guard) {
	for i := 0; !g.Ended(); i++ {
		switch {
		case r.IntN(20) == 0:
			_ = g.Emit(&stream.Done{Reason: []stream.FinishReason{stream.Stop, stream.TimedOut, stream.ClientTools, stream.ApprovalRequired}[r.IntN(4)]})
		case i > 4000:
			_ = g.Fail(errors.New("no end was found"))
		default:
			ev := anyEvent(r)
			if _, opens := ev.(*stream.ToolStarted); !opens {
				_ = g.Emit(ev)
			}
		}
	}
}

// Whatever turn the grammar allows: clients of both eras have no complaint, and the log encoded
// again has the same bytes.
func TestClientsAcceptEveryTurn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]int{}
	for i := range 500 {
		sink := &turnOf{}
		g := stream.NewGuard(sink)
		_ = g.Emit(&stream.Start{Model: "m", TurnID: "turn_" + strconv.Itoa(i)})
		for range r.IntN(40) {
			_ = g.Emit(anyEvent(r))
		}
		ending(r, g)
		frames := encoded(stored(), sink.events...)
		verify(t, frames)
		if again := encoded(stored(), sink.events...); again != frames {
			t.Fatalf("encoded again:\n%s\nand first:\n%s", again, frames)
		}
		for _, ev := range sink.events {
			kinds[fmt.Sprintf("%T", ev)]++
		}
	}
	for _, kind := range []string{"Thinking", "Delta", "ToolStarted", "ToolCompleted", "ToolFailed", "ToolUnknown", "ToolProgress", "ToolRequired", "Error", "Done", "AgentRun", "Route", "InnerDelta", "ModelChanged", "Approval"} {
		if kinds["*stream."+kind] < 20 {
			t.Errorf("only %d of %s: the test proves little (%v)", kinds["*stream."+kind], kind, kinds)
		}
	}
}

// Drafts are in no log. Without them the rest is the same.
func TestDraftsMoveNoID(t *testing.T) {
	t.Parallel()
	turn := []stream.Event{
		&stream.Start{Model: "m", TurnID: "t"}, &stream.Thinking{Content: "a"}, &stream.Thinking{Content: "b"}, &stream.ToolStarted{Call: callOf("a", "t")},
		&stream.ToolCompleted{Call: callOf("a", "t")}, &stream.Delta{Text: "c"}, &stream.Done{Reason: stream.Stop},
	}
	var with []stream.Event
	for _, ev := range turn {
		with = append(with, ev, &stream.InnerDelta{Delta: "d", Attempt: 1})
	}
	drafted := slices.DeleteFunc(lines(t, encoded(stored(), with...)), func(line string) bool {
		return line == custom("inner_delta", `"delta":"d","attempt":1`)
	})
	if want := lines(t, encoded(stored(), turn...)); !slices.Equal(want, drafted) {
		t.Errorf("with drafts:\n%q\nwithout:\n%q", drafted, want)
	}
}
