package openai

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// openResponses returns a model whose provider is answer.
func openResponses(t *testing.T, answer http.HandlerFunc) *model.Model {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	spec := model.Spec{
		Key: "fast", Provider: "openai", Model: "gpt-5", Endpoint: server.URL + "/v1/responses", First: 10 * time.Second, Idle: 10 * time.Second,
		Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}},
	}
	m, err := model.New(spec, model.Bearer(), newResponses(spec, nil), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// askResponses makes one call.
func askResponses(t *testing.T, m *model.Model) (*responsesRead, error) {
	t.Helper()
	got := new(responsesRead)
	err := m.Stream(t.Context(), &chat.ModelRequest{Messages: []chat.Message{responsesUser("hi")}}, func(c *chat.Chunk) error {
		got.add(c)
		return nil
	})
	return got, err
}

// TestResponsesOverHTTP serves each recording to a model that is set up as a
// configuration sets it up.
func TestResponsesOverHTTP(t *testing.T) {
	t.Parallel()
	for _, rec := range responsesRecordings(t) {
		t.Run(rec.Name, func(t *testing.T) {
			t.Parallel()
			m := openResponses(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				for event := range strings.SplitAfterSeq(string(rec.Wire), "\n\n") {
					_, _ = io.WriteString(w, event)
					_ = http.NewResponseController(w).Flush()
				}
			})
			got, err := askResponses(t, m)
			if f, ok := errors.AsType[*fault.Error](err); ok {
				if end := "error " + string(f.Type); end != rec.Expect.End {
					t.Errorf("ended with %q (%v), want %q", end, err, rec.Expect.End)
				}
				return
			}
			checkResponses(t, &rec, got, err)
		})
	}
}

// A model that takes neither summaries nor encrypted reasoning is asked without.
func TestResponsesLearned(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	m := openResponses(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(body))
		mu.Unlock()
		for member, param := range map[string]string{`"summary"`: "reasoning.summary", `"include"`: "include"} {
			if strings.Contains(string(body), member) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"not supported with this model","type":"invalid_request_error","param":"`+param+`","code":null}}`)
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(responsesWire(responsesHello, responsesEnded))
	})
	for range 2 {
		if got, err := askResponses(t, m); err != nil || got.Text != "hello" {
			t.Errorf("text %q, %v", got.Text, err)
		}
	}
	if len(bodies) != 4 {
		t.Errorf("%d requests, want 3 and then 1: %q", len(bodies), bodies)
	}
}
