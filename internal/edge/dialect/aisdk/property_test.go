package aisdk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// keys are the members of each part that ai 5.0.100 takes, required ones first. One more, or
// another type, and it gives up the whole stream.
var keys = map[string]struct{ required, others string }{
	"start": {"", "messageId"}, "start-step": {}, "finish-step": {}, "finish": {"finishReason", ""}, "error": {"errorText", ""},
	"text-start": {"id", ""}, "text-delta": {"id delta", ""}, "text-end": {"id", ""},
	"reasoning-start": {"id", ""}, "reasoning-delta": {"id delta", ""}, "reasoning-end": {"id", ""},
	"tool-input-available":  {"toolCallId toolName input dynamic", "providerExecuted"},
	"tool-output-available": {"toolCallId output dynamic providerExecuted", ""},
	"tool-output-error":     {"toolCallId errorText dynamic providerExecuted", ""},
	"tool-approval-request": {"approvalId toolCallId", ""}, // of ai 6
	"data-sluice":           {"data transient", ""},
}

// judge follows a stream as the client does.
type judge struct {
	n     int             // parts
	open  map[string]bool // stretches
	used  map[string]bool // ids of stretches
	calls map[string]bool // without a result
	step  bool
	last  string // type of the part before
	over  bool   // [DONE]
	text  strings.Builder
}

// read reads all frames, and returns what the client would give up for.
func (j *judge) read(frames string) error {
	j.open, j.used, j.calls = map[string]bool{}, map[string]bool{}, map[string]bool{}
	if !strings.HasSuffix(frames, "\n\n") {
		return fmt.Errorf("the last frame has no end")
	}
	for _, frame := range strings.Split(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		line, ok := strings.CutPrefix(frame, "data: ")
		switch {
		case !ok || strings.ContainsAny(line, "\r\n\u0085\u2028\u2029"):
			return fmt.Errorf("not one line of data: %q", frame)
		case j.over:
			return fmt.Errorf("%q after [DONE]", line)
		case line == "[DONE]":
			j.over = true
			continue
		}
		if err := j.part(line); err != nil {
			return fmt.Errorf("part %d, %s: %w", j.n, line, err)
		}
		j.n++
	}
	if !j.over || len(j.open) > 0 || j.step || j.last != "finish" && j.last != "error" {
		return fmt.Errorf("ended %v by %q, step %v, open %v", j.over, j.last, j.step, j.open)
	}
	return nil
}

// part follows one part.
func (j *judge) part(line string) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		return err
	}
	str := func(name string) string {
		text, _ := jsontext.AppendUnquote(nil, members[name])
		return string(text)
	}
	kind := str("type")
	if err := known(kind, members); err != nil {
		return err
	}
	if j.last == "error" || j.last == "finish" || (kind == "start") != (j.n == 0) {
		return fmt.Errorf("out of place behind %q", j.last)
	}
	j.last = kind
	stretch := strings.HasPrefix(kind, "text-") || strings.HasPrefix(kind, "reasoning-")
	if (stretch || strings.HasPrefix(kind, "tool-")) && !j.step {
		return fmt.Errorf("outside of a step")
	}
	switch {
	case stretch:
		return j.stretch(kind, str("id"), str("delta"))
	case kind == "start-step" || kind == "finish-step":
		if j.step == (kind == "start-step") || len(j.open) > 0 {
			return fmt.Errorf("step %v, open %v", j.step, j.open)
		}
		j.step = !j.step
	case kind == "tool-input-available":
		if members["providerExecuted"] != nil {
			j.calls[str("toolCallId")] = true
		}
	case strings.HasPrefix(kind, "tool-"):
		if !j.calls[str("toolCallId")] {
			return fmt.Errorf("no call is open")
		}
		delete(j.calls, str("toolCallId"))
	}
	return nil
}

// known says whether a part has the keys of its type, and those that may be there.
func known(kind string, members map[string]jsontext.Value) error {
	want, ok := keys[kind]
	if !ok {
		return fmt.Errorf("no such type")
	}
	for _, name := range strings.Fields(want.required) {
		if members[name] == nil {
			return fmt.Errorf("no %s", name)
		}
	}
	all := strings.Fields("type " + want.required + " " + want.others)
	for name := range members {
		if !slices.Contains(all, name) {
			return fmt.Errorf("%s is not known", name)
		}
	}
	return nil
}

// stretch follows a part of a stretch.
func (j *judge) stretch(kind, id, delta string) error {
	what, step, _ := strings.Cut(kind, "-")
	key := what + " " + id
	switch step {
	case "start":
		if j.used[id] || len(j.open) > 0 {
			return fmt.Errorf("used %v, open %v", j.used[id], j.open)
		}
		j.used[id], j.open[key] = true, true
	case "delta", "end":
		if !j.open[key] {
			return fmt.Errorf("is not open")
		}
		if step == "end" {
			delete(j.open, key)
		} else if what == "text" {
			j.text.WriteString(delta)
		}
	}
	return nil
}

