// This file measures the machine, so that limits of time hold on a slow one and on one that
// does other work: a limit is that of a quiet machine, times how much longer a piece of work
// takes here and now.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"sluice/e2e/scenario"
	"sluice/internal/base/markdown/markdowntest"
)

// quiet is how long the reference work takes on a quiet core (3 GHz, 2026-11).
const quiet = 20 * time.Millisecond

// slowness returns how many times as long as on a quiet machine the reference work takes, on all
// cores at once. It is at least 1, so that a fast machine does not make a limit stricter.
func slowness() float64 {
	var wg sync.WaitGroup
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(referenceWork)
	}
	wg.Wait()
	return max(1, float64(time.Since(begin))/float64(quiet))
}

// referenceWork is work of the kind that a gateway does: it reads and writes JSON.
func referenceWork() {
	text := []byte(`{"input":"` + strings.Repeat("words of a text, ", 20) + `","list":[` + strings.Repeat(`{"a":1,"b":"two"},`, 40) + `{}]}`)
	for range 400 {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			panic(err)
		}
		if _, err := json.Marshal(v); err != nil {
			panic(err)
		}
	}
}

// scaledLimit returns a limit of a quiet machine as it is here.
func (r *run) scaledLimit(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * r.slow).Round(time.Millisecond)
}

// withinCPU records how much CPU time something took. limit is that of a quiet machine; others
// make work dearer, but not by the time that they take themselves.
func (r *run) withinCPU(what string, elapsed, limit time.Duration) {
	const times = 5
	slow := markdowntest.Timed(func() {
		for range times {
			referenceWork()
		}
	})
	limit = time.Duration(float64(limit) * max(1, float64(slow)/float64(times*quiet))).Round(time.Millisecond)
	r.Check(what, elapsed <= limit, "<= "+limit.String(), "%s", scenario.Short(elapsed))
}

// floorFlag makes this program the floor: a server of the standard library that refuses every
// request, at the least cost on this machine.
const floorFlag = "--floor"

// serveFloor refuses until its stdin ends.
func serveFloor() {
	refusal := `{"error_type":"overloaded","message":"The gateway is busy"}` + "\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, refusal)
	}))
	defer s.Close()
	fmt.Println(strings.TrimPrefix(s.URL, "http://"))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startFloor starts the floor as a process of its own.
func (r *run) startFloor() *gateway {
	self, err := os.Executable()
	r.Must(err)
	g := &gateway{ctx: r.Ctx, cmd: exec.CommandContext(r.Ctx, self, floorFlag), ended: make(chan struct{})}
	in, err := g.cmd.StdinPipe()
	r.Must(err)
	out, err := g.cmd.StdoutPipe()
	r.Must(err)
	r.Must(g.cmd.Start())
	r.AtEnd(func() {
		_ = in.Close()
		_ = g.cmd.Wait()
	})
	_, err = fmt.Fscanln(out, &g.addr)
	r.Must(err)
	return g
}
