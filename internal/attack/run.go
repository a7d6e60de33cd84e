package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// run is one scenario at work: what it has started, and what it has measured.
type run struct {
	binary string
	row    row
	ends   []func() // run in reverse
}

func (r *run) atEnd(end func()) { r.ends = append(r.ends, end) }

func (r *run) end() {
	for _, end := range slices.Backward(r.ends) {
		end()
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

func (r *run) skip(what, why string) {
	r.row.figures = append(r.row.figures, figure{what, why, "", skipped})
}

// within notes how long something took, and that it went well if err is nil.
func (r *run) within(what string, took, limit time.Duration, err error) {
	expected := "< " + limit.String()
	if err != nil {
		r.note(what, false, expected, "%v", err)
		return
	}
	r.note(what, took < limit, expected, "%s", short(took))
}

// turn notes how a turn ended, and that it took less than limit.
func (r *run) turn(what string, t turn, limit time.Duration, good ...string) {
	r.note(what, slices.Contains(good, t.end()) && t.took < limit, strings.Join(good, " or ")+", < "+limit.String(),
		"%s, %s", t.end(), short(t.took))
}

// peak notes the most memory that the gateway has had.
func (r *run) peak(what string, g *gateway, megabytes int64) {
	u, err := g.usage()
	if err != nil {
		r.skip(what, "no /proc here")
		return
	}
	r.note(what, u.peak>>20 < megabytes, fmt.Sprintf("< %d MB", megabytes), "%d MB", u.peak>>20)
}

// cpu notes the CPU time that the gateway has used since before.
func (r *run) cpu(what string, g *gateway, before usage, limit time.Duration) {
	u, err := g.usage()
	if err != nil {
		r.skip(what, "no /proc here")
		return
	}
	r.note(what, u.cpu-before.cpu < limit, "< "+limit.String(), "%s", short(u.cpu-before.cpu))
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// descriptors tells whether this process may open n files; it skips the row if not.
func (r *run) descriptors(n int) bool {
	if have := openFiles(); have > 0 && have < n {
		r.skip("the scenario", fmt.Sprintf("needs %d file descriptors", n))
		return false
	}
	return true
}

// serve runs a fake upstream until the scenario ends.
func (r *run) serve(h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
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
	return "http://" + l.Addr().String(), nil
}

// folder is removed when the scenario ends.
func (r *run) folder() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-attack-")
	if err == nil {
		r.atEnd(func() { _ = os.RemoveAll(dir) })
	}
	return dir, err
}

// counter counts what reaches a fake.
type counter = atomic.Int64
