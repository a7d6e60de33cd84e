package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	m, cfg := open(t, NewREST, Config{}), Config{}
	if err := cfg.normalize(); err != nil {
		t.Fatal(err)
	}
	if m.Name() != defaultModel || cfg.Timeout != defaultTimeout || m.Breaker().Snapshot().Service != service {
		t.Errorf("%q, %v, %+v", m.Name(), cfg.Timeout, m.Breaker().Snapshot())
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"thinking": {Thinking: "hard"}, "budget": {Thinking: "-2"}, "relative URL": {BaseURL: "localhost:8080"}, "scheme": {BaseURL: "ftp://x"},
		"query": {BaseURL: "http://x?key=1"}, "user": {BaseURL: "http://u:p@x"}, "no URL": {BaseURL: "http://%"}, "timeout": {Timeout: -1},
		"key": {APIKey: "SECRET\n"}, "key of two words": {APIKey: "SECRET SECRET"},
	} {
		for driver, newModel := range drivers {
			if _, err := newModel(cfg); err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s, %s: error = %v", driver, name, err)
			}
		}
	}
	_, err := NewREST(Config{Thinking: "hard", Timeout: -1, BaseURL: "x"})
	if n := strings.Count(err.Error(), "gemini:"); n != 3 {
		t.Errorf("%d of 3 faults reported: %v", n, err)
	}
}

// TestKeyNeverShows has an upstream that repeats the key wherever it can.
func TestKeyNeverShows(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, key := range []string{"SECRETKEY", "AIzaSyD-1234567890abcdefghijklmnopqrstu"} {
			message := "the key " + key + " is not known"
			for _, u := range []*upstream{
				serve(t, status(400, googleError(400, "INVALID_ARGUMENT", message))),
				serve(t, status(500, googleError(500, key, message), "Location", key)),
				serve(t, stream(textChunk("a"), event(googleError(503, "UNAVAILABLE", message)))),
				serve(t, stream(googleError(503, "UNAVAILABLE", message))),
				serve(t, stream(event(`{"candidates":"`+key+`"}`))),
			} {
				var log syncBuffer
				ctx := zerolog.New(&log).WithContext(t.Context())
				_, err := ask(ctx, open(t, Config{BaseURL: u.URL, APIKey: config.Secret(key)}))
				if s := err.Error() + log.String(); err == nil || strings.Contains(s, key) {
					t.Errorf("the key shows: %s", s)
				}
				if target := u.requests()[0].target; strings.Contains(target, key) {
					t.Errorf("the key is in the URL %s", target)
				}
			}
		}
	})
}

// TestLog has no word of anybody's in it.
func TestLog(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, status(503, googleError(503, "UNAVAILABLE", "quoting PRIVATE")), stream(
			event(`{"candidates":[{"content":{"parts":[{"text":"PRIVATE thought","thought":true},{"text":"PRIVATE"}]}}]}`), finishChunk("STOP")))
		var log bytes.Buffer
		count := metrics.New()
		m := open(t, Config{BaseURL: u.URL, Model: "m", Metrics: count})
		logger := zerolog.New(&log)
		req := &chat.ModelRequest{System: "PRIVATE", Messages: []chat.Message{user(chat.Part{Text: "PRIVATE"})}, Step: 2}
		if err := m.Stream(logger.WithContext(t.Context()), req, func(*chat.Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "PRIVATE") {
			t.Errorf("the log tells too much:\n%s", log.String())
		}
		length := float64(len(u.requests()[0].body))
		want := []logLine{
			{"info", "gemini_api_called", map[string]any{"model": "m", "step": 2.0, "attempt": 1.0, "prompt_length": length}, false},
			{"warn", "gemini_api_result", map[string]any{"model": "m", "step": 2.0, "attempt": 1.0, "outcome": "error", "response_length": 0.0, "tokens_used": 0.0,
				"finish_reason": "error", "cause": "upstream answered 503 UNAVAILABLE"}, true},
			{"info", "gemini_api_called", map[string]any{"model": "m", "step": 2.0, "attempt": 2.0, "prompt_length": length}, false},
			{"info", "gemini_api_result", map[string]any{"model": "m", "step": 2.0, "attempt": 2.0, "outcome": "ok", "response_length": 7.0, "tokens_used": 15.0, "finish_reason": "stop"}, true},
		}
		if diff := cmp.Diff(want, readLog(t, log.String())); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		wantOutcomes(t, count, map[string]int{model.OutcomeError: 1, model.OutcomeOK: 1})
	})
}

