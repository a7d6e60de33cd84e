package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/router"
	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
)

const routeSchema = `{"type":"object","required":["agentId"],"properties":{"agentId":{"type":"string"}}}`

// The router gets the object that fits its schema, or learns that none did.
func TestAsker(t *testing.T) {
	t.Parallel()
	for text, unreadable := range map[string]bool{`{"agentId":"a"}`: false, `{"agentId":7}`: true, "no": true} {
		a := NewAsker(opened(t, false, upstream{text}, spoken("spare", "up")))
		got, err := a.Ask(t.Context(), &router.Question{Model: "spare", System: "s", User: "u", Schema: jsontext.Value(routeSchema), MaxAttempts: 2})
		switch {
		case errors.Is(err, router.ErrUnreadable) != unreadable:
			t.Errorf("%s: %v", text, err)
		case unreadable && (got.Unreadable != got.Attempts || got.Attempts != 2):
			t.Errorf("%s: %d of %d attempts were unreadable", text, got.Unreadable, got.Attempts)
		case !unreadable && (string(got.JSON) != text || got.Model != "spare" || got.Usage.InputTokens != 7 || got.Unreadable != 0):
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// A schema is compiled once, and again when its text has changed.
func TestSchemasAreCompiledOnce(t *testing.T) {
	t.Parallel()
	var s schemas
	get := func(text string) any {
		t.Helper()
		schema, err := s.get("route", jsontext.Value(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	first := get(routeSchema)
	if get(routeSchema) != first {
		t.Error("it was compiled twice")
	}
	if get(`{"type":"object"}`) == first {
		t.Error("another text has the same schema")
	}
	if _, err := s.get("route", jsontext.Value("{"), nil); err == nil {
		t.Error("what is no schema has no error")
	}
	if _, err := NewAsker(opened(t, true, nil)).Ask(t.Context(), &router.Question{Schema: jsontext.Value("{")}); err == nil {
		t.Error("the router asks without a schema")
	}
}

// Checks ask for one object, at temperature 0.
func TestCheckAsker(t *testing.T) {
	t.Parallel()
	a := NewCheckAsker(opened(t, false, upstream{`{"agentId":"a"}`}, spoken("spare", "up")))
	for _, name := range []string{"plan", "judge"} {
		got, err := a.Ask(t.Context(), &quality.Question{Name: name, Model: "spare", Schema: jsontext.Value(routeSchema)})
		if err != nil || string(got.JSON) != `{"agentId":"a"}` || got.Usage.InputTokens != 7 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := a.Ask(t.Context(), &quality.Question{Name: "judge", Schema: jsontext.Value("{")}); err == nil {
		t.Error("the judge asks without a schema")
	}
}

// chunks is a model that says what is in it.
type chunks []chat.Chunk

func (chunks) Key() string  { return "k" }
func (chunks) Name() string { return "m" }

func (c chunks) Stream(_ context.Context, _ *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	for i := range c {
		if err := yield(&c[i]); err != nil {
			return err
		}
	}
	return nil
}

// A refinement is the model's text alone, and one that cannot be joined is an error.
func TestWriter(t *testing.T) {
	t.Parallel()
	text := func(s string) chat.Chunk { return chat.Chunk{Parts: []chat.Part{{Text: s}}} }
	stop := chat.Chunk{Finish: chat.FinishStop, Usage: &chat.Usage{OutputTokens: 3}}
	gone := errors.New("nobody reads")
	for _, tt := range []struct {
		name   string
		chunks chunks
		yield  error
		want   string
		err    error
	}{
		{"text", chunks{text("One "), {Parts: []chat.Part{{Text: "thought", Thought: true}}}, text("two."), stop}, nil, "One two.", nil},
		{"another model before the text", chunks{{Switch: &chat.Switch{}}, {Restarted: true}, text("One."), stop}, nil, "One.", nil},
		{"begun again", chunks{text("One "), {Restarted: true}, text("One."), stop}, nil, "One ", errBeganAgain},
		{"another model within the text", chunks{text("One "), {Switch: &chat.Switch{}}, stop}, nil, "One ", errBeganAgain},
		{"no end", chunks{text("One ")}, nil, "One ", errNoFinish},
		{"nobody reads", chunks{text("One "), stop}, gone, "One ", gone},
	} {
		m := &Models{}
		m.links = map[string]model.Link{"of a": tt.chunks}
		var got strings.Builder
		out, err := NewWriter(m, map[string]string{"a": "of a"}).Write(t.Context(), &quality.Order{Agent: "a"}, func(s string) error {
			got.WriteString(s)
			return tt.yield
		})
		if got.String() != tt.want || !errors.Is(err, tt.err) || err == nil && out.Usage.OutputTokens != 3 {
			t.Errorf("%s: %q, %+v, %v", tt.name, got.String(), out, err)
		}
	}
}

// FuzzRouterAnswer has a router's model say anything.
func FuzzRouterAnswer(f *testing.F) {
	f.Add(`{"agentId":"agent-00","confidence":0.9}`)
	f.Add(`{"agentId":"agent-00","confidence":"0.9","additionalAgents":["agent-01",1]}`)
	f.Add("```json\n{}\n```")
	var cfg router.Config
	for i := range 3 {
		cfg.Agents = append(cfg.Agents, router.Agent{ID: fmt.Sprintf("agent-%02d", i), Description: "Does {0}."})
	}
	f.Fuzz(func(t *testing.T, text string) {
		cfg := cfg
		cfg.Asker = NewAsker(opened(t, false, http.RoundTripper(upstream{text})))
		d := router.New(cfg).Decide(t.Context(), &chat.Request{Input: "x"})
		if got := d.Route; got.Confidence < 0 || got.Confidence > 1 || len([]rune(got.Reasoning)) > 501 || (d.Err != nil) && got.Decision != "fallback" {
			t.Errorf("%+v, %v", got, d.Err)
		}
	})
}
