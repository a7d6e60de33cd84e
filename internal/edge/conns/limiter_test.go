package conns_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/conns"
)

// grace is what Limiter grants a connection, and moment what it grants one when
// connections come that send nothing.
const grace, moment = 250 * time.Millisecond, 25 * time.Millisecond

// rig drives a Limiter as an http.Server does, in a bubble of synctest.
type rig struct {
	l      *conns.Limiter
	places map[string]*conns.Place
	conns  map[string]*conn

	mu     sync.Mutex // guards closed
	closed []string
}

func newRig(limit, surplus int) *rig {
	return &rig{l: conns.NewLimiter(limit, surplus), places: map[string]*conns.Place{}, conns: map[string]*conn{}}
}

// backlog is a listener to which one connection comes.
type backlog struct {
	net.Listener
	next net.Conn
}

func (b *backlog) Accept() (net.Conn, error) { return b.next, nil }
func (b *backlog) Close() error              { return nil }

// accept returns what Accept does with a connection.
func accept(l *conns.Limiter, c net.Conn) error {
	got, err := l.Listen(&backlog{next: c}).Accept()
	if err == nil && got != c {
		return errors.New("another connection")
	}
	return err
}

// conn notes that it was closed.
type conn struct {
	net.Conn
	name string
	r    *rig
}

func (c *conn) Close() error {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.closed = append(c.r.closed, c.name)
	return nil
}

// open lets connections come, one after the other.
func (r *rig) open(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		r.conns[n] = &conn{name: n, r: r}
		if err := accept(r.l, r.conns[n]); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		r.places[n] = r.l.Place(r.conns[n])
		r.l.State(r.conns[n], http.StateNew)
	}
}

// opens is open, which must take this long.
func (r *rig) opens(t *testing.T, elapsed time.Duration, names ...string) {
	t.Helper()
	began := time.Now()
	r.open(t, names...)
	if d := time.Since(began); d != elapsed {
		t.Errorf("%v: accepted after %v, want %v", names, d, elapsed)
	}
}

func (r *rig) state(s http.ConnState, names ...string) {
	for _, n := range names {
		r.l.State(r.conns[n], s)
		if s == http.StateActive {
			r.places[n].Busy() // as a handler says
		}
	}
}

func (r *rig) want(t *testing.T, closed ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(closed, r.closed); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	r.closed = nil
}

func (r *rig) wantSurplus(t *testing.T, want map[string]bool) {
	t.Helper()
	for name, surplus := range want {
		if r.places[name].Surplus() != surplus {
			t.Errorf("%s: surplus %v, want %v", name, !surplus, surplus)
		}
	}
}

// bubble runs a test in a bubble of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// The longest wait is that since the last byte that was needed had come, whatever
// the connection waits for.
func TestLongestWaitMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(5, 2)
		r.open(t, "header", "idle", "body", "turn", "server")
		r.l.State(r.conns["server"], http.StateActive) // and no handler is called
		r.state(http.StateActive, "idle", "body", "turn")
		r.places["body"].Waiting()
		r.state(http.StateIdle, "idle")
		r.want(t)
		time.Sleep(grace)
		for _, step := range []struct{ opened, closed string }{{"a", "header"}, {"x", "server"}, {"b", "body"}, {"c", "idle"}} {
			r.opens(t, 0, step.opened)
			r.want(t, step.closed)
		}
		time.Sleep(grace)
		r.opens(t, 0, "d")
		r.want(t, "a")
		r.state(http.StateClosed, "turn")
		r.opens(t, 0, "e")
		r.want(t)
		if open, evicted := r.l.Stats(); open != 5 || evicted != 5 {
			t.Errorf("%d open, %d evicted; want 5, 5", open, evicted)
		}
	})
}

// A connection that came a moment ago, or had its reply a moment ago, is not closed:
// its request may be there already.
func TestFreshConnectionIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(2, 3)
		r.open(t, "new", "idle")
		time.Sleep(grace - moment)
		r.state(http.StateActive, "idle")
		r.state(http.StateIdle, "idle")
		r.opens(t, 0, "a")
		r.want(t)
		time.Sleep(moment)
		r.opens(t, 0, "b")
		r.want(t, "new")
		r.opens(t, 0, "c")
		r.want(t)
		r.wantSurplus(t, map[string]bool{"idle": false, "a": true, "b": false, "c": true})
		r.l.State(r.conns["a"], http.StateActive) // idle has not waited for long
		r.want(t)
		r.wantSurplus(t, map[string]bool{"a": true})
		time.Sleep(grace - moment)
		r.l.State(r.conns["c"], http.StateActive)
		r.want(t, "idle")
		r.wantSurplus(t, map[string]bool{"c": false})
	})
}

