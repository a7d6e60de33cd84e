package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/sim/geminisim"
	demo "sluice/internal/sim/offline"
)

// countingGemini answers any text slowly enough to be interrupted, and counts how
// often each turn was asked for.
type countingGemini struct {
	url string

	mu    sync.Mutex // guards calls
	calls map[string]int
}

var turnMarker = regexp.MustCompile(`turn-[0-9]+`)

func newCountingGemini(t testing.TB) *countingGemini {
	t.Helper()
	g := &countingGemini{calls: map[string]int{}}
	sim := simulator(t, geminisim.Config{Model: demo.Model{}, FirstDelay: 100 * time.Millisecond, Pace: 50 * time.Millisecond})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway was killed
		}
		g.mu.Lock()
		g.calls[turnMarker.FindString(string(body))]++
		g.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	g.url = srv.URL
	return g
}

// env points a gateway at it.
func (g *countingGemini) env(addr string) map[string]string {
	return map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": g.url, "SLUICE_ADDR": addr}
}

// checkOnce fails the test if a turn was run twice.
func (g *countingGemini) checkOnce(t testing.TB) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for marker, n := range g.calls {
		if n > 1 {
			t.Errorf("%s was run %d times", marker, n)
		}
	}
}

// outcome is how one turn of a load went.
type outcome struct {
	marker       string
	began, ended time.Time
	opened       bool  // there was a 200
	err          error // nil: start first, exactly one done last
	hidden       bool  // it broke off, but the body ended as if it were whole
}

// load is a number of clients that ask one turn after the other.
type load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	outcomes []outcome
	next     int
	changed  chan struct{} // closed and replaced by each outcome
}

// startLoad sends turns to base, half of them by GET, until it is stopped.
func startLoad(t testing.TB, base string, clients int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel, changed: make(chan struct{})}
	t.Cleanup(func() { l.stop() })
	for range clients {
		transport := &http.Transport{}
		c := &gateway{base: base, client: &http.Client{Transport: transport}}
		l.ended.Go(func() {
			defer transport.CloseIdleConnections()
			for ctx.Err() == nil {
				l.turn(c)
			}
		})
	}
	return l
}

func (l *load) turn(c *gateway) {
	l.mu.Lock()
	l.next++
	n := l.next
	l.mu.Unlock()
	o := outcome{marker: fmt.Sprintf("turn-%05d", n), began: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // a stream that hangs is a fault of its own
	defer cancel()
	var s *stream
	if n%2 == 0 {
		s, o.err = c.open(ctx, "Hello "+o.marker)
	} else {
		s, o.err = c.openGET(ctx, "Hello "+o.marker)
	}
	if o.opened = o.err == nil; o.opened {
		_, o.err = s.rest()
		o.hidden = o.err != nil && !errors.Is(o.err, io.ErrUnexpectedEOF) && !errors.Is(o.err, syscall.ECONNRESET)
	}
	o.ended = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, o)
	close(l.changed)
	l.changed = make(chan struct{})
}

// openGET is open for EventSource's method.
func (g *gateway) openGET(ctx context.Context, text string) (*stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/chat/stream?accumulated=false&input="+url.QueryEscape(text), nil)
	if err != nil {
		return nil, err
	}
	return g.openWith(req)
}

// await waits until so many turns that began after a moment have ended.
func (l *load) await(t testing.TB, n int, after time.Time) {
	t.Helper()
	for timeout := time.After(patience); ; {
		l.mu.Lock()
		found, changed := 0, l.changed
		for _, o := range l.outcomes {
			if o.began.After(after) {
				found++
			}
		}
		l.mu.Unlock()
		if found >= n {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%d turns have ended, want %d", found, n)
		}
	}
}

// stop ends the load when the turns under way have ended, and returns all of them.
func (l *load) stop() []outcome {
	l.cancel()
	l.ended.Wait()
	return l.outcomes
}
