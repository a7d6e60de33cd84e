package conns_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/conns"
)

// rig drives a Limiter as an http.Server does.
type rig struct {
	l      *conns.Limiter
	places map[string]*conns.Place
	conns  map[string]*conn
	closed []string
}

func newRig(limit, surplus int) *rig {
	return &rig{l: conns.NewLimiter(limit, surplus), places: map[string]*conns.Place{}, conns: map[string]*conn{}}
}

// conn notes that it was closed.
type conn struct {
	net.Conn
	name string
	r    *rig
}

func (c *conn) Close() error {
	c.r.closed = append(c.r.closed, c.name)
	return nil
}

func (r *rig) open(names ...string) {
	for _, n := range names {
		r.conns[n] = &conn{name: n, r: r}
		r.places[n] = r.l.Open(r.conns[n])
		r.l.State(r.conns[n], http.StateNew)
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
	if diff := cmp.Diff(closed, r.closed); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	r.closed = nil
}

// The longest wait is that since the last byte that was needed had come, whatever
// the connection waits for.
func TestLongestWaitMakesRoom(t *testing.T) {
	t.Parallel()
	r := newRig(5, 1)
	r.open("header", "idle", "body", "turn", "server")
	r.l.State(r.conns["server"], http.StateActive) // and no handler is called
	r.state(http.StateActive, "idle", "body", "turn")
	r.places["body"].Waiting()
	r.state(http.StateIdle, "idle")
	r.want(t)
	r.open("a")
	r.want(t, "header")
	r.open("x")
	r.want(t, "server")
	r.open("b")
	r.want(t, "body")
	r.open("c")
	r.want(t, "idle")
	r.open("d")
	r.want(t, "a")
	r.state(http.StateClosed, "turn")
	r.open("e")
	r.want(t)
	if open, evicted := r.l.Stats(); open != 5 || evicted != 5 {
		t.Errorf("%d open, %d evicted; want 5, 5", open, evicted)
	}
}

// A body that is complete keeps its connection, and one whose place was taken away
// does not come back.
func TestBusyConnectionIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(1, 1)
	r.open("a")
	r.state(http.StateActive, "a")
	r.places["a"].Waiting()
	r.places["a"].Busy()
	r.open("b")
	r.want(t)
	if !r.places["b"].Surplus() || r.places["a"].Surplus() {
		t.Error("want b surplus, and a not")
	}
	r.state(http.StateIdle, "a")
	r.state(http.StateActive, "b")
	r.want(t, "a")
	r.places["a"].Waiting()
	r.state(http.StateActive, "a")
	r.state(http.StateIdle, "a")
	r.state(http.StateClosed, "a")
	if r.places["b"].Surplus() {
		t.Error("b is surplus, though there is room")
	}
	r.open("c")
	r.want(t)
	if open, _ := r.l.Stats(); open != 2 {
		t.Errorf("%d open, want 2", open)
	}
}

// Where all others run turns, new connections push one another out.
func TestSurplus(t *testing.T) {
	t.Parallel()
	r := newRig(2, 2)
	r.open("t1", "t2")
	r.state(http.StateActive, "t1", "t2")
	r.open("a", "b")
	r.state(http.StateActive, "b")
	r.want(t)
	r.open("c")
	r.want(t, "a")
	r.open("d")
	r.want(t, "b")
	r.state(http.StateClosed, "t1")
	r.open("e")
	r.want(t)
	for name, want := range map[string]bool{"t2": false, "c": true, "d": true, "e": false} {
		if r.places[name].Surplus() != want {
			t.Errorf("%s: surplus %v, want %v", name, !want, want)
		}
	}
	r.state(http.StateClosed, "t2", "c", "d", "e")
	if open, _ := r.l.Stats(); open != 0 {
		t.Errorf("%d open, want none", open)
	}
}

// Whatever the order of events, no more are open than there are places.
func TestNeverMoreThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	const limit, surplus = 8, 3
	l := conns.NewLimiter(limit, surplus)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				c := &silent{}
				p := l.Open(c)
				for _, s := range slices.Repeat([]http.ConnState{http.StateActive, http.StateIdle}, i%3) {
					l.State(c, s)
				}
				if (i+g)%2 == 0 {
					l.State(c, http.StateActive)
					p.Waiting()
				}
				if open, _ := l.Stats(); open > limit+surplus {
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
			for range others {
				l.Open(&silent{})
			}
			c := &silent{}
			p := l.Open(c)
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
