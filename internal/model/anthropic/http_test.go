package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// open returns a Model that talks to handler.
func open(t *testing.T, handler http.HandlerFunc, change func(*model.Spec)) *model.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	spec := testSpec()
	spec.Endpoint, spec.First, spec.Idle = server.URL+"/v1/messages", 10*time.Second, 10*time.Second
	if change != nil {
		change(spec)
	}
	m, err := New(*spec, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// ask calls m.
func ask(ctx context.Context, m *model.Model, req *chat.ModelRequest) (got decoded) {
	finish := chat.FinishNone
	got.err = m.Stream(ctx, req, func(c *chat.Chunk) error {
		got.add(c)
		if c.Finish != "" {
			finish = c.Finish
		}
		return nil
	})
	got.finish = finish
	return got
}

// Every recorded answer gives what its description expects over HTTP as well: at once,
// with a flush after each event, and a byte at a time.
func TestRecordingsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		for name, pieces := range map[string][]string{"whole": {rec.body}, "by event": strings.SplitAfter(rec.body, "\n\n"), "by byte": strings.Split(rec.body, "")} {
			t.Run(rec.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := open(t, func(w http.ResponseWriter, _ *http.Request) {
					for k, v := range rec.Headers {
						w.Header().Set(k, v)
					}
					w.WriteHeader(rec.Status)
					for _, p := range pieces {
						io.WriteString(w, p)
						w.(http.Flusher).Flush()
					}
				}, nil)
				got := ask(t.Context(), m, &chat.ModelRequest{Messages: []chat.Message{user(text("hi"))}})
				e, failed := got.err.(*fault.Error)
				if failed != strings.HasPrefix(rec.Expect.End, "error") || failed && "error "+string(e.Type) != rec.Expect.End {
					t.Fatalf("%v, want %s", got.err, rec.Expect.End)
				}
				if !failed {
					rec.check(t, got)
				}
			})
		}
	}
}

func TestRequestOverHTTP(t *testing.T) {
	t.Parallel()
	m := open(t, func(w http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{"X-Api-Key": "canary", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json", "Authorization": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if r.URL.Path != "/v1/messages" {
			t.Errorf("path %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"message","model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`)
	}, func(s *model.Spec) { s.APIKey = config.Secret("canary") })
	if got := ask(t.Context(), m, &chat.ModelRequest{Messages: []chat.Message{user(text("hi"))}}); got.err != nil || got.text != "Hello" {
		t.Errorf("%+v", got)
	}
}

// A server that refuses one member after the other is asked without them, in steps for
// thinking, and from then on at once.
func TestLearnedMembersOverHTTP(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	m := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var body map[string]json.RawMessage
		json.NewDecoder(r.Body).Decode(&body)
		message := ""
		switch {
		case strings.Contains(string(body["thinking"]), "adaptive"):
			message = "adaptive thinking is not supported on this model"
		case body["thinking"] != nil:
			message = "thinking: Extra inputs are not permitted"
		case strings.Contains(string(body["system"]), "cache_control"):
			message = "system.0.cache_control: Extra inputs are not permitted"
		case body["temperature"] != nil:
			message = "`temperature` is deprecated for this model."
		}
		if message != "" {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, errorBody("invalid_request_error", message))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range all(started, hello, ended("end_turn"), stopped) {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}, func(s *model.Spec) { half := 0.5; s.Temperature, s.Thinking = &half, model.Thinking{Word: "summary"} })
	req := &chat.ModelRequest{System: "s", Messages: []chat.Message{user(text("hi"))}}
	for range 2 {
		if got := ask(t.Context(), m, req); got.err != nil || got.text != "Hello" {
			t.Fatalf("%+v", got)
		}
	}
	if n := asked.Load(); n != 6 {
		t.Errorf("%d requests, want 5 and one", n)
	}
	want := model.Omit{memberThinking, memberThinking, memberCacheControl, memberTemperature}
	if got := m.Learned().Omit(); !slices.Equal(got, want) {
		t.Errorf("learned (-want +got):\n%s", cmp.Diff(want, got))
	}
}
