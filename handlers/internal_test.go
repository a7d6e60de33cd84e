package handlers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// reserve claims a key, which must be free or not as want says.
func reserve(t testing.TB, k *keyring, key string, want bool) (release func()) {
	t.Helper()
	release, err := k.reserveKey(&chat.Request{UserID: "ann"}, key)
	if (err == nil) != want {
		t.Errorf("take(%q): %v, want it free: %v", key, err, want)
	}
	if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Type != fault.DuplicateRequest) {
		t.Errorf("take(%q): %v, want a duplicate_request", key, err)
	}
	return release
}

// A full memory forgets what ended first, and never what still runs.
func TestKeyringIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 100
		k := newKeyring(limit)
		running := reserve(t, k, "running", true)
		for i := range 10 * limit {
			reserve(t, k, fmt.Sprint("key", i), true)()
			if len(k.held) > limit || len(k.ended)-k.head > limit || len(k.ended) > 2*limit+1 {
				t.Fatalf("after %d keys: %d held, %d ended in a slice of %d", i+1, len(k.held), len(k.ended)-k.head, len(k.ended))
			}
		}
		reserve(t, k, "running", false)
		reserve(t, k, fmt.Sprint("key", 10*limit-1), false)
		reserve(t, k, "key0", true)()
		running()
		reserve(t, k, "running", false)
		time.Sleep(keyMemory)
		reserve(t, k, "another", true)
		if len(k.held) != 1 || len(k.ended) != 0 {
			t.Errorf("%d keys are held and %d remembered after their time, want 1 and 0", len(k.held), len(k.ended))
		}
	})
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	k := newKeyring(1)
	reserve(t, k, "", true)
	reserve(t, k, "", true)()
	if len(k.held) != 0 || len(k.ended) != 0 {
		t.Error("an absent key is remembered")
	}
}

// A reply that a panic cuts must not look whole.
func TestP10PanicAfterAHalfReply(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := NewServer(Config{Log: zerolog.New(&log)})
	s.routes.echo.GET("/half", netHandler(func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = io.WriteString(w, "half an ans")
		_ = http.NewResponseController(w).Flush()
		panic("SECRET")
	}))
	served := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL + "/half")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "half an ans" {
		t.Errorf("the client reads %q and %v, want an unexpected EOF", body, err)
	}
	<-served
	if !strings.Contains(log.String(), "SECRET") {
		t.Errorf("the log lacks the panic: %s", log.String())
	}
}

// A reply that has left does not change: its reader is another goroutine.
func TestFirstReplyIsSentOnce(t *testing.T) {
	t.Parallel()
	f := &firstReply{sent: make(chan struct{})}
	text := []byte("whole")
	f.send(text)
	copy(text, "other")
	f.send([]byte("more"))
	f.refuse(errEarly)
	<-f.sent
	if string(f.text) != "whole" || f.err != nil {
		t.Errorf("the reply is %q, %v", f.text, f.err)
	}
}

func TestMetricNames(t *testing.T) {
	t.Parallel()
	s := NewServer(Config{})
	s.runner.metrics.countRefusal(fault.NotFound)
	families, err := s.metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The log and the metrics count every event, whichever of the two ways it went.
func TestObserverCounts(t *testing.T) {
	t.Parallel()
	o := observer{next: discarded{}}
	if o.totalEvents() != 0 {
		t.Errorf("%d events before the first", o.totalEvents())
	}
	for _, ev := range []stream.Event{&stream.Start{}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "b"}, &stream.Error{}, &stream.Error{}, &stream.Done{}} {
		if err := o.Emit(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := []count{{"start", 1}, {"error", 2}, {"done", 1}, {"response_delta", 2}}
	for range 2 { // the metrics look, then the log
		if got := o.eventCounts(); !slices.Equal(got, want) || o.totalEvents() != 6 {
			t.Errorf("%v, %d in all, want %v", got, o.totalEvents(), want)
		}
	}
}

// discarded is a sink that keeps nothing.
type discarded struct{}

func (discarded) Emit(stream.Event) error { return nil }
func (discarded) Flush() error            { return nil }

// BenchmarkObserver is what a piece of an answer costs to observe.
func BenchmarkObserver(b *testing.B) {
	o := observer{Fold: stream.Fold{Only: stream.Tools}, next: discarded{}}
	delta := &stream.Delta{Text: "twenty-five characters .."}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.Emit(delta); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKeyring(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(fmt.Sprint("full=", full), func(b *testing.B) {
			k := newKeyring(minKeys)
			for i := 0; full && i < minKeys; i++ {
				reserve(b, k, fmt.Sprint("before", i), true)()
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				reserve(b, k, fmt.Sprint("key", i), true)()
			}
		})
	}
}

// What a client names as the last event that it has is refused, or the number of an event of one turn.
func FuzzResume(f *testing.F) {
	for _, seed := range []string{"", "turn_0123456789abcdefghijklmnop:3", "turn_0123456789abcdefghijklmnop:03", "turn_0123456789abcdefghijklmnop:-1", "turn_0123456789abcdefghijklmnop:+1", "req_0123456789ab:3",
		"turn_0123456789abcdefghijklmnop:9999999999", "turn_0123456789abcdefghijklmnop", "turn_0123456789abcdefghijklmnop:3:4", "task_0123456789abcdefghijklmnop:0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r := &http.Request{Header: http.Header{"Last-Event-Id": {id}}}
		turn, n, ok := eventID(r)
		if ok && (fmt.Sprintf("%s:%d", turn, n) != id || n < 0 || n > 999_999_999 || !chat.IsTurnID(turn)) {
			t.Fatalf("%q is event %d of %q", id, n, turn)
		}
		if r.Header.Add("Last-Event-ID", id); ok {
			if _, _, both := eventID(r); both {
				t.Fatal("two of them are one")
			}
		}
	})
}