// Where there is no place, accepting waits for one, and what becomes free is taken at
// once.
func TestAcceptWaitsForAPlace(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(r *rig){
		"a turn ends":              func(r *rig) { r.state(http.StateClosed, "turn") },
		"a refusal has left":       func(r *rig) { r.state(http.StateClosed, "refused") },
		"a surplus gets its place": func(r *rig) { r.state(http.StateClosed, "new"); r.l.State(r.conns["health"], http.StateActive) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(2, 3)
				r.open(t, "turn", "new", "refused", "health")
				r.state(http.StateActive, "turn", "refused")
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(moment)
					release(r)
				})
				began := time.Now()
				if err := accept(r.l, &conn{name: "a", r: r}); err != nil || time.Since(began) != moment {
					t.Errorf("accepted after %v (%v), want %v", time.Since(began), err, moment)
				}
				wg.Wait()
				r.want(t)
			})
		})
	}
}

// A burst of turns that is larger than the gateway: no connection is closed
// before its reply has left.
func TestBurstIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const limit, surplus, burst, work = 8, 4, 100, 5 * time.Millisecond
		r := newRig(limit, surplus)
		var wg sync.WaitGroup
		for i := range burst {
			name := fmt.Sprint(i)
			r.open(t, name)
			c, place := r.conns[name], r.places[name]
			wg.Go(func() {
				time.Sleep(work) // until the goroutine runs
				r.l.State(c, http.StateActive)
				place.Busy()
				if place.Surplus() {
					time.Sleep(work) // until the refusal has left
					place.Waiting()  // for the rest of its body
				} else {
					time.Sleep(time.Minute)
				}
				r.l.State(c, http.StateClosed)
			})
		}
		wg.Wait()
		r.want(t)
		if _, evicted := r.l.Stats(); evicted != 0 {
			t.Errorf("%d were closed for others", evicted)
		}
	})
}

// Behind any number of connections that send nothing, a new one waits for the grace
// once, and then for a moment each time that they have taken all places.
func TestIdleBurstDelaysByTheGraceOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(8, 4)
		for i := range 11 {
			r.opens(t, 0, fmt.Sprint("first", i))
		}
		r.opens(t, grace, "waits")
		r.want(t, "first0")
		began := time.Now()
		for i := range 8 * 10 {
			r.open(t, fmt.Sprint("more", i))
		}
		if d := time.Since(began); d != 10*moment {
			t.Errorf("80 more took %v, want %v", d, 10*moment)
		}
		r.open(t, "turn")
		r.wantSurplus(t, map[string]bool{"turn": false})
		time.Sleep(2 * time.Second) // it is over
		for i := range 11 {
			r.opens(t, 0, fmt.Sprint("second", i))
		}
		r.opens(t, grace, "waits again")
	})
}

// Nobody can hold the surplus: whatever these connections do or leave undone, a new
// one waits for the grace at most.
func TestStuckSurplus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hold func(r *rig, surplus string)
		wait time.Duration
	}{
		"without a request":  {func(*rig, string) {}, grace / 2},
		"byte by byte":       {func(r *rig, s string) { r.l.State(r.conns[s], http.StateActive) }, grace / 2},
		"not read":           {func(r *rig, s string) { r.state(http.StateActive, s) }, grace},
		"body left unsent":   {func(r *rig, s string) { r.state(http.StateActive, s); r.places[s].Waiting() }, grace},
		"kept after a reply": {func(r *rig, s string) { r.state(http.StateActive, s); r.state(http.StateIdle, s) }, grace},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(1, 3)
				r.open(t, "turn")
				r.state(http.StateActive, "turn")
				r.opens(t, 0, "a", "b")
				time.Sleep(grace / 2)
				tt.hold(r, "a")
				tt.hold(r, "b")
				r.opens(t, tt.wait, "health")
				r.want(t, "a")
				r.wantSurplus(t, map[string]bool{"health": true})
			})
		})
	}
}

// Connections that never wait for long do not hold it up for longer either.
func TestBusyClientsDelayByTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(1, 2)
		r.open(t, "client", "other")
		health := &conn{name: "health", r: r}
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-ticks.C:
					r.state(http.StateActive, "client", "other")
					r.state(http.StateIdle, "client", "other")
				case <-stop:
					return
				}
			}
		})
		began := time.Now()
		if err := accept(r.l, health); err != nil || time.Since(began) != grace {
			t.Errorf("accepted after %v (%v), want %v", time.Since(began), err, grace)
		}
		r.want(t, "client")
		close(stop)
		wg.Wait()
	})
}

// A server that is closed does not wait for a place.
func TestCloseEndsAccept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(1, 2)
		r.open(t, "turn", "surplus")
		r.state(http.StateActive, "turn", "surplus")
		ln := r.l.Listen(&backlog{next: &conn{name: "a", r: r}})
		time.AfterFunc(moment, func() { _ = ln.Close() })
		began := time.Now()
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) || time.Since(began) != moment {
			t.Errorf("%v after %v, want %v after %v", err, time.Since(began), net.ErrClosed, moment)
		}
		_ = ln.Close() // as often as one likes
		r.want(t, "a")
		if open, _ := r.l.Stats(); open != 2 {
			t.Errorf("%d open, want 2", open)
		}
	})
}

