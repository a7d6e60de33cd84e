package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/agent"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// promptOf is what a provider reads of a call, from its beginning: tools, system prompt, messages.
func promptOf(req *chat.ModelRequest) string {
	var b strings.Builder
	for _, s := range req.Tools.Specs {
		fmt.Fprintf(&b, "%s %s\n", s.Name, s.Description)
	}
	b.WriteString(req.System + "\n")
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				fmt.Fprintf(&b, "%s calls %s %s\n", m.Role, p.Call.Name, p.Call.Arguments)
			case p.Result != nil:
				fmt.Fprintf(&b, "result %s\n", p.Result.Text)
			default:
				fmt.Fprintf(&b, "%s says %s\n", m.Role, p.Text)
			}
		}
	}
	return b.String()
}

// caller is a model that calls a tool in each third turn, unless it only talks. It notes what it
// is sent.
type caller struct {
	talks bool
	turn  int
	calls []struct {
		turn   int
		prompt string
	}
}

func (*caller) Name() string { return "m" }

func (c *caller) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c.calls = append(c.calls, struct {
		turn   int
		prompt string
	}{c.turn, promptOf(req)})
	if !c.talks && c.turn%3 == 0 && req.Step < 3 {
		call := tool.Call{ID: fmt.Sprint("c", req.Step), Name: "find", Arguments: jsontext.Value(fmt.Sprintf(`{"n":%d}`, req.Step))}
		return yield(&chat.Chunk{Parts: []chat.Part{{Call: &call}}, Finish: chat.FinishStop})
	}
	return yield(&chat.Chunk{Parts: []chat.Part{{Text: strings.Repeat("answer ", 43)}}, Finish: chat.FinishStop})
}

// finds has one tool.
type finds struct{ set tool.Set }

func (f *finds) Tools(context.Context) *tool.Set { return &f.set }

func (*finds) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ID: c.ID, Name: c.Name, Text: strings.Repeat("found ", 40)}, nil
}

// dropped is a sink that nobody reads.
type dropped struct{}

func (dropped) Emit(stream.Event) error { return nil }
func (dropped) Flush() error            { return nil }

// shares returns which part of the bytes of first calls, and of later ones of a turn, the call
// before began with.
func shares(calls *caller) (first, within float64) {
	var same, all [2]int
	for i := 1; i < len(calls.calls); i++ {
		before, now := calls.calls[i-1], calls.calls[i]
		n := 0
		for n < len(before.prompt) && n < len(now.prompt) && before.prompt[n] == now.prompt[n] {
			n++
		}
		if k := 0; before.turn == now.turn {
			k = 1
			same[k], all[k] = same[k]+n, all[k]+len(before.prompt)
		} else {
			same[k], all[k] = same[k]+n, all[k]+len(now.prompt)
		}
	}
	return float64(same[0]) / float64(all[0]), float64(same[1]) / float64(all[1])
}

// A conversation is sent as it was first sent: most of a turn's first call is the beginning of
// the call before, and all of a call is the beginning of the next one of its turn. 200 turns, a
// minute apart, a tool in each third or in none.
func TestPromptsBeginAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		talks bool
		spec  conversation.Spec
		want  float64
	}{
		{"the defaults", false, conversation.Spec{}, 0.85},
		{"the defaults, no call", true, conversation.Spec{}, 0.85},
		{"below all bounds", false, conversation.Spec{MaxMessages: 5000, MaxTokens: 1_000_000}, 0.95},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memory.New(memory.Config{})
				defer func() { _ = s.Close() }()
				m := &caller{talks: tt.talks}
				offers := &finds{tool.Set{Specs: []tool.Spec{{Name: "find", Description: strings.Repeat("Finds. ", 300), InputSchema: jsontext.Value(`{"type":"object"}`), Annotations: tool.Annotations{ReadOnly: true, Idempotent: true}}}}}
				r := conversation.New(conversation.Config{Store: s, Spec: tt.spec}).Around(agent.New(agent.Config{Model: m, Tools: offers, MaxSteps: 3, Origin: "a m"}))
				for m.turn = range 200 {
					req := &chat.Request{Input: fmt.Sprint("question ", m.turn), ConversationID: "conv_1", UserID: "ann"}
					req.UserName = "Ann"
					if result, err := r.Run(t.Context(), req, dropped{}); err != nil || result.Reason != stream.MaxSteps && result.Reason != stream.Stop {
						t.Fatalf("turn %d: %v %v", m.turn, result.Reason, err)
					}
					time.Sleep(time.Minute)
				}
				first, within := shares(m)
				t.Logf("%s: %.3f of a first call, %.3f within a turn", tt.name, first, within)
				if first < tt.want || !tt.talks && within != 1 {
					t.Errorf("%.3f of a first call began the call before, want %.2f; within a turn %.3f, want 1", first, tt.want, within)
				}
			})
		})
	}
}

// A turn that waits for a person continues with the line of the time that it began with, and the
// memory keeps that one.
func TestLineOfATurnThatContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		defer func() { _ = s.Close() }()
		m := &caller{turn: 3}
		offers := &finds{tool.Set{Specs: []tool.Spec{{Name: "find", InputSchema: jsontext.Value(`{"type":"object"}`)}}}}
		r := conversation.New(conversation.Config{Store: s}).Around(agent.New(agent.Config{Model: m, Tools: offers, MaxSteps: 2, Origin: "a m", Hold: func(tool.Call, *tool.Spec) bool { return true }}))
		ask := func(req *chat.Request) *chat.Paused {
			req.ConversationID, req.UserID = "conv_1", "ann"
			req.Facts.Ask = func(*chat.Paused) string { return "" }
			result, err := r.Run(t.Context(), req, dropped{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			return result.Paused
		}
		p := ask(&chat.Request{Input: "question"})
		if p == nil {
			t.Fatal("the turn did not wait")
		}
		again := &chat.Request{Input: "question"}
		again.Resumed = &chat.Resumed{By: p.By, State: p.State, Decisions: []chat.Decision{{CallID: "c1", Action: chat.Approve}}}
		ask(again)
		m.turn = 4
		ask(&chat.Request{Input: "another"})
		const began, later = "user says Now it is Saturday, 2000-01-01, 00:00 in the time zone UTC (UTC+00:00).\n\nquestion\n", "user says Now it is Saturday, 2000-01-01, 00:20 in the time zone UTC (UTC+00:00).\n\nanother\n"
		if len(m.calls) != 3 {
			t.Fatalf("%d model calls", len(m.calls))
		}
		for i, c := range m.calls {
			others := strings.NewReplacer(began, "", later, "").Replace(c.prompt)
			if !strings.Contains(c.prompt, began) || strings.Contains(c.prompt, later) != (i == 2) || strings.Contains(others, "Now it is") {
				t.Errorf("model call %d:\n%s", i+1, c.prompt)
			}
		}
	})
}
