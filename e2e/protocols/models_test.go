package protocols

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/breaker"
	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/gemini"
	"sluice/internal/model/openai"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// provider is a model with the simulator behind it.
type provider struct {
	spec model.Spec
	// directives are how its simulator answers, whatever it is asked.
	directives string
}

// protocols are the four, each as its own provider speaks it.
func protocols() []provider {
	return []provider{
		{spec: model.Spec{Key: "gemini", Provider: "gemini", Model: "gemini-3-pro-preview"}},
		{spec: model.Spec{Key: "chat", Provider: "openai", API: "chat", Model: "gpt-4o"}, directives: "strict 400"},
		{spec: model.Spec{Key: "responses", Provider: "openai", API: "responses", Model: "gpt-5"}},
		{spec: model.Spec{Key: "messages", Provider: "anthropic", Model: "claude-sonnet-4-5"}},
	}
}

// dialects are servers of Chat Completions with rules of their own.
func dialects() []provider {
	return []provider{
		{spec: model.Spec{Key: "mistral", Provider: "openai", API: "chat", Preset: "mistral", Model: "magistral-medium-latest"}, directives: "take-ids nine; ids nine; strict 422; reasoning parts"},
		{spec: model.Spec{Key: "deepseek", Provider: "openai", API: "chat", Preset: "deepseek", Model: "deepseek-reasoner"}, directives: "need-reasoning; reasoning content"},
		{spec: model.Spec{Key: "openrouter", Provider: "openai", API: "chat", Preset: "openrouter", Model: "anthropic/claude-sonnet-4.5"}, directives: "reasoning details"},
		{spec: model.Spec{Key: "geminicompat", Provider: "openai", API: "chat", Model: "gemini-3-pro-preview", Endpoint: "http://generativelanguage.googleapis.com"}, directives: "signed; ids odd"},
	}
}

// open starts the simulator of p and returns its model. What the simulator finds wrong
// with a request fails the test.
func (p provider) open(t testing.TB, says geminisim.Model, log *requests) *model.Model {
	t.Helper()
	var failures func() []string
	var handler http.Handler
	if p.spec.Provider == "gemini" {
		sim := geminisim.New(geminisim.Config{Model: says, Foreign: true})
		handler, failures = sim, sim.Failures
	} else {
		script, err := modelsim.ParseScript(strings.ReplaceAll(p.directives, ";", "\n") + "\nloop")
		if err != nil {
			t.Fatal(err)
		}
		sim := modelsim.New(modelsim.Config{Name: p.spec.Key, Model: says, Script: script})
		handler, failures = sim, sim.Failures
	}
	server := httptest.NewServer(log.keeping(handler))
	t.Cleanup(func() {
		server.Close()
		for _, f := range failures() {
			t.Errorf("%s refuses: %s", p.spec.Key, f)
		}
	})
	m, err := connect(p.spec, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// connect returns the model of spec, whose requests go to the server at base.
func connect(spec model.Spec, base string) (*model.Model, error) {
	if spec.Endpoint == "" {
		spec.Endpoint = base
		return connectOver(spec, nil)
	}
	server, err := url.Parse(base) // the name of the host counts: only the way there is another one
	if err != nil {
		return nil, err
	}
	return connectOver(spec, detour{server.Host})
}

// connectOver returns the model of spec, whose requests go over transport.
func connectOver(spec model.Spec, transport http.RoundTripper) (*model.Model, error) {
	spec.First, spec.Idle = 15*time.Second, 15*time.Second
	spec.Breaker = breaker.Config{Failures: 3, Recovery: time.Minute, HalfOpenCalls: 3}
	if spec.Thinking == (model.Thinking{}) {
		spec.Thinking.Word = "summary"
	}
	path := map[string]string{"chat": "/v1/chat/completions", "responses": "/v1/responses"}[spec.API]
	if spec.Provider == "anthropic" {
		path = "/v1/messages"
	}
	spec.Endpoint += path
	opts := model.Options{Transport: transport}
	switch spec.Provider {
	case "gemini":
		return gemini.New(spec, opts)
	case "openai":
		return openai.New(spec, opts)
	case "anthropic":
		return anthropic.New(spec, opts)
	}
	return nil, fmt.Errorf("there is no provider %q", spec.Provider)
}

// detour sends requests to host, whatever host they are for.
type detour struct{ host string }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = d.host
	return http.DefaultTransport.RoundTrip(r)
}

// requests are the bodies that a server was sent.
type requests struct {
	mu     sync.Mutex // guards the field below
	bodies []string
}

// keeping returns h, which keeps bodies; h itself if r is nil.
func (r *requests) keeping(h http.Handler) http.Handler {
	if r == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body strings.Builder
		if _, err := copyBody(&body, req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		r.bodies = append(r.bodies, body.String())
		r.mu.Unlock()
		h.ServeHTTP(w, req)
	})
}

// last returns the last body.
func (r *requests) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bodies) == 0 {
		return ""
	}
	return r.bodies[len(r.bodies)-1]
}

// clerk is a model with a plan: it looks two things up at once, then a third, and then
// says what it has learned.
type clerk struct{}

func (clerk) Version() string { return "clerk" }

func (clerk) Answer(q geminisim.Question) geminisim.Answer {
	call := func(i int, args string) geminisim.Call {
		return geminisim.Call{Name: q.Functions[i].Name, Args: jsontext.Value(args)}
	}
	last := q.Messages[len(q.Messages)-1]
	switch {
	case len(last.Results) == 2:
		return geminisim.Answer{Thoughts: []string{"One more. "}, Calls: []geminisim.Call{call(2, `{"id":7}`)}}
	case len(last.Results) == 1:
		return geminisim.Answer{Thoughts: []string{"Enough. "}, Text: "Two todos,\nand it is 😀 o'clock: " + string(last.Results[0].Response)}
	case !q.MayCall:
		return geminisim.Answer{Text: "I may not."}
	}
	return geminisim.Answer{
		Thoughts: []string{"The user wants the todos. ", "And the time. "},
		Calls:    []geminisim.Call{call(0, `{"done":false,"text":"grüß \"Gott\""}`), call(1, `{}`)},
	}
}

// desk has the tools that clerk uses. One has a name that not all protocols take.
type desk struct{ set *tool.Set }

func newDesk() desk {
	schema := jsontext.Value(`{"type":"object","properties":{"id":{"type":"integer"},"text":{"type":"string"},"done":{"type":"boolean"}}}`)
	return desk{&tool.Set{Specs: []tool.Spec{
		{Name: "todo.list", Server: "todo", Description: "Lists todos.", InputSchema: schema},
		{Name: "clock:now", Server: "clock", Description: "Tells the time."},
		{Name: "todo_list", Server: "todo", InputSchema: jsontext.Value(`{"anyOf":[{"type":"object","properties":{"id":{"type":"integer"}}},{"type":"null"}]}`)},
	}}}
}

func (d desk) Tools(context.Context) *tool.Set { return d.set }

func (desk) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ID: c.ID, Name: c.Name, Text: "The result of " + c.Name + ".", IsError: c.Name == "clock:now"}, nil
}

// question asks the clerk.
func question() *chat.Request { return &chat.Request{Input: "What is there to do?"} }