// tape is a sink that encodes, and notes the answer.
type tape struct {
	enc    *encoder
	frames []byte
	text   strings.Builder
}

func (s *tape) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		s.text.WriteString(ev.Text)
	case *stream.Approval:
		if s.enc.mute || len(ev.Calls) == 0 {
			s.text.WriteString(ev.Prompt)
		}
	}
	s.frames = s.enc.Encode(s.frames, stream.Stamp{}, ev)
	return nil
}

func (s *tape) Flush() error { return nil }

// anything returns any event, with few ids, so that calls end.
func anything(r *rand.Rand) stream.Event {
	by := []stream.Attribution{{}, {AgentID: "a"}, {AgentID: "b"}, {NodeID: "n"}, {AgentID: "a", SessionID: "s"}}[r.IntN(5)]
	call := stream.Call{Attribution: by, ID: strconv.Itoa(r.IntN(4)), Tool: "t", Server: "s", Arguments: []byte("{\"n\":\n1}")}
	text := []string{"a", "\n\ndata: [DONE]\n\n", "\u2028", "\u0085", "漢", "\"", "\\"}[r.IntN(7)]
	yes, ms := true, int64(1)
	events := []stream.Event{
		&stream.Thinking{Attribution: by, Content: text}, &stream.Thinking{Content: text},
		&stream.Delta{Attribution: by, Text: text}, &stream.Delta{Text: text}, &stream.Delta{Text: text},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolProgress{Call: call, Progress: 1, Message: text},
		&stream.ToolCompleted{Call: call, Result: text}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call, Message: text},
		&stream.ToolUnknown{Call: call, Message: text}, &stream.Error{Type: fault.ToolFailed, Message: text}, &stream.ToolRequired{Call: call},
		&stream.Error{Type: fault.Timeout, Message: text, Fatal: true}, &stream.Done{Reason: stream.Stop}, &stream.Done{Reason: stream.ClientTools},
		&stream.Done{Reason: stream.ApprovalRequired}, &stream.Done{Reason: stream.Failed},
		&stream.Approval{ID: "ap", Kind: "human", Prompt: text, ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "t"},
		&stream.Approval{ID: "ap", Kind: "tools", Prompt: text, ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "t", Calls: []stream.ApprovalCall{{CallID: text}, {CallID: "w"}}},
		&stream.Route{Decision: stream.Routed, AgentID: "a"}, &stream.Quality{Phase: stream.Planning, Attempt: 1},
		&stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted},
		&stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentCompleted, Success: &yes, Millis: &ms},
		&stream.InnerDelta{Attribution: by, Delta: text}, &stream.InnerDelta{Delta: text, Attempt: 1},
		&stream.ChannelMessage{Channel: "sms", Sequence: 1, Total: 1, Content: text}, &stream.ModelChanged{}, &stream.NodeRun{},
	}
	return events[r.IntN(len(events))]
}

// anyTurn reports a turn of any events.
func anyTurn(r *rand.Rand, f facts) *tape {
	out := &tape{enc: newEncoder("", requestID, began, f)}
	guard := stream.NewGuard(out)
	_ = guard.Emit(&stream.Start{Model: "m"})
	for range r.IntN(60) {
		_ = guard.Emit(anything(r)) // the guard refuses what is out of place
	}
	if !guard.Ended() {
		_ = guard.Fail(&fault.Error{Type: fault.Timeout, Message: "too slow"})
	}
	return out
}

// In whatever events a turn is reported, the client can follow it and reads the same text.
func TestAnyTurnCanBeFollowed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	seen := map[string]int{}
	for range 3000 {
		out := anyTurn(r, facts{Continues: r.IntN(2) == 0, Mute: r.IntN(2) == 0})
		var j judge
		if err := j.read(string(out.frames)); err != nil {
			t.Fatalf("%v\n%s", err, out.frames)
		}
		if j.text.String() != out.text.String() {
			t.Fatalf("the client reads %q of %q", j.text.String(), out.text.String())
		}
		seen[j.last]++
	}
	if seen["finish"] < 100 || seen["error"] < 100 {
		t.Errorf("the turns are too much alike: %v", seen)
	}
}

// The judge can say no.
func TestJudge(t *testing.T) {
	t.Parallel()
	const head = "data: {\"type\":\"start\"}\n\n"
	for _, frames := range []string{
		"", head, head + "data: [DONE]\n\n", "data: {\"type\":\"abort\"}\n\n",
		"data: {\"type\":\"start\",\"title\":\"x\"}\n\n", head + "data: {\"type\":\"text-start\",\"id\":\"1\"}\n\n",
		head + "data: {\"type\":\"start-step\"}\n\ndata: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"\"}\n\n",
	} {
		if new(judge).read(frames) == nil {
			t.Errorf("no objection to %q", frames)
		}
	}
}
