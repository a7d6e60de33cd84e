package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
	"sluice/breaker/breakertest"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// after waits, in fake time, before it replies.
func after(d time.Duration, reply http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			reply(w, r)
		case <-r.Context().Done():
		}
	}
}

// longest is a jitter that takes all that it may.
func longest(limit time.Duration) time.Duration { return limit }

func wantElapsed(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

type opener = func(Config, ...http.HandlerFunc) (*Model, *upstream)

func TestModelHangsBeforeTheFirstChunk(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		for name, reply := range map[string]http.HandlerFunc{
			"no headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"no chunk":   hang,
		} {
			m, u := open(Config{}, reply)
			start := time.Now()
			_, err := ask(t.Context(), m)
			e := wantFault(t, err, fault.Timeout)
			if e.Message != "AI service timed out" || len(u.requests()) != 1 {
				t.Errorf("%s: message %q after %d requests", name, e.Message, len(u.requests()))
			}
			wantElapsed(t, start, 15*time.Second)
			wantFailures(t, m, 1)
		}
	})
}

func TestModelHangsMidStream(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		for name, chunks := range map[string]string{
			"one":                    textChunk("part"),
			"some in one write":      textChunk("p") + textChunk("ar") + textChunk("t"),
			"and a piece of another": textChunk("p") + textChunk("art") + textChunk("never")[:40],
		} {
			m, _ := open(Config{Timeout: 10 * time.Second}, after(9*time.Second, then(stream(chunks), hang)))
			start := time.Now()
			got, err := ask(t.Context(), m)
			wantFault(t, err, fault.Timeout)
			if got.Text != "part" {
				t.Errorf("%s: text = %q", name, got.Text)
			}
			wantElapsed(t, start, 19*time.Second)
			wantFailures(t, m, 1)
		}
	})
}

// TestAnswerThatDribbles: bytes that do not complete a chunk are no sign of life.
func TestAnswerThatDribbles(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "data")
				flush(w)
				time.Sleep(time.Second)
			}
		})
		start := time.Now()
		_, err := ask(t.Context(), m)
		wantFault(t, err, fault.Timeout)
		wantElapsed(t, start, 15*time.Second)
	})
}

// TestSlowAnswerIsNoFault: only silence is limited, and neither the whole answer
// nor the time that the consumer takes.
func TestSlowAnswerIsNoFault(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				time.Sleep(14 * time.Second)
				stream(textChunk("x"))(w, r)
			}
			stream(finishChunk("STOP"))(w, r)
		})
		err := m.Stream(t.Context(), &chat.ModelRequest{}, func(*chat.Chunk) error {
			time.Sleep(20 * time.Second)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestRetriesBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		var limits []time.Duration
		jitter := func(limit time.Duration) time.Duration { limits = append(limits, limit); return limit }
		m, u := open(Config{jitter: jitter}, status(503, ""), status(500, ""), finished("hello"))
		start := time.Now()
		got, err := ask(t.Context(), m)
		if err != nil || got.Text != "hello" || len(u.requests()) != 3 {
			t.Errorf("told %+v, %v after %d requests", got, err, len(u.requests()))
		}
		if len(limits) != 2 || limits[0] != 250*time.Millisecond || limits[1] != 500*time.Millisecond {
			t.Errorf("jitter of up to %v", limits)
		}
		wantElapsed(t, start, 750*time.Millisecond)
	})
}

// TestShortRetryInfoIsObeyed: 429 is tried again only when the service says that
// it pays.
func TestShortRetryInfoIsObeyed(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, status(429, googleError(429, "", "Please retry in 1.5s.")), status(503, "", "Retry-After", "2"), finished("hello"))
		start := time.Now()
		got, err := ask(t.Context(), m)
		if err != nil || got.Text != "hello" {
			t.Errorf("told %+v, %v", got, err)
		}
		wantElapsed(t, start, 3500*time.Millisecond)
	})
}

// TestNoRetryBeyondTheDeadline: the error comes now, not at the deadline.
func TestNoRetryBeyondTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, u := open(Config{jitter: longest}, status(503, ""))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := ask(ctx, m)
		wantFault(t, err, fault.ModelUnavailable)
		wantElapsed(t, start, 0)
		if len(u.requests()) != 1 {
			t.Errorf("%d requests", len(u.requests()))
		}
	})
}

// TestTimeoutHoldsForTheWholeCall, its retries included.
func TestTimeoutHoldsForTheWholeCall(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, u := open(Config{}, after(14*time.Second, status(503, "")), hang)
		start := time.Now()
		_, err := ask(t.Context(), m)
		wantFault(t, err, fault.Timeout)
		wantElapsed(t, start, 15*time.Second)
		if len(u.requests()) != 2 {
			t.Errorf("%d requests", len(u.requests()))
		}
		wantFailures(t, m, 1)
	})
}

