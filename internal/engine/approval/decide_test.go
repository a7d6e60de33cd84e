package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Whatever an answer says, it is refused with a place and a rule for each fault, or makes
// one decision for each call that waits.
func FuzzDecision(f *testing.F) {
	for _, seed := range []string{
		`{"action":"approve"}`, `{"action":"modify","arguments":{"n":1}}`, `{"action":"modify","result":"done"}`, `{"action":"reject","message":"no","input":1}`,
		`{"calls":[{"call_id":"a","action":"approve"},{"call_id":"b","action":"modify","arguments":{}}]}`, `{"calls":[{"call_id":"a","action":"reject"},{"call_id":"a","action":"approve"}]}`,
		`{"action":"approve","input":{"x":1},"state_updates":{"metadata":{},"messages":[{"role":"user","content":"x"}],"other":1}}`, `{}`, `null`, `{"calls":[]}`,
	} {
		for kind := range byte(3) {
			f.Add(seed, kind, uint8(2))
		}
	}
	s := New(Config{
		Problems: func(_ context.Context, _ string, args jsontext.Value) []tool.Problem {
			if len(args) > 10 {
				return []tool.Problem{{Pointer: "/n", Rule: "is too long"}}
			}
			return nil
		},
		Valid: func(_, value jsontext.Value) []tool.Problem {
			if value.Kind() != '{' {
				return []tool.Problem{{Rule: "must be an object"}}
			}
			return nil
		},
	})
	f.Fuzz(func(t *testing.T, text string, kind, calls uint8) {
		r := &record{Kind: []chat.QuestionKind{chat.AskTools, chat.AskOutcome, chat.AskHuman}[kind%3], Expires: time.Now().Add(time.Hour).UnixMilli()}
		if r.Kind == chat.AskHuman {
			r.Node, r.Fill = "ask", json.RawMessage(`{"type":"object"}`)
		} else {
			for i := range 1 + calls%3 {
				r.Calls = append(r.Calls, recordedCall{ID: string(rune('a' + i)), Tool: "pay", Print: "p"})
			}
		}
		req, err := chat.DecodeRequest([]byte(`{"approval":{"token":"t",` + trimmed(text) + `}`))
		if err != nil || req.Approval == nil {
			return // which is refused before
		}
		decisions, err := s.makeDecisions(t.Context(), r, req.Approval)
		if err != nil {
			e, ok := errors.AsType[*chat.ValidationError](err)
			if !ok || len(e.Fields) == 0 || decisions != nil {
				t.Fatalf("%v, with %d decisions", err, len(decisions))
			}
			return
		}
		want := max(len(r.Calls), 1)
		seen := map[string]bool{}
		for _, d := range decisions {
			seen[d.CallID] = true
			if r.Kind != chat.AskHuman && r.recordedCallOf(d.CallID) == nil || d.Action != chat.Approve && d.Action != chat.Reject && d.Action != chat.Modify {
				t.Errorf("decided %+v", d)
			}
		}
		if len(decisions) != want || len(seen) != want {
			t.Errorf("%d decisions about %d calls: %s", len(decisions), want, text)
		}
	})
}

// waits returns a question about calls that wait.
func waits(kind chat.QuestionKind, ids ...string) *record {
	r := &record{ID: "appr_1", Kind: kind, Expires: time.Now().Add(time.Hour).UnixMilli()}
	for _, id := range ids {
		r.Calls = append(r.Calls, recordedCall{ID: id, Tool: "pay", Print: "asked about " + id})
	}
	return r
}

