package breaker_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
)

// lines collects log lines.
type lines struct{ buf bytes.Buffer }

func (l *lines) logger() zerolog.Logger { return zerolog.New(&l.buf) }

// drain returns the lines since the last time.
func (l *lines) drain(t *testing.T) []string {
	t.Helper()
	text := strings.TrimSuffix(l.buf.String(), "\n")
	l.buf.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (l *lines) check(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.drain(t)); diff != "" {
		t.Errorf("log %s (-want +got):\n%s", when, diff)
	}
}

func TestLogOfEveryTransition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := config()
		cfg.Log = log.logger()
		b := breaker.New(cfg)
		calls(t, b, "sffnsff")
		log.check(t, "before anything happened")
		calls(t, b, "f")
		log.check(t, "when it opens",
			`{"level":"warn","details":{"service":"gemini","old_state":"closed","new_state":"open","failure_count":3,"last_error":"503"},"message":"circuit_breaker_state_change"}`,
			`{"level":"error","details":{"service":"gemini","failure_count":3,"threshold":3},"message":"circuit_breaker_opened"}`)
		refused(t, b)
		log.check(t, "when it refuses")
		time.Sleep(30*time.Second + 1)
		report := allow(t, b)
		log.check(t, "when it lets a probe through",
			`{"level":"warn","details":{"service":"gemini","old_state":"open","new_state":"half-open","failure_count":3,"last_error":"503"},"message":"circuit_breaker_state_change"}`)
		report(breaker.Failure, context.DeadlineExceeded)
		log.check(t, "when the probe fails",
			`{"level":"warn","details":{"service":"gemini","old_state":"half-open","new_state":"open","failure_count":4,"last_error":"context deadline exceeded"},"message":"circuit_breaker_state_change"}`,
			`{"level":"error","details":{"service":"gemini","failure_count":4,"threshold":3},"message":"circuit_breaker_opened"}`)
		time.Sleep(30*time.Second + 1)
		calls(t, b, "sss")
		log.check(t, "when it closes",
			`{"level":"warn","details":{"service":"gemini","old_state":"open","new_state":"half-open","failure_count":4,"last_error":"context deadline exceeded"},"message":"circuit_breaker_state_change"}`,
			`{"level":"warn","details":{"service":"gemini","old_state":"half-open","new_state":"closed","failure_count":0,"last_error":"context deadline exceeded"},"message":"circuit_breaker_state_change"}`)
		for range 3 {
			allow(t, b)(breaker.Failure, nil)
		}
		log.check(t, "when it opens without an error to name, the old one being over",
			`{"level":"warn","details":{"service":"gemini","old_state":"closed","new_state":"open","failure_count":3},"message":"circuit_breaker_state_change"}`,
			`{"level":"error","details":{"service":"gemini","failure_count":3,"threshold":3},"message":"circuit_breaker_opened"}`)
	})
}

// The request that causes a change has it in its own log, and later changes are
// not taken for its doing.
func TestRequestsLoggerIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var own, request lines
		cfg := config()
		cfg.Failures = 1
		cfg.Log = own.logger()
		b := breaker.New(cfg)
		ctx := request.logger().With().Str("request_id", "req_1").Logger().WithContext(context.Background())
		report, err := b.Allow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		allow(t, b) // another call in between
		report(breaker.Failure, errDown)
		got := request.drain(t)
		if len(got) != 2 || len(own.drain(t)) != 0 {
			t.Fatalf("the request's log got %q", got)
		}
		for _, line := range got {
			if !strings.Contains(line, `"request_id":"req_1"`) {
				t.Errorf("a line without the request's id: %s", line)
			}
		}
		time.Sleep(30*time.Second + 1)
		allow(t, b)
		if got := own.drain(t); len(got) != 1 || len(request.drain(t)) != 0 {
			t.Errorf("a change that another call caused: the breaker's log got %q", got)
		}
	})
}