// A body that is complete keeps its connection, and one whose place was removed does not come
// back.
func TestBusyConnectionIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(1, 2)
		r.open(t, "a")
		r.state(http.StateActive, "a")
		r.places["a"].Waiting()
		r.places["a"].Busy()
		time.Sleep(grace)
		r.opens(t, 0, "b")
		r.want(t)
		r.wantSurplus(t, map[string]bool{"a": false, "b": true})
		r.state(http.StateIdle, "a")
		time.Sleep(grace)
		r.state(http.StateActive, "b")
		r.want(t, "a")
		r.places["a"].Waiting()
		r.state(http.StateActive, "a")
		r.state(http.StateIdle, "a")
		r.state(http.StateClosed, "a")
		r.wantSurplus(t, map[string]bool{"b": false})
		r.opens(t, 0, "c")
		r.want(t)
		if open, _ := r.l.Stats(); open != 2 {
			t.Errorf("%d open, want 2", open)
		}
	})
}

// Where all others run turns, new connections push one another out, those first that
// wait for bytes.
func TestSurplus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(2, 3)
		r.open(t, "t1", "t2")
		r.state(http.StateActive, "t1", "t2")
		r.open(t, "a", "b")
		r.state(http.StateActive, "a")
		r.want(t)
		time.Sleep(grace)
		r.opens(t, 0, "c")
		r.want(t, "b")
		r.opens(t, 0, "d")
		r.want(t, "a")
		r.state(http.StateClosed, "t1")
		r.opens(t, 0, "e")
		r.want(t)
		r.wantSurplus(t, map[string]bool{"t2": false, "c": true, "d": true, "e": false})
		r.state(http.StateClosed, "t2", "c", "d", "e")
		if open, _ := r.l.Stats(); open != 0 {
			t.Errorf("%d open, want none", open)
		}
	})
}

// Whatever the order of events, no more are open than there are places.
func TestNeverMoreThanThereIsRoomFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const limit, surplus = 8, 3
		l := conns.NewLimiter(limit, surplus)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 500 {
					c := &silent{}
					if err := accept(l, c); err != nil {
						t.Error(err)
					}
					p := l.Place(c)
					for _, s := range slices.Repeat([]http.ConnState{http.StateActive, http.StateIdle}, i%3) {
						l.State(c, s)
					}
					if (i+g)%2 == 0 {
						l.State(c, http.StateActive)
						p.Waiting()
					}
					if open, _ := l.Stats(); open > limit+surplus-1 {
						t.Errorf("%d connections are open", open)
					}
					if i%5 == 0 {
						p.Busy()
					}
					if i%7 != 0 || i%5 == 0 {
						l.State(c, http.StateClosed)
					}
				}
			})
		}
		wg.Wait()
	})
}

// silent can be closed.
type silent struct {
	net.Conn
	_ [8]byte // else all would have one address
}

func (*silent) Close() error { return nil }

func BenchmarkRequest(b *testing.B) {
	for _, others := range []int{10, 10_000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			l := conns.NewLimiter(others+1, 1)
			c := &silent{}
			for range others {
				_ = accept(l, &silent{})
			}
			_ = accept(l, c)
			p := l.Place(c)
			b.ReportAllocs()
			for b.Loop() {
				l.State(c, http.StateActive)
				p.Waiting()
				p.Busy()
				l.State(c, http.StateIdle)
			}
		})
	}
}

// A connection with several requests waits when none of them is worked on, however often each has said
// that it is, or that it waits.
func TestStreamsOfAPlace(t *testing.T) {
	for name, tt := range map[string]struct {
		say    func(a, b *conns.Stream)
		evicts bool
	}{
		"busy":                    {func(a, _ *conns.Stream) { a.Busy() }, false},
		"busy twice, then waits":  {func(a, _ *conns.Stream) { a.Busy(); a.Busy(); a.Waiting() }, true},
		"waits twice, one is":     {func(a, b *conns.Stream) { b.Busy(); a.Busy(); a.Waiting(); a.Waiting() }, false},
		"waits, ends, one is":     {func(a, b *conns.Stream) { b.Busy(); a.Busy(); a.Waiting(); a.End() }, false},
		"ended while it was busy": {func(a, b *conns.Stream) { a.Busy(); b.Busy(); a.End(); b.End() }, true},
		"busy again":              {func(a, _ *conns.Stream) { a.Busy(); a.Waiting(); a.Busy() }, false},
		"the other one waits":     {func(a, b *conns.Stream) { a.Busy(); b.Waiting() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(1, 2)
				r.open(t, "h2")
				tt.say(r.places["h2"].Stream(), r.places["h2"].Stream())
				time.Sleep(grace)
				r.open(t, "next")
				if tt.evicts {
					r.want(t, "h2")
				} else {
					r.want(t)
				}
			})
		})
	}
}

// A Stream of a connection that was evicted brings it back nowhere.
func TestStreamOfAnEvictedPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(1, 2)
		r.open(t, "h2")
		s := r.places["h2"].Stream()
		time.Sleep(grace)
		r.open(t, "next")
		r.want(t, "h2")
		s.Busy()
		s.End()
		time.Sleep(grace)
		r.open(t, "third")
		r.want(t, "next")
		time.Sleep(grace)
		r.open(t, "fourth")
		r.want(t, "third")
		if s.Surplus() {
			t.Error("it is surplus")
		}
	})
}
