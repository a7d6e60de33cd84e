package sse_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
	"sluice/stream/sse"
	"sluice/stream/sse/ssetest"
)

// A silence of the heartbeat's length, no more and no less, is broken by a
// comment, the silence before the first event included. The header comes with it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			s := newTurn(w, sse.Config{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second})
			defer s.Close()
			time.Sleep(40 * time.Second)
			emit(t, s, &stream.Start{})
			for range 10 {
				time.Sleep(10 * time.Second)
				emit(t, s, &stream.Delta{Text: "d"})
			}
			time.Sleep(15*time.Second + time.Nanosecond)
			emit(t, s, &stream.Done{Reason: stream.Stop})
		}, false)
		began := time.Now()
		resp := get(t, l, false)
		if header := time.Since(began); header != 15*time.Second {
			t.Errorf("the header came after %v", header)
		}
		got, err := arrivals(resp.Body, began)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"15s : ping", "30s : ping", "2m35s : ping"}
		if diff := cmp.Diff(want, only(got, ": ping")); diff != "" {
			t.Errorf("heartbeats (-want +got):\n%s", diff)
		}
		want = []string{"40s event: start", "2m35.000000001s event: done"}
		if diff := cmp.Diff(want, append(only(got, "event: start"), only(got, "event: done")...)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A heartbeat as an event names its time. It has no id, so a client's last id stays.
func TestHeartbeatAsEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := httptest.NewRecorder()
		s := newTurn(rec, sse.Config{Heartbeat: 15 * time.Second, BeatEvents: true})
		emit(t, s, &stream.Start{})
		time.Sleep(31*time.Second + time.Millisecond)
		emit(t, s, &stream.Done{Reason: stream.Stop})
		_ = s.Close()
		var got []string
		for _, ev := range ssetest.SameForBothReaders(t, rec.Body.String()) {
			got = append(got, ev.ID+" "+ev.Type+" "+ev.Data[:min(len(ev.Data), 33)])
		}
		want := []string{
			`r:1 start {"request_id":"r","model":"","pro`, `r:1 heartbeat {"at":"2000-01-01T00:00:15.000Z"}`,
			`r:1 heartbeat {"at":"2000-01-01T00:00:30.000Z"}`, `r:2 done {"request_id":"r","final_output":`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// discarded is a server's writer that costs nothing.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Flush()                      {}

// A heartbeat that is a comment costs no allocation, as before there were events.
func TestCommentCostsNoAllocation(t *testing.T) {
	for name, tt := range map[string]struct {
		events bool
		most   float64
	}{"comment": {false, 0}, "event": {true, 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := newTurn(discarded{http.Header{}}, sse.Config{Heartbeat: time.Second, BeatEvents: tt.events})
			defer s.Close()
			emit(t, s, &stream.Start{})
			if n := testing.AllocsPerRun(100, func() { time.Sleep(time.Second) }); n > tt.most {
				t.Errorf("%s: %v allocations a heartbeat, want at most %v", name, n, tt.most)
			}
		})
	}
}

func TestHeartbeatOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		s := newTurn(p, sse.Config{})
		time.Sleep(24 * time.Hour)
		emit(t, s, &stream.Start{})
		if diff := cmp.Diff([]string{"0s header", "24h0m0s write retry: 86400000", "24h0m0s flush"}, p.list); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
		_ = s.Close()
	})
}

// Over HTTP/1 one deadline stands for the writes of a sixteenth of its time, and for
// none after Close.
func TestDeadlinesOverHTTP1(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		s := newTurn(p, sse.Config{WriteTimeout: 16 * time.Second, HTTP1: true})
		for _, pause := range []time.Duration{0, time.Second, 1, time.Hour} {
			time.Sleep(pause)
			emit(t, s, &stream.Thinking{Content: "hm"})
		}
		_ = s.Close()
		want := []string{"0s deadline 17s", "1.000000001s deadline 18.000000001s", "1h0m1.000000001s deadline 1h0m18.000000001s", "1h0m1.000000001s deadline none"}
		if diff := cmp.Diff(want, only(p.list, "deadline")); diff != "" {
			t.Errorf("deadlines (-want +got):\n%s", diff)
		}
	})
}

// Heartbeats and events from two goroutines do not tear each other's frames.
func TestHeartbeatBetweenEvents(t *testing.T) {
	t.Parallel()
	const deltas = 500
	synctest.Test(t, func(t *testing.T) {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			s := newTurn(w, sse.Config{Heartbeat: time.Millisecond})
			defer s.Close()
			emit(t, s, &stream.Start{})
			rnd := rand.New(rand.NewPCG(11, 12))
			for range deltas {
				time.Sleep(time.Duration(rnd.IntN(2500)) * time.Microsecond)
				if err := s.Emit(&stream.Delta{Text: "d"}); err != nil {
					t.Error(err)
				}
				if rnd.IntN(2) == 0 {
					_ = s.Flush()
				}
			}
			emit(t, s, &stream.Done{Reason: stream.Stop})
		}, false)
		text, err := io.ReadAll(get(t, l, false).Body)
		if err != nil {
			t.Fatal(err)
		}
		events := ssetest.SameForBothReaders(t, string(text))
		if pings := strings.Count(string(text), "\n\n: ping\n\n"); len(events) != deltas+2 || pings < deltas/10 {
			t.Errorf("%d events and %d heartbeats", len(events), pings)
		}
		for i, ev := range events {
			if want := fmt.Sprintf("r:%d", i+1); ev.ID != want {
				t.Fatalf("id %q, want %q", ev.ID, want)
			}
		}
	})
}