// Where other models are configured the log says which one this is.
func TestLogNamesTheModelAmongOthers(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		var log bytes.Buffer
		m := open(t, Config{BaseURL: serve(t, finished("hello")).URL, Key: "default"})
		if _, err := ask(zerolog.New(&log).WithContext(t.Context()), m); err != nil {
			t.Fatal(err)
		}
		for i, l := range readLog(t, log.String()) {
			if l.Message != []string{"gemini_api_called", "gemini_api_result"}[i] || l.Details["key"] != "default" || l.Details["provider"] != "gemini" {
				t.Errorf("logged %+v", l)
			}
		}
	})
}

type logLine struct {
	Level, Message string
	Details        map[string]any
	Timed          bool
}

func readLog(t *testing.T, s string) (lines []logLine) {
	for line := range strings.Lines(s) {
		var l struct {
			Level, Message string
			Details        map[string]any
			Duration       *int64 `json:"duration_ms"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, logLine{l.Level, l.Message, l.Details, l.Duration != nil})
	}
	return lines
}

func TestOutcomes(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		enough := errors.New("enough")
		for want, tt := range map[string]struct {
			reply  []string
			status int
			finish string // in the log
		}{
			model.OutcomeOK:          {[]string{textChunk("a"), finishChunk("MAX_TOKENS")}, 200, "max_tokens"},
			model.OutcomeError:       {[]string{textChunk("a"), finishChunk("BRAND_NEW")}, 200, "BRAND_NEW"},
			model.OutcomeRateLimited: {nil, 429, "rate_limited"},
			model.OutcomeRejected:    {nil, 400, "rejected"},
			model.OutcomeBlocked:     {[]string{finishChunk("SAFETY")}, 200, "SAFETY"},
			model.OutcomeCancelled:   {[]string{textChunk("enough")}, 200, "cancelled"},
		} {
			reply := stream(tt.reply...)
			if tt.status != 200 {
				reply = status(tt.status, "")
			}
			u := serve(t, reply)
			count := metrics.New()
			var log bytes.Buffer
			logger := zerolog.New(&log)
			m := open(t, Config{BaseURL: u.URL, Metrics: count})
			m.Stream(logger.WithContext(t.Context()), &chat.ModelRequest{}, func(c *chat.Chunk) error {
				if len(c.Parts) > 0 && c.Parts[0].Text == "enough" {
					return enough
				}
				return nil
			})
			wantOutcomes(t, count, map[string]int{want: 1})
			lines := readLog(t, log.String())
			if f := lines[len(lines)-1].Details["finish_reason"]; f != tt.finish {
				t.Errorf("%s: finish_reason %v, want %s", want, f, tt.finish)
			}
		}
	})
}

// TestConcurrentCalls share buffers, but no text.
func TestConcurrentCalls(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		texts := []string{strings.Repeat("a", 100), strings.Repeat("b", 20000), "c"}
		var servers []*upstream
		for _, s := range texts {
			servers = append(servers, serve(t, finished(s)))
		}
		var wg sync.WaitGroup
		for i, u := range servers {
			m := open(t, Config{BaseURL: u.URL})
			for range 8 {
				wg.Go(func() {
					for range 10 {
						if got, err := ask(t.Context(), m); err != nil || got.Text != texts[i] {
							t.Errorf("text of %d bytes, %v", len(got.Text), err)
						}
					}
				})
			}
		}
		wg.Wait()
	})
}

// TestCallsMayBeKept: what yield was given outlives it where it says so.
func TestCallsMayBeKept(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		one := func(args string) string {
			return event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":` + args + `},"thoughtSignature":"s` + args[5:6] + `"}]}}]}`)
		}
		u := serve(t, stream(one(`{"a":1}`)+one(`{"a":2}`)+one(`{"a":3}`), finishChunk("STOP")))
		var parts []chat.Part
		err := open(t, Config{BaseURL: u.URL}).Stream(t.Context(), &chat.ModelRequest{}, func(c *chat.Chunk) error {
			parts = append(parts, c.Parts...)
			return nil
		})
		if err != nil || len(parts) != 3 {
			t.Fatalf("%d parts, %v", len(parts), err)
		}
		for i, want := range []string{`{"a":1}`, `{"a":2}`, `{"a":3}`} {
			if got := string(parts[i].Call.Arguments); got != want || parts[i].Signature != "s"+want[5:6] {
				t.Errorf("call %d: %s %s", i, got, parts[i].Signature)
			}
		}
	})
}

func TestClose(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, finished("a"))
		m := open(t, Config{BaseURL: u.URL})
		ask(t.Context(), m)
		m.Close()
		<-u.closed // or the test hangs
	})
}
