package protocols

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

func copyBody(w io.Writer, r *http.Request) (int64, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if err != nil {
		return 0, err
	}
	n, err := w.Write(body)
	return int64(n), err
}

// speaker is a model that takes part in a conversation.
type speaker struct {
	provider
	model *model.Model
	agent *agent.Agent
	sent  *requests
}

func newSpeaker(t *testing.T, p provider) *speaker {
	s := &speaker{provider: p, sent: new(requests)}
	s.model = p.open(t, clerk{}, s.sent)
	s.agent = agent.New(agent.Config{Model: s.model, Tools: newDesk(), Keyed: true})
	return s
}

// step lets s make the next step of state.
func (s *speaker) step(t *testing.T, state agent.State) agent.State {
	t.Helper()
	next, err := s.agent.Step(t.Context(), state, deaf{})
	if err != nil {
		t.Fatalf("%s: %v\nrequest: %s", s.spec.Key, cause(err), s.sent.last())
	}
	return next
}

// deaf is a sink for those who do not care for events.
type deaf struct{}

func (deaf) Emit(stream.Event) error { return nil }
func (deaf) Flush() error            { return nil }

// A conversation goes from each model to each other one and back, in the middle of a
// turn and after it. Whatever one of them made, the other's service takes the request.
func TestConversationsGoAnywhere(t *testing.T) {
	t.Parallel()
	all := append(protocols(), dialects()...)
	for _, from := range all {
		for _, to := range all {
			t.Run(from.spec.Key+" to "+to.spec.Key, func(t *testing.T) {
				t.Parallel()
				first := newSpeaker(t, from)
				second := first
				if to.spec.Key != from.spec.Key {
					second = newSpeaker(t, to)
				}
				travel(t, first, second)
			})
		}
	}
}

func travel(t *testing.T, first, second *speaker) {
	state, err := first.agent.Begin(t.Context(), question(), deaf{})
	if err != nil {
		t.Fatal(err)
	}
	state = first.step(t, state)  // two calls
	state = second.step(t, state) // with their results; another call
	second.judge(t, first)
	state = first.step(t, state) // with the result of the other's; the answer
	if !state.IsOver() || len(state.Messages) < 5 {
		t.Fatalf("the turn is not over after %d messages", len(state.Messages))
	}
	first.judgeOwn(t)

	// The next turn remembers all of it, thinking included.
	state = first.goOn(state)
	state = second.step(t, state)
	state = first.step(t, state)
	state = second.step(t, state)
	if !state.IsOver() {
		t.Fatal("the second turn is not over")
	}
}

// goOn returns the state in which the next question is asked.
func (s *speaker) goOn(state agent.State) agent.State {
	said := chat.Message{Role: chat.RoleModel, Parts: []chat.Part{{Text: "Two todos."}}, Maker: s.spec.Maker()}
	asked := chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: "And now?"}}}
	return agent.State{System: state.System, Messages: append(state.Messages, said, asked)}
}

// judge looks at the request that s sent after calls of other's, for what no server can
// be relied on to miss.
func (s *speaker) judge(t *testing.T, other *speaker) {
	t.Helper()
	body, foreign := s.sent.last(), s.spec.Maker() != other.spec.Maker()
	has := func(part string, want bool) {
		t.Helper()
		if strings.Contains(body, part) != want {
			t.Errorf("calls of %s go to %s with %s: %v, want %v\n%s", other.spec.Key, s.spec.Key, part, !want, want, body)
		}
	}
	switch s.spec.Key {
	case "gemini", "geminicompat":
		has("skip_thought_signature_validator", foreign)
	case "deepseek":
		has(`"reasoning_content":""`, foreign)
		has(`"reasoning_content":"The user wants`, !foreign)
	case "messages":
		has(`"type":"thinking","thinking":"The user wants`, !foreign)
		has(`"thinking":{"type":"adaptive"`, !foreign)
	case "responses":
		has(`"encrypted_content"`, !foreign)
	case "openrouter":
		has(`"reasoning_details"`, !foreign)
	}
	if foreign {
		has("The user wants the todos", false)
	}
}

// judgeOwn looks at the request that s sent after its own call and another's.
func (s *speaker) judgeOwn(t *testing.T) {
	t.Helper()
	part := map[string]string{
		"gemini": `"thoughtSignature":"EiIKI`, "deepseek": `"reasoning_content":"The user wants`, "messages": `"signature":`,
		"responses": `"encrypted_content"`, "openrouter": `"reasoning_details"`, "geminicompat": `"extra_content":{"google":{"thought_signature":"`,
	}[s.spec.Key]
	if body := s.sent.last(); !strings.Contains(body, part) {
		t.Errorf("%s does not get back %s:\n%s", s.spec.Key, part, body)
	}
}

// cause returns what stands behind an error of a turn.
func cause(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}
