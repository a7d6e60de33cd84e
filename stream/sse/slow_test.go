package sse_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/stream"
	"sluice/stream/sse"
	"sluice/stream/sse/ssetest"
)

// outcome is what a handler saw of a client that was cut.
type outcome struct {
	err      error
	reported []error
	stats    sse.Stats
	after    time.Duration
}

func (o *outcome) check(t *testing.T, after time.Duration, stalled bool) {
	t.Helper()
	if !errors.Is(o.err, fault.ErrClientGone) || len(o.reported) != 1 || !errors.Is(o.reported[0], fault.ErrClientGone) {
		t.Errorf("Flush = %v, OnFail got %v; want ErrClientGone, and once", o.err, o.reported)
	}
	if o.after != after || o.stats.Stalled != stalled {
		t.Errorf("cut after %v, stalled: %v; want %v, %v", o.after, o.stats.Stalled, after, stalled)
	}
}

// A client that does not read is cut when one write has taken WriteTimeout, be
// it the write of an event or of a heartbeat.
func TestSlowClientIsCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration
		send  func(*turn) error
	}{
		{"events", 7 * time.Second, func(s *turn) error {
			time.Sleep(2 * time.Second)
			_ = s.Emit(&stream.Start{})
			return s.Flush()
		}},
		{"heartbeat", 20 * time.Second, func(s *turn) error {
			time.Sleep(time.Minute)
			return s.Flush()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got outcome
				ended := make(chan struct{})
				l := serve(t, func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					began := time.Now()
					s := newTurn(w, sse.Config{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second, OnFail: func(err error) {
						got.reported, got.after = append(got.reported, err), time.Since(began)
					}})
					got.err = tt.send(s)
					_ = s.Close()
					got.stats = s.Stats()
				}, false)
				dialAndAsk(t, l)
				<-ended
				got.check(t, tt.after, true)
				if got.stats.Blocked != 5*time.Second {
					t.Errorf("blocked for %v", got.stats.Blocked)
				}
			})
		})
	}
}

// A client that leaves is noticed by the next write, and is not called slow.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got outcome
		ended := make(chan struct{})
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			began := time.Now()
			s := newTurn(w, sse.Config{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second, OnFail: func(err error) {
				got.reported, got.after = append(got.reported, err), time.Since(began)
			}})
			emit(t, s, &stream.Start{})
			time.Sleep(time.Minute)
			got.err = s.Flush()
			_ = s.Close()
			got.stats = s.Stats()
		}, false)
		conn := dialAndAsk(t, l)
		if _, err := sse.NewReader(response(t, conn).Body, 1<<10).Next(); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		<-ended
		got.check(t, 15*time.Second, false)
	})
}

// Over HTTP/2 a deadline that passes resets the stream even while nothing is
// written: it must not outlive its write. The stream is silent for an hour here.
func TestIdleStreamSurvivesOverHTTP2(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				s := newTurn(w, sse.Config{WriteTimeout: 5 * time.Second})
				defer s.Close()
				emit(t, s, &stream.Start{})
				time.Sleep(time.Hour)
				emit(t, s, &stream.Done{Reason: stream.Stop})
			}, h2)
			resp := get(t, l, h2)
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.ProtoMajor != 1 && !h2 || resp.ProtoMajor != 2 && h2 {
				t.Fatalf("%s: %v", resp.Proto, err)
			}
			if events := ssetest.SameForBothReaders(t, string(text)); len(events) != 2 || events[1].Type != "done" {
				t.Errorf("%s: got\n%s", resp.Proto, text)
			}
		})
	}
}

// A socket has buffers, which a client that does not read fills first.
func TestSlowClientIsCutOverASocket(t *testing.T) {
	t.Parallel()
	var got atomic.Int32
	ended := make(chan sse.Stats, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := newTurn(w, sse.Config{WriteTimeout: 50 * time.Millisecond, OnFail: func(error) { got.Add(1) }})
		delta := &stream.Delta{Text: strings.Repeat("x", 64<<10)}
		for s.Emit(delta) == nil {
		}
		_ = s.Close()
		ended <- s.Stats()
	}))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if stats := <-ended; !stats.Stalled || got.Load() != 1 {
		t.Errorf("stalled: %v, OnFail called %d times", stats.Stalled, got.Load())
	}
}
