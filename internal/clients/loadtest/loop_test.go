package loadtest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Three places for ten arrivals, 100 ms apart, of streams that take a second: the
// first three are let in, the rest find no place and are counted.
func TestOpenLoopDrops(t *testing.T) {
	t.Parallel()
	rep := inBubble(t, Config{Rate: 10, Duration: time.Second, MaxInFlight: 3}, slowly(250*time.Millisecond))
	if rep.Streams.Started != 3 || rep.Streams.Dropped != 7 || rep.Streams.Done != 3 {
		t.Errorf("%+v", rep.Streams)
	}
	if rep.OK {
		t.Error("dropped turns are OK")
	}
}

// A gateway that lets a stream wait for a second makes it late, and nothing else:
// arrivals continue as planned.
func TestOpenLoopGoesOn(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	var arrivals [10]time.Duration
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		rep := load(t, Config{Rate: 10, Duration: time.Second}, func(w http.ResponseWriter, r *http.Request) {
			i := n.Add(1) - 1
			arrivals[i] = time.Since(begin)
			if i == 2 {
				time.Sleep(time.Second)
			}
			play(good())(w, r)
		})
		if rep.Streams.Done != 10 || rep.Turn.Max != 1000 || rep.Turn.P90 != 0 {
			t.Errorf("%d done, turn %+v", rep.Streams.Done, rep.Turn)
		}
	})
	for i, at := range arrivals {
		if want := time.Duration(i) * 100 * time.Millisecond; at != want {
			t.Errorf("turn %d came at %v, want %v", i, at, want)
		}
	}
}

// When the generator itself is late, what is due begins at once, and the wait is
// part of the latency. A generator that forgot it would flatter the gateway.
func TestOpenLoopOmitsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{URL: address, Inputs: []string{"hi"}, Rate: 10, Turns: 5, MaxInFlight: 10, Method: http.MethodPost, Timeout: time.Minute}
		cfg.Transport = serve(t, play(good()))
		r, err := newRunner(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.startClock(time.Now())
		time.Sleep(450 * time.Millisecond) // due: 0, 100, 200, 300, 400 ms
		r.openLoop()
		if q := r.turns.allQuantiles(); q.Count != 5 || q.Max != 450 || q.P50 < 248 || q.P50 > 252 {
			t.Errorf("turn %+v, want a median of 250 ms and at most 450", q)
		}
	})
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int64
	rep := inBubble(t, Config{Clients: 4, Turns: 30}, func(w http.ResponseWriter, r *http.Request) {
		now := open.Add(1)
		for top := most.Load(); now > top && !most.CompareAndSwap(top, now); top = most.Load() {
		}
		slowly(100*time.Millisecond)(w, r)
		open.Add(-1)
	})
	if rep.Streams.Done != 30 || most.Load() != 4 {
		t.Errorf("%d done, at most %d at once; want 30 and 4", rep.Streams.Done, most.Load())
	}
	if rep.FirstEvent.Max != 0 || rep.FirstText.Max != 200 || rep.Turn.Max != 400 || rep.Gap.Max != 100 || rep.Gap.Count != 4*30 {
		t.Errorf("first event %+v, first text %+v, turn %+v, gap %+v", rep.FirstEvent, rep.FirstText, rep.Turn, rep.Gap)
	}
}

// Events that came together have no gap.
func TestGapOfEventsThatCameTogether(t *testing.T) {
	t.Parallel()
	rep := inBubble(t, Config{Clients: 1, Turns: 1}, func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		for _, part := range []string{good()[:len(good())/2], good()[len(good())/2:]} {
			time.Sleep(time.Second)
			_, _ = w.Write([]byte(part))
			_ = http.NewResponseController(w).Flush()
		}
	})
	if rep.Gap.Count != 4 || rep.Gap.P50 != 0 || rep.Gap.Max != 1000 {
		t.Errorf("%+v, want 4 gaps, all but one of them 0", rep.Gap)
	}
}

