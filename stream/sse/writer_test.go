package sse_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
	"sluice/stream/sse"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	if err := newTurn(rec, sse.Config{}).Close(); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"},
		"X-Accel-Buffering": {"no"}, "X-Content-Type-Options": {"nosniff"},
	}
	if diff := cmp.Diff(want, rec.Header()); diff != "" || rec.Code != http.StatusOK || rec.Body.Len() > 0 {
		t.Errorf("status %d, body %q, header (-want +got):\n%s", rec.Code, rec.Body, diff)
	}
}

// A deadline is armed for each write and cleared after it; Emit alone writes
// nothing; after Close nothing is done any more.
func TestWhatIsDoneToTheResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		s := newTurn(p, sse.Config{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second})
		for _, ev := range []stream.Event{&stream.Start{}, &stream.Thinking{}, &stream.Delta{Text: "d"}} {
			if err := s.Emit(ev); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		for range 2 { // the second has nothing to write
			if err := s.Flush(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(20 * time.Second)
		if err := s.Emit(&stream.Done{Reason: stream.Stop}); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		_ = s.Emit(&stream.Delta{Text: "late"})
		_ = s.Flush()
		time.Sleep(time.Hour)
		want := []string{
			"0s header",
			"3s deadline 8s", "3s write retry: 86400000", "3s flush", "3s deadline none",
			"18s deadline 23s", "18s write : ping", "18s flush", "18s deadline none",
			"23s deadline 28s", "23s write id: r:4", "23s flush", "23s deadline none",
		}
		if diff := cmp.Diff(want, p.list); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
	})
}

func TestEmitWritesWhenMuchHasComeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		s := newTurn(p, sse.Config{})
		defer s.Close()
		for i := range 40 {
			if err := s.Emit(&stream.Delta{Text: strings.Repeat("x", 1000)}); err != nil {
				t.Fatal(err)
			}
			if i == 14 && len(p.list) != 1 {
				t.Errorf("written before 16 KiB came together: %q", p.list)
			}
		}
		if got := len(only(p.list, "flush")); got != 2 {
			t.Errorf("flushed %d times for 40 KB, want twice", got)
		}
	})
}

// What spills into a store comes in larger pieces: each is a command to the store.
func TestSpillIsAskedForLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, spilled := newTape(), 0
		var s *turn
		s = newTurn(p, sse.Config{Spill: func() error {
			spilled++
			return s.Flush()
		}})
		defer s.Close()
		for i := range 100 {
			if err := s.Emit(&stream.Delta{Text: strings.Repeat("x", 1000)}); err != nil {
				t.Fatal(err)
			}
			if i == 45 && spilled > 0 {
				t.Error("spilled before 48 KiB came together")
			}
		}
		if got := len(only(p.list, "flush")); spilled != 2 || got != 2 {
			t.Errorf("spilled %d times and flushed %d times for 100 KB, want twice each", spilled, got)
		}
	})
}

func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		p.slow = 2 * time.Second
		began := time.Now()
		time.Sleep(time.Second)
		s := newTurn(p, sse.Config{WriteTimeout: 5 * time.Second})
		s.stamper = stream.NewStamper(s, began)
		if diff := cmp.Diff(sse.Stats{}, s.Stats()); diff != "" {
			t.Errorf("stats before anything (-want +got):\n%s", diff)
		}
		emit(t, s, &stream.Start{})
		emit(t, s, &stream.Delta{Text: "a"})
		emit(t, s, &stream.Delta{Text: "b"})
		_ = s.Close()
		if event, delta := s.stamper.First(); event != time.Second || delta != 3*time.Second {
			t.Errorf("the first event came after %v, the first delta after %v", event, delta)
		}
		want := sse.Stats{Blocked: 6 * time.Second}
		if diff := cmp.Diff(want, s.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestDoneReportsTheTimeOfWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			s := newTurn(w, sse.Config{WriteTimeout: 5 * time.Second})
			defer s.Close()
			emit(t, s, &stream.Start{})
			emit(t, s, &stream.Done{Reason: stream.Stop})
		}, false)
		conn := dialAndAsk(t, l)
		time.Sleep(3 * time.Second) // slow, but not too slow
		text, err := io.ReadAll(response(t, conn).Body)
		if err != nil || !strings.Contains(string(text), `"total_ms":3000,"first_event_ms":0,`) || !strings.Contains(string(text), `"write_blocked_ms":3000}`) {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func TestFlushErrorEndsTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape()
		p.err = errors.New("broken pipe")
		var got []error
		s := newTurn(p, sse.Config{Heartbeat: time.Second, WriteTimeout: time.Second, OnFail: func(err error) { got = append(got, err) }})
		_ = s.Emit(&stream.Start{})
		for range 3 {
			if err := s.Flush(); !errors.Is(err, fault.ErrClientGone) || !errors.Is(err, p.err) {
				t.Errorf("Flush = %v, want ErrClientGone and the cause", err)
			}
			_ = s.Emit(&stream.Delta{Text: "d"})
			time.Sleep(time.Minute)
		}
		if err := s.Close(); !errors.Is(err, fault.ErrClientGone) {
			t.Errorf("Close = %v", err)
		}
		if len(got) != 1 || !errors.Is(got[0], fault.ErrClientGone) || s.Stats().Stalled {
			t.Errorf("OnFail got %v, stalled: %v", got, s.Stats().Stalled)
		}
		if got := only(p.list, "write"); len(got) != 1 {
			t.Errorf("written after the error: %q", got)
		}
	})
}

// emit hands over one event and flushes.
func emit(t *testing.T, s *turn, ev stream.Event) {
	if err := s.Emit(ev); err != nil {
		t.Errorf("Emit(%T): %v", ev, err)
	}
	if err := s.Flush(); err != nil {
		t.Errorf("Flush after %T: %v", ev, err)
	}
}
