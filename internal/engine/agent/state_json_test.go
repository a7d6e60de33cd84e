package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// fullState is a State with every member set, and with calls of all answers.
func fullState() State {
	calls := make([]tool.Call, 6)
	var parts []chat.Part
	for i := range calls {
		calls[i] = tool.Call{ID: fmt.Sprint("fc ", i), Name: "add", Arguments: []byte("{\"n\" :  9007199254740993,\n\"x\":\"<&>\u2028\"}")}
		parts = append(parts, chat.Part{Call: &calls[i], Signature: "sig", Kept: `{"a" : 1}`})
	}
	result := func(i int) *tool.Result {
		return &tool.Result{ID: calls[i].ID, Name: "add", Text: "ok <b>", IsError: true, Cached: true}
	}
	s := State{
		System: "be brief", Access: chat.ToolsReadOnly, Steps: 2, Dropped: 3,
		Messages: []chat.Message{
			{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hi"}, {Result: result(0)}}},
			{Role: chat.RoleModel, Maker: "spare", Parts: append([]chat.Part{{Text: "hm", Thought: true, Signature: "s"}}, parts...)},
		},
		Open: []OpenCall{
			{ID: "a", Call: calls[0], Answer: answerRan, Result: result(0), key: "add 0"},
			{ID: "b", Call: calls[1], Answer: answerApproved, Message: "take care", Changed: []byte("{\"n\":  1}"), key: "add 1", print: "sha"},
			{ID: "c", Call: calls[2], Answer: answerRejected, Message: "too dear"},
			{ID: "d", Call: calls[3], Answer: answerSupplied, Result: result(3)},
			{ID: "e", Call: calls[4]},
			{ID: "f", Call: calls[5], Within: &Within{State: &run.Paused{Kind: run.KindSession, Name: "f", State: []byte(`{"a":1}`)}, Asks: []chat.PendingCall{{ID: "in", AgentID: "x", Tool: "pay", Server: "bank", Arguments: []byte(`{}`), Fingerprint: "p"}}, Decided: []chat.Decision{{CallID: "in"}}}},
		},
		Usage: chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4, Estimated: true},
		Model: []time.Duration{1, 2}, Tools: []stream.ToolTiming{{Tool: "add", Duration: 3}},
		Tail: 'x', Missing: []string{"mcp:todo"}, Answered: "spare", Models: []string{"fast", "spare"}, keptBytes: 5,
	}
	s.calls.n = 7
	s.calls.ids.add("a")
	*s.calls.records.add("add 0") = callRecord{2, true, true}
	return s
}

// All of a State is there again when it was stored and read back.
func TestStateIsStoredWhole(t *testing.T) {
	t.Parallel()
	over := State{Reason: stream.Stop, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hi"}}}}}
	set := map[string]bool{}
	for _, want := range []State{fullState(), over} {
		for v, i := reflect.ValueOf(want), 0; i < v.NumField(); i++ {
			set[v.Type().Field(i).Name] = set[v.Type().Field(i).Name] || !v.Field(i).IsZero()
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got State
		if err := got.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		all := cmp.AllowUnexported(State{}, OpenCall{}, ledger{}, index[callRecord]{}, index[struct{}]{}, entry[callRecord]{}, entry[struct{}]{}, callRecord{})
		if diff := cmp.Diff(want, got, all, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-stored +read):\n%s", diff)
		}
	}
	set["request"], set["saved"] = true, true // whose turn it is comes with the request that continues with it
	for name, is := range set {
		if !is {
			t.Errorf("%s is set in neither", name)
		}
	}
}

// stored returns the stored form of a body, within which a session waits.
func stored(t *testing.T, b stateBody) []byte {
	t.Helper()
	p, err := run.Pause(chat.PausedAgent, b, fullState().Open[5].Within.State)
	if err != nil {
		t.Fatal(err)
	}
	text := p.Encode()
	return text
}

// A State that contradicts itself is refused, also if its checksum fits: a bug made it, or
// a version that knows more.
func TestStateThatContradictsItself(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*stateBody)
		bad    bool
	}{
		"nothing changed":             {func(*stateBody) {}, false},
		"no messages":                 {func(b *stateBody) { b.Messages, b.Open = nil, nil }, true},
		"negative steps":              {func(b *stateBody) { b.Steps = -1 }, true},
		"negative calls left out":     {func(b *stateBody) { b.Dropped = -1 }, true},
		"negative ids":                {func(b *stateBody) { b.Given = -1 }, true},
		"negative bytes":              {func(b *stateBody) { b.KeptBytes = -1 }, true},
		"as many bytes as there are":  {func(b *stateBody) { b.KeptBytes = maxTurnKept }, false},
		"more bytes than there are":   {func(b *stateBody) { b.KeptBytes = maxTurnKept + 1 }, true},
		"a call made a negative time": {func(b *stateBody) { b.CallRecords[0].Times = -1 }, true},
		"over, and calls are open":    {func(b *stateBody) { b.Reason = stream.Stop }, true},
		"an open call too few":        {func(b *stateBody) { b.Open = b.Open[:5] }, true},
		"an open call too many":       {func(b *stateBody) { b.Open = append(b.Open, b.Open[4]) }, true},
		"calls of another message":    {func(b *stateBody) { b.Messages = b.Messages[:1] }, true},
		"a call that was not made":    {func(b *stateBody) { b.Open[4].Call.Arguments = "{}" }, true},
		"a call without an id":        {func(b *stateBody) { b.Open[4].ID = "" }, true},
		"a call that ran for nothing": {func(b *stateBody) { b.Open[0].Result = nil }, true},
		"a result of nothing":         {func(b *stateBody) { b.Open[4].Result = b.Open[0].Result }, true},
		"an answer of the future":     {func(b *stateBody) { b.Open[4].Answer = "postponed" }, true},
		"decided, and nobody waits":   {func(b *stateBody) { b.Open[4].Answer = answerDecided }, true},
		"more calls than are taken": {func(b *stateBody) {
			last := &b.Messages[1]
			for range maxCalls {
				last.Parts, b.Open = append(last.Parts, last.Parts[5]), append(b.Open, b.Open[4])
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fullState()
			b := s.storedBody()
			tt.change(&b)
			var got State
			err := got.UnmarshalJSON(stored(t, b))
			if (err != nil) != tt.bad || err != nil && !errors.Is(err, run.ErrPaused) {
				t.Error(err)
			}
			if err != nil && !reflect.DeepEqual(got, State{}) {
				t.Errorf("a refused State is not zero: %+v", got)
			}
		})
	}
}
