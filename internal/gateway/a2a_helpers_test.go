package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/a2a"
	"sluice/agent"
	"sluice/chat"
	"sluice/fault"
	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/stream"
)

// called answers by what the input begins with: slow, ask and fail; and notes what it got.
type called struct{ inputs *[]string }

func (c called) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	*c.inputs = append(*c.inputs, req.Input)
	switch {
	case strings.HasPrefix(req.Input, "slow"):
		return slow{words: 5, runs: new(int)}.Run(ctx, req, sink)
	case strings.HasPrefix(req.Input, "ask"), strings.HasSuffix(req.Input, "The request:\nask me"):
		_ = sink.Emit(&stream.Delta{Text: "Which one?"})
		return stream.Result{Reason: stream.InputRequired}, nil
	case strings.HasPrefix(req.Input, "fail"):
		_ = sink.Emit(&stream.Delta{Text: "Hm. "})
		return stream.Result{}, &fault.Error{Type: fault.ModelUnavailable, Message: "The model is unavailable"}
	}
	_ = sink.Emit(&stream.Thinking{Content: "let me see"})
	_ = sink.Emit(&stream.Delta{Text: "You said: "})
	_ = sink.Flush()
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: req.Input})
}

// agents is a gateway served over A2A, and what its runner got.
type agents struct {
	peer
	inputs []string
}

// startA2A starts a gateway; st is nil for no store.
func startA2A(t *testing.T, st store.Store) *agents {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0", "SLUICE_MAX_STREAMS": "2"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := settings.Config{Config: cfg, File: settings.File{A2A: a2a.Spec{Enabled: true}}, Version: "1.2.3"}
	a := new(agents)
	g, err := New(t.Context(), whole, zerolog.Nop(), Seams{
		Store: st, Gemini: testnet.Serve(t, silent()),
		Runner: func(*agent.Agent) stream.Runner { return called{&a.inputs} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	a.client = http.Client{Transport: testnet.Serve(t, g)}
	return a
}

// a2aSaid returns the parameters of a message.
func a2aSaid(id, text string, more ...string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + strings.Join(more, "") + `}}`
}