// A gateway that refuses all turns is not asked ten thousand times a second.
func TestBreather(t *testing.T) {
	t.Parallel()
	rep := inBubble(t, Config{Clients: 2, Duration: time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	wantOutcome(t, rep, outcome{refused, "503"}, 20)
}

// The goodput under overload is that of the turns begun after the warm-up, over the
// time in which they were begun: neither refusals count nor the wait for the last end.
func TestGoodput(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	rep := inBubble(t, Config{Rate: 100, Warmup: time.Second, Duration: 2 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		if i := n.Add(1); i <= 100 || i%4 == 0 {
			slowly(time.Second)(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if rep.DonePerSec != 25 || rep.Streams.Done != 150 || rep.Streams.Refused != 150 {
		t.Errorf("goodput %v turns/s, %+v; want 25, 150 done and 150 refused", rep.DonePerSec, rep.Streams)
	}
}

// Turns of the warm-up are audited and counted, but not measured.
func TestWarmup(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	rep := inBubble(t, Config{Rate: 10, Warmup: time.Second, Duration: time.Second}, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 10 {
			time.Sleep(500 * time.Millisecond) // it is cold
		}
		play(good())(w, r)
	})
	if rep.Streams.Done != 20 || rep.Turn.Count != 10 || rep.Turn.Max != 0 || rep.FirstEvent.Count != 10 || rep.Gap.Count != 40 {
		t.Errorf("%d done, turn %+v, first event %+v, gap %+v", rep.Streams.Done, rep.Turn, rep.FirstEvent, rep.Gap)
	}
	if rep.Measured < 0.8 || rep.Measured > 1.1 || rep.TurnsPerSec < 9 || rep.TurnsPerSec > 18 {
		t.Errorf("%v s measured, %v turns/s", rep.Measured, rep.TurnsPerSec)
	}
}

// Stop lets the running streams end; the end of the context cuts them.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	for _, loop := range []Config{{Clients: 3, Duration: time.Hour}, {Rate: 2, Duration: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			time.AfterFunc(1100*time.Millisecond, func() { close(stop) })
			cfg := loop
			cfg.Stop = stop
			begin := time.Now()
			rep := load(t, cfg, slowly(100*time.Millisecond))
			if elapsed := time.Since(begin); elapsed < 1100*time.Millisecond || elapsed > 2*time.Second {
				t.Errorf("took %v", elapsed)
			}
			if !rep.Stopped || !rep.OK || rep.Streams.Done == 0 {
				t.Errorf("stopped %t, OK %t, %+v", rep.Stopped, rep.OK, rep.Streams)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
			defer cancel()
			cfg := loop
			cfg.URL, cfg.Inputs, cfg.Transport = address, []string{"hi"}, serve(t, slowly(100*time.Millisecond))
			begin := time.Now()
			rep, err := Run(ctx, cfg)
			if err != nil || time.Since(begin) != 1100*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
			if rep.OK || rep.Streams.Interrupted == 0 || rep.Streams.Broken != 0 {
				t.Errorf("%+v", rep.Streams)
			}
		})
	}
}

// A stream that had its done, but not yet its end, when the run was broken off is
// not held against the gateway.
func TestBrokenOffAfterDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
			play(good())(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		rep, err := Run(ctx, Config{URL: address, Clients: 1, Turns: 1, Inputs: []string{"hi"}, Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, rep, outcome{class: interrupted}, 1)
	})
}

// Streams that are left are cut at once, evenly spread, and do not count as wrong.
func TestCut(t *testing.T) {
	t.Parallel()
	var gone atomic.Int64
	rep := inBubble(t, Config{Clients: 2, Turns: 20, Cut: 0.25}, func(w http.ResponseWriter, r *http.Request) {
		slowly(100*time.Millisecond)(w, r)
		if r.Context().Err() != nil {
			gone.Add(1)
		}
	})
	if rep.Streams.LeftEarly != 5 || rep.Streams.Done != 15 || gone.Load() != 5 || !rep.OK {
		t.Errorf("%d were gone, OK %t, %+v", gone.Load(), rep.OK, rep.Streams)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var seen []Progress
	inBubble(t, Config{
		Clients: 5, Warmup: time.Second, Duration: 3 * time.Second, ProgressEvery: time.Second,
		Progress: func(p Progress) { seen = append(seen, p) },
	}, slowly(100*time.Millisecond))
	if len(seen) < 3 || len(seen) > 4 {
		t.Fatalf("%d times", len(seen))
	}
	for i, p := range seen[:3] {
		if p.Elapsed.Round(time.Second) != time.Duration(i+1)*time.Second || p.Open != 5 || p.Wrong != 0 || p.Turns < 9 || p.Turns > 16 || p.Events < 45 || p.Events > 80 {
			t.Errorf("after %d s: %+v", i+1, p)
		}
	}
}
