package approval

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/tool"
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
		decisions, err := s.decide(t.Context(), r, req.Approval)
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
			if r.Kind != chat.AskHuman && r.call(d.CallID) == nil || d.Action != chat.Approve && d.Action != chat.Reject && d.Action != chat.Modify {
				t.Errorf("decided %+v", d)
			}
		}
		if len(decisions) != want || len(seen) != want {
			t.Errorf("%d decisions about %d calls: %s", len(decisions), want, text)
		}
	})
}

// trimmed is what follows the opening brace of an object.
func trimmed(text string) string {
	if len(text) > 1 && text[0] == '{' && text[1] != '}' {
		return text[1:]
	}
	return "}"
}
