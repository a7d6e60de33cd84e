package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"sluice/breaker"
	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func openModel(t *testing.T, spec model.Spec, opts model.Options) *model.Model {
	t.Helper()
	spec.Key, spec.Model, spec.Provider, spec.API = "fast", "m", "openai", "chat"
	spec.First, spec.Idle = time.Minute, time.Minute
	spec.Breaker = breaker.Config{}
	m, err := New(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// observeModel asks m and says what it answered.
func observeModel(t *testing.T, m *model.Model) (h observed) {
	t.Helper()
	req := &chat.ModelRequest{Messages: []chat.Message{user("hello")}, Step: 1}
	h.err = m.Stream(t.Context(), req, func(c *chat.Chunk) error {
		copied := *c
		copied.Parts = append([]chat.Part{}, c.Parts...)
		finish := h.finish
		if h.add(&copied); h.finish == "" {
			h.finish = finish
		}
		if c.Maker != "fast/m" {
			t.Errorf("made by %q", c.Maker)
		}
		return nil
	})
	return h
}

// observeBody asks a model whose service answers with body, read through wrap.
func observeBody(t *testing.T, rec *recording, wrap func(io.Reader) io.Reader) observed {
	t.Helper()
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return observeModel(t, openModel(t, model.Spec{Endpoint: "http://service.test/v1/chat/completions"}, model.Options{
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			body := io.NopCloser(wrap(bytes.NewReader(rec.wire(t))))
			return &http.Response{StatusCode: rec.Status, Header: header, Body: body, Request: r, ProtoMajor: 1, ContentLength: -1}, nil
		}),
	}))
}

// checkModel compares what a Model made of an answer with the recording.
func checkModel(t *testing.T, rec *recording, h observed) {
	t.Helper()
	end := string(h.finish)
	if f, ok := errors.AsType[*fault.Error](h.err); ok {
		end = "error " + string(f.Type)
	} else if h.err != nil {
		t.Error(h.err)
	}
	if end != rec.Expect.End || h.text != rec.Expect.Text {
		t.Errorf("%q ends as %q (%v), want %q ending as %q", h.text, end, h.err, rec.Expect.Text, rec.Expect.End)
	}
	compareCalls(t, rec, h.calls)
	u := rec.Expect.Usage
	if u == nil && h.err == nil && (h.usage == nil || !h.usage.Estimated || h.usage.InputTokens == 0) {
		t.Errorf("usage is %+v, want a guess", h.usage)
	}
	if u != nil && (h.usage == nil || *h.usage != chat.Usage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached}) {
		t.Errorf("usage is %+v, want %+v", h.usage, *u)
	}
}

// Every recorded answer comes through the frame as others read it, also one byte a read.
func TestChatCorpusThroughModel(t *testing.T) {
	t.Parallel()
	for _, rec := range readRecordings(t, "chat-*.sse", "chat-*.chunks.jsonl", "quoted-chat-*.sse") {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			checkModel(t, &rec, observeBody(t, &rec, func(r io.Reader) io.Reader { return r }))
			checkModel(t, &rec, observeBody(t, &rec, iotest.OneByteReader))
		})
	}
}

// Error bodies end as others read them.
func TestChatErrorBodiesThroughModel(t *testing.T) {
	t.Parallel()
	for _, rec := range readRecordings(t, "*error-*.body") {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			h := observeBody(t, &rec, func(r io.Reader) io.Reader { return r })
			f, ok := errors.AsType[*fault.Error](h.err)
			if !ok || "error "+string(f.Type) != rec.Expect.End {
				t.Errorf("%v, want %s", h.err, rec.Expect.End)
			}
		})
	}
}

// A member that the service refuses is left out of the same request, and of later ones.
func TestChatLearnsMembers(t *testing.T) {
	t.Parallel()
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s with %q", r.URL, r.Header.Get("Authorization"))
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		for _, name := range []string{"stream_options", "temperature", "reasoning_effort"} {
			if strings.Contains(string(body), `"`+name+`"`) {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":{"message":"Unsupported parameter: '`+name+`'","code":"unsupported_parameter","param":"`+name+`"}}`)
				return
			}
		}
		io.WriteString(w, "data: "+says(`"content":"a"`)+"\n\ndata: "+stop+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	half := 0.5
	spec := model.Spec{Endpoint: srv.URL + "/v1/chat/completions", Generation: model.Generation{Temperature: &half, Thinking: model.Thinking{Word: "low"}}, APIKey: config.Secret("key")}
	m := openModel(t, spec, model.Options{})
	for range 2 {
		if h := observeModel(t, m); h.err != nil || h.text != "a" {
			t.Fatalf("%q %v", h.text, h.err)
		}
	}
	if len(bodies) != 5 {
		t.Errorf("%d requests, want 5:\n%s", len(bodies), strings.Join(bodies, "\n"))
	}
}

// What comes in place of a stream: the answer in one piece, an error, or neither.
func TestChatDocumentsThroughModel(t *testing.T) {
	t.Parallel()
	whole := `{"choices":[{"index":0,` + "\n" + `"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	tests := []struct {
		body, text string
		want       fault.Type // empty: a good answer
	}{
		{whole, "a", ""},
		{strings.ReplaceAll(whole, "\n", ""), "a", ""},
		{`{"error":{"message":"x","type":"authentication_error"}}`, "", fault.ModelError},
		{`{"error":{"message":"x","code":429}}`, "", fault.ModelRateLimited},
		{`[{"error":{"message":"x","code":400}}]`, "", fault.ModelError},
		{`{"object":"error","message":"x","code":400}`, "", fault.ModelError},
		{`{"choices":[]}`, "", fault.ModelUnavailable},
		{`{"hello":1}`, "", fault.ModelUnavailable},
		{`<html>`, "", fault.ModelUnavailable},
		{sse(says(`"content":"a"`)) + "error: {\"code\":500,\"message\":\"x\"}\n\n", "a", fault.ModelUnavailable},
		{sse(says(`"content":"a"`)) + `{"error":{"message":"x","code":400}}`, "a", fault.ModelError},
	}
	for _, tt := range tests {
		m := openModel(t, model.Spec{Endpoint: "http://service.test/v1/chat/completions"}, model.Options{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				header := http.Header{"Content-Type": {"application/json"}}
				return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r, ProtoMajor: 1, ContentLength: -1}, nil
			}),
		})
		h := observeModel(t, m)
		f, failed := errors.AsType[*fault.Error](h.err)
		if h.text != tt.text || failed != (tt.want != "") || failed && f.Type != tt.want {
			t.Errorf("%s: %q %v, want %q %s", tt.body, h.text, h.err, tt.text, tt.want)
		}
	}
}
