package aisdk_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// slow answers with five words, one a second.
type slow struct{}

func (slow) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	for range 5 {
		if err := sink.Emit(&stream.Delta{Text: "word "}); err != nil {
			return stream.Result{}, err
		}
		if err := sink.Flush(); err != nil {
			return stream.Result{}, err
		}
		select {
		case <-ctx.Done():
			return stream.Result{}, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// page is a page with useChat, in front of one gateway.
type page struct{ client http.Client }

// load starts a gateway; st is nil for no store.
func load(t *testing.T, st store.Store) *page {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg}, zerolog.Nop(), gateway.Seams{
		Store: st, Gemini: testnet.Serve(t, http.NotFoundHandler()), Runner: func(*agent.Agent) stream.Runner { return slow{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return &page{http.Client{Transport: testnet.Serve(t, g)}}
}

// reply is what a gateway answers.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request and returns the reply when it is whole.
func (p *page) send(ctx context.Context, method, path, body string, headers ...string) reply {
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		return reply{body: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer resp.Body.Close()
	all, _ := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(all)}
}

// later sends a request and returns what waits for its reply.
func (p *page) later(ctx context.Context, method, path, body string) func() reply {
	got := make(chan reply, 1)
	go func() { got <- p.send(ctx, method, path, body) }()
	return func() reply { return <-got }
}

// asking is a request for a turn.
func asking(others string) string {
	return `{"id":"chat-1","user_id":"u","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"go"}]}]` + others + `}`
}

const (
	chatPath = "/api/chat"
	ofChat   = "/api/chat/chat-1/stream?user_id=u"
	version  = "X-Vercel-Ai-Ui-Message-Stream"
	ended    = "data: {\"type\":\"finish\",\"finishReason\":\"stop\"}\n\ndata: [DONE]\n\n"
)

// inStore runs a test in a bubble, with two gateways on one store.
func inStore(t *testing.T, test func(t *testing.T, one, other *page)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		test(t, load(t, st), load(t, st))
		time.Sleep(time.Minute) // until turns without a client are over
	})
}

// A turn under way comes from its first part, from whichever gateway, and to its user alone.
func TestRunningTurnIsResumed(t *testing.T) {
	inStore(t, func(t *testing.T, one, other *page) {
		if r := one.send(t.Context(), "GET", ofChat, ""); r.status != http.StatusNoContent {
			t.Errorf("before there is a turn: %d %s", r.status, r.body)
		}
		whole := one.later(t.Context(), "POST", chatPath, asking(""))
		time.Sleep(2500 * time.Millisecond)
		if r := other.send(t.Context(), "GET", "/api/chat/chat-1/stream?user_id=another", ""); r.status != http.StatusNoContent {
			t.Errorf("another user gets %d %s", r.status, r.body)
		}
		again := other.send(t.Context(), "GET", ofChat, "")
		first := whole()
		if first.body != again.body || !strings.HasSuffix(again.body, ended) || again.header.Get(version) != "v1" || first.header.Get(version) != "v1" {
			t.Errorf("first:\n%s\nagain, %d %v:\n%s", first.body, again.status, again.header, again.body)
		}
		if r := one.send(t.Context(), "GET", ofChat, ""); r.status != http.StatusNoContent {
			t.Errorf("what has ended: %d %s", r.status, r.body)
		}
	})
}

func TestRunningTurnIsStopped(t *testing.T) {
	inStore(t, func(t *testing.T, one, other *page) {
		whole := one.later(t.Context(), "POST", chatPath, asking(`,"on_disconnect":"continue"`))
		time.Sleep(1500 * time.Millisecond)
		for range 2 {
			if r := other.send(t.Context(), "DELETE", ofChat, ""); r.status != http.StatusNoContent || r.body != "" {
				t.Errorf("%d %s", r.status, r.body)
			}
		}
		if r := whole(); strings.Count(r.body, "word") > 8 || !strings.HasSuffix(r.body, "data: {\"type\":\"error\",\"errorText\":\"The turn was cancelled\"}\n\ndata: [DONE]\n\n") {
			t.Errorf("%s", r.body)
		}
	})
}

// Leaving is the stop button, unless the request says that the turn continues.
func TestLeaving(t *testing.T) {
	for others, want := range map[string]int{"": http.StatusNoContent, `,"on_disconnect":"continue"`: http.StatusOK} {
		t.Run(others, func(t *testing.T) {
			inStore(t, func(t *testing.T, one, _ *page) {
				ctx, leave := context.WithCancel(t.Context())
				whole := one.later(ctx, "POST", chatPath, asking(others))
				time.Sleep(1500 * time.Millisecond)
				leave()
				whole()
				time.Sleep(100 * time.Millisecond)
				if r := one.send(t.Context(), "GET", ofChat, ""); r.status != want {
					t.Errorf("%d %s", r.status, r.body)
				}
			})
		})
	}
}

// A repeated key gets the same bytes, and a header by which the client knows them.
func TestKeyIsRepeated(t *testing.T) {
	inStore(t, func(t *testing.T, one, _ *page) {
		first := one.send(t.Context(), "POST", chatPath, asking(""), "Idempotency-Key", "key-12345")
		again := one.send(t.Context(), "POST", chatPath, asking(""), "Idempotency-Key", "key-12345")
		if first.body != again.body || again.header.Get(version) != "v1" || !strings.HasSuffix(again.body, ended) {
			t.Errorf("%v\n%s\n%s", again.header, first.body, again.body)
		}
	})
}

func TestWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, nil)
		whole := p.later(t.Context(), "POST", chatPath, asking(""))
		time.Sleep(1500 * time.Millisecond)
		for _, method := range []string{"GET", "DELETE"} {
			if r := p.send(t.Context(), method, ofChat, ""); r.status != http.StatusNoContent {
				t.Errorf("%s: %d %s", method, r.status, r.body)
			}
		}
		if r := whole(); r.status != http.StatusOK || !strings.HasSuffix(r.body, ended) || r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d %v\n%s", r.status, r.header, r.body)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, nil)
		for _, test := range []struct {
			method, path, body string
			status             int
			kind               string
		}{
			{"POST", chatPath, `{}`, 422, "validation_error"},
			{"POST", chatPath, asking(`,"on_disconnect":"continue"`), 422, "validation_error"},
			{"PUT", chatPath, ``, 405, "method_not_allowed"},
			{"GET", "/api/chat/" + strings.Repeat("x", 513) + "/stream", "", 422, "validation_error"},
		} {
			r := p.send(t.Context(), test.method, test.path, test.body)
			if r.status != test.status || r.header.Get("X-Error-Type") != test.kind || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") ||
				!strings.HasSuffix(r.body, " ("+r.header.Get("X-Request-ID")+")") {
				t.Errorf("%s %.40s %.40s: %d %v %s", test.method, test.path, test.body, r.status, r.header, r.body)
			}
		}
	})
}