// TestTimeoutDuringBackoff: the earlier error says more than the timeout.
func TestTimeoutDuringBackoff(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{Timeout: time.Second, jitter: longest}, after(900*time.Millisecond, status(503, "")))
		start := time.Now()
		_, err := ask(t.Context(), m)
		wantFault(t, err, fault.ModelUnavailable)
		wantElapsed(t, start, time.Second)
	})
}

// TestErrorBodyThatHangs: the status has said it all.
func TestErrorBodyThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, then(status(400, `{"error":`), hang))
		start := time.Now()
		_, err := ask(t.Context(), m)
		wantFault(t, err, fault.ModelError)
		wantElapsed(t, start, 15*time.Second)
		wantFailures(t, m, 0)
	})
}

// TestCauseOfTheCallersContext comes back as it is, whenever the context ends.
func TestCauseOfTheCallersContext(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		cause := &fault.Error{Type: fault.ShuttingDown}
		for name, reply := range map[string]http.HandlerFunc{
			"before the headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"mid-stream":         then(stream(textChunk("part")), hang),
			"during backoff":     status(503, ""),
		} {
			m, u := open(Config{jitter: func(time.Duration) time.Duration { return time.Minute }}, reply)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			start := time.Now()
			if _, err := ask(ctx, m); err != cause {
				t.Errorf("%s: error = %v, want the cause", name, err)
			}
			wantElapsed(t, start, time.Second)
			if s := m.Breaker().Snapshot(); s.FailureCount != 0 && name != "during backoff" {
				t.Errorf("%s: %d failures", name, s.FailureCount)
			}
			if _, err := ask(ctx, m); err != cause || len(u.requests()) != 1 {
				t.Errorf("%s: a call of an ended context: %v, %d requests", name, err, len(u.requests()))
			}
		}
	})
}

// TestDeadlineOfTheTurn is the caller's affair, not the service's fault.
func TestDeadlineOfTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, hang)
		over := errors.New("turn is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, over)
		defer cancel()
		if _, err := ask(ctx, m); err != over {
			t.Errorf("error = %v", err)
		}
		wantFailures(t, m, 0)
	})
}

// TestBreakerRecovers: open, half-open after a minute, closed after three answers.
func TestBreakerRecovers(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		down := status(503, "")
		m, _ := open(Config{}, down, down, down, finished("back"))
		breakertest.Fail(t, m.Breaker())
		breakertest.Fail(t, m.Breaker())
		ask(t.Context(), m)
		var states []breaker.State
		note := func() { states = append(states, m.Breaker().Snapshot().State) }
		note()
		time.Sleep(time.Minute + time.Millisecond)
		for range 3 {
			if _, err := ask(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			note()
		}
		want := []breaker.State{breaker.Open, breaker.HalfOpen, breaker.HalfOpen, breaker.Closed}
		for i := range want {
			if states[i] != want[i] {
				t.Fatalf("states %v, want %v", states, want)
			}
		}
	})
}

// TestChunkIsNotHeldBack: a chunk is handed on when it arrives, and More is set
// only if the next one is there.
func TestChunkIsNotHeldBack(t *testing.T) {
	bubble(t, func(t *testing.T, open opener) {
		m, _ := open(Config{}, func(w http.ResponseWriter, r *http.Request) {
			stream(textChunk("a"))(w, r)
			time.Sleep(time.Second)
			stream(textChunk("b")+textChunk("c")+textChunk("d")[:20])(w, r)
			time.Sleep(time.Second)
			stream(textChunk("d")[20:]+finishChunk("STOP")+": comment\n\n")(w, r)
			time.Sleep(time.Second)
		})
		type seen struct {
			text string
			at   time.Duration
			more bool
		}
		var got []seen
		start := time.Now()
		err := m.Stream(t.Context(), &chat.ModelRequest{}, func(c *chat.Chunk) error {
			text := ""
			for _, p := range c.Parts {
				text += p.Text
			}
			got = append(got, seen{text, time.Since(start), c.More})
			return nil
		})
		want := []seen{
			{"a", 0, false}, {"b", time.Second, true}, {"c", time.Second, false},
			{"d", 2 * time.Second, true}, {"", 2 * time.Second, false}, // the finish chunk shows nothing, but was promised
			{"", 3 * time.Second, false},
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %v, %v", got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("chunk %d: %v, want %v", i, got[i], want[i])
			}
		}
		synctest.Wait()
	})
}
