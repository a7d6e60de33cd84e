package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// run is one scenario at work: what it has started, and what it has measured. As with
// testing.T, a scenario ends where it cannot go on; see must.
type run struct {
	ctx    context.Context // ends with the scenario's time
	binary string
	row    row
	ends   []func() // run in reverse
}

// failure is what must panics with.
type failure struct{ error }

// must ends the scenario if err is not nil, which makes its row broken. Only the
// scenario's own goroutine may call it, or what calls it.
func (r *run) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// try runs a scenario up to where it ends itself.
func (r *run) try(scenario func(*run)) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			r.note("the scenario", false, "runs to its end", "%v", e)
		default:
			panic(e)
		}
	}()
	scenario(r)
}

// atEnd has a function called when the row is over, last one first.
func (r *run) atEnd(end func()) { r.ends = append(r.ends, end) }

// end stops what the row started.
func (r *run) end() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// pause waits on real time: the gateway is another process.
func (r *run) pause(d time.Duration) { r.must(pause(r.ctx, d)) }

// pause returns an error if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("its time is over")
	case <-time.After(d):
		return nil
	}
}

// note adds a figure.
func (r *run) note(what string, good bool, expected, format string, args ...any) {
	v := broke
	if good {
		v = fine
	}
	r.row.figures = append(r.row.figures, figure{what, fmt.Sprintf(format, args...), expected, v})
}

// skip notes what this machine cannot show, and why.
func (r *run) skip(what, why string) {
	r.row.figures = append(r.row.figures, figure{what, why, "", skipped})
}

// exactly notes a count.
func (r *run) exactly(what string, got, want int) {
	r.note(what, got == want, fmt.Sprint(want), "%d", got)
}

// atMost notes a count that may be less.
func (r *run) atMost(what string, got, most int) {
	r.note(what, got <= most, fmt.Sprint("<= ", most), "%d", got)
}

// within notes how long something took.
func (r *run) within(what string, took, limit time.Duration) {
	r.note(what, took < limit, "< "+limit.String(), "%s", short(took))
}

// turn notes how a turn ended, and that it took less than limit.
func (r *run) turn(what string, t turn, limit time.Duration, good ...string) {
	r.note(what, slices.Contains(good, t.end()) && t.took < limit, strings.Join(good, "/")+" < "+limit.String(), "%s, %s", t.end(), short(t.took))
}

// health notes that /healthz answers within a second.
func (r *run) health(what string, g *gateway) {
	const limit = time.Second
	got := g.fetch(3*limit, http.MethodGet, "/healthz", "")
	if got.err != nil || got.status != http.StatusOK {
		r.note(what, false, "< "+limit.String(), "status %d, %v", got.status, got.err)
		return
	}
	r.within(what, got.took, limit)
}

// breaker notes whether the model's circuit breaker has counted a failure.
func (r *run) breaker(g *gateway) {
	state, err := g.breaker()
	r.must(err)
	r.note("the model's breaker afterwards", state == "closed 0", "closed 0", "%s", state)
}

// cost notes the CPU time since before, and peak the most memory ever. What is 0 is
// not looked at.
func (r *run) cost(g *gateway, before usage, cpu time.Duration, megabytes int) {
	u, err := g.usage()
	if err != nil {
		r.skip("CPU and memory", "no /proc here")
		return
	}
	if cpu > 0 {
		r.within("CPU for it", u.cpu-before.cpu, cpu)
	}
	if megabytes > 0 {
		mb := int(u.peak >> 20)
		r.note("memory at most", mb < megabytes, fmt.Sprintf("< %d MB", megabytes), "%d MB", mb)
	}
}

// short rounds a duration for the table.
func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// descriptors tells whether this process may open n files; it notes it if not.
func (r *run) descriptors(n int) bool {
	if have := openFiles(); have > 0 && have < n {
		r.skip("many connections", fmt.Sprintf("needs %d descriptors", n))
		return false
	}
	return true
}

// serve runs a fake upstream until the scenario ends.
func (r *run) serve(h http.Handler) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	s := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	r.atEnd(func() {
		_ = s.Close()
		<-ended
	})
	return "http://" + l.Addr().String()
}

// folder is removed when the scenario ends.
func (r *run) folder() string {
	dir, err := os.MkdirTemp("", "sluice-attack-")
	r.must(err)
	r.atEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// counter counts what reaches a fake.
type counter = atomic.Int64