// What is wrong with an answer is said with its place; what is right with it is one decision
// for each call, about the tool that was asked about.
func TestDecisions(t *testing.T) {
	t.Parallel()
	s := New(Config{Problems: func(_ context.Context, name string, args jsontext.Value) []tool.Problem {
		if name != "pay" || len(args) > 2 {
			return []tool.Problem{{Pointer: "/n", Rule: "is too much"}}
		}
		return nil
	}})
	for _, tt := range []struct {
		kind   chat.QuestionKind
		calls  string
		answer string
		want   string // decisions, or faults
	}{
		{chat.AskTools, "a b", `{"action":"approve"}`, "a approve, b approve"},
		{chat.AskTools, "a b", `{"calls":[{"call_id":"b","action":"reject"},{"call_id":"a","action":"modify","arguments":{}}]}`, "b reject, a modify"},
		{chat.AskTools, "a b", `{"calls":[{"call_id":"a","action":"approve"}]}`, "/approval/calls required"},
		{chat.AskTools, "a b", `{"calls":[{"call_id":"a","action":"approve"},{"call_id":"a","action":"reject"},{"call_id":"b","action":"reject"}]}`, "/approval/calls/1/call_id duplicate_key"},
		{chat.AskTools, "a", `{"calls":[{"call_id":"x","action":"approve"},{"call_id":"a","action":"approve"}]}`, "/approval/calls/0/call_id unknown_value"},
		{chat.AskTools, "a", `{"action":"modify","arguments":{}}`, "a modify"},
		{chat.AskTools, "a", `{"action":"modify","arguments":{"n":9}}`, "/approval/arguments/n invalid_format"},
		{chat.AskTools, "a", `{"calls":[{"call_id":"a","action":"modify","arguments":{"n":9}}]}`, "/approval/calls/0/arguments/n invalid_format"},
		{chat.AskTools, "a b", `{"action":"modify","arguments":{}}`, "/approval/calls required"},
		{chat.AskTools, "a", `{"action":"approve","input":1}`, "/approval/input not_allowed"},
		{chat.AskOutcome, "a", `{"action":"modify","result":"done"}`, "a modify"},
		{chat.AskOutcome, "a b", `{"action":"modify","result":"done"}`, "/approval/result required"},
		{chat.AskOutcome, "a", `{"calls":[{"call_id":"a","action":"modify","arguments":{}}]}`, "/approval/calls/0/result required"},
	} {
		req, err := chat.DecodeRequest([]byte(`{"approval":{"token":"t",` + trimmed(tt.answer) + `}`))
		if err != nil {
			t.Fatal(tt.answer, err)
		}
		decisions, err := s.makeDecisions(t.Context(), waits(tt.kind, strings.Fields(tt.calls)...), req.Approval)
		var got []string
		for _, d := range decisions {
			got = append(got, d.CallID+" "+string(d.Action))
			if d.Fingerprint != "asked about "+d.CallID {
				t.Errorf("%s: %s is decided of %q", tt.answer, d.CallID, d.Fingerprint)
			}
		}
		if e, ok := errors.AsType[*chat.ValidationError](err); ok {
			for _, f := range e.Fields {
				got = append(got, f.Field+" "+f.Code)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s of calls %s: %q, %v, want %s", tt.answer, tt.calls, got, err, tt.want)
		}
	}
}

// Of two answers to one question the first counts, whichever process takes it; and a tool
// that is another one now is asked about again.
func TestAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	tools := &tool.Set{Specs: []tool.Spec{{Name: "pay", Description: "another one now"}}}
	shared := memory.New(memory.Config{})
	for name, kept := range map[string]Store{"a process": nil, "two with a store": shared} {
		all := []*Service{New(Config{Store: kept, Tools: func(context.Context) *tool.Set { return tools }})}
		if kept != nil {
			all = append(all, New(Config{Store: kept, Tools: all[0].cfg.Tools}))
		}
		r, accepted := waits(chat.AskTools, "a", "b"), 0
		r.Calls[1].Tool = "gone"
		for range 2 {
			for _, s := range all {
				if _, err := s.claimRecord(t.Context(), r); err == nil {
					accepted++
				} else if fault.From(err).Type != fault.ApprovalUsed {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if accepted != 1 {
			t.Errorf("%s: %d answers count", name, accepted)
		}
		for action, want := range map[chat.Action]string{chat.Approve: "[a]", chat.Reject: "[]"} {
			changed := all[0].changedCalls(t.Context(), r, []chat.Decision{{CallID: "a", Action: action, Fingerprint: "asked about a"}, {CallID: "b", Action: action}})
			if got := fmt.Sprint(changed); got != want {
				t.Errorf("%s: of calls with %s %s are asked about again, want %s", name, action, got, want)
			}
		}
	}
}

// trimmed is what follows the opening brace of an object.
func trimmed(text string) string {
	if len(text) > 1 && text[0] == '{' && text[1] != '}' {
		return text[1:]
	}
	return "}"
}
