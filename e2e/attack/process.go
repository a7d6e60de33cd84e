// This file has the attacks on the process around the gateway: its log, its keys, its home
// folder.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// terminate sends SIGTERM and waits for the end.
func (g *gateway) terminate() error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-g.ended:
		return g.err
	case <-g.ctx.Done():
		return errors.New("it does not end")
	}
}

// logReaderGone closes the other end of stdout, and of stderr, as the restart of a
// log shipper does.
func logReaderGone(r *run) {
	g := r.mustStart(options{loseLog: true})
	r.checkTurn("a turn without a reader of stdout", g.runTurn("hi", 5*time.Second), 2*time.Second, "stop")
	r.Pause(300 * time.Millisecond)
	r.checkHealth("/healthz after it", g)

	out, in, err := os.Pipe()
	r.Must(err)
	_ = out.Close()
	defer in.Close()
	// Without a key it has something to say on stderr: that the model is a built-in one.
	g, err = r.startGateway(options{stderr: in, env: []string{"GEMINI_API_KEY="}})
	if err != nil {
		r.Check("the start without a reader of stderr", false, "runs", "%v", err)
		return
	}
	r.checkHealth("/healthz without a reader of stderr", g)
}

// longLogLines has a path and a tool's name logged that are longer than any of ours.
func longLogLines(r *run) {
	const most = 16 << 10
	g := r.mustStart(options{model: callingModel(strings.Repeat("n", 900<<10), "{}")})
	r.Must(g.fetch(5*time.Second, http.MethodGet, "/"+strings.Repeat("p", 90<<10), "").err)
	r.Pause(300 * time.Millisecond)
	r.atMost("longest line, path of 90 KiB", longestLine(g.logLines()), most)
	r.checkTurn("a turn with a tool's name of 900 KiB", g.runTurn("hi", 10*time.Second), 5*time.Second, "stop")
	r.awaitCompleted(g)
	r.atMost("longest line then", longestLine(g.logLines()), most)
}

// awaitCompleted waits until a turn is logged.
func (r *run) awaitCompleted(g *gateway) {
	_, err := g.awaitEvent("request_completed", 5*time.Second)
	r.Must(err)
}

// longestLine returns the length of the longest line, in bytes.
func longestLine(lines []string) (n int) {
	for _, l := range lines {
		n = max(n, len(strings.TrimSuffix(l, "\n")))
	}
	return n
}

// bidi names things with characters that make text look like another.
func bidi(r *run) {
	const odd = "a\u202eb\u2028c\u2066d\U000e0041e"
	g := r.mustStart(options{model: callingModel("tool"+odd, "{}")})
	r.Must(g.fetch(5*time.Second, http.MethodGet, "/"+url.PathEscape(odd), "").err)
	t := newTurn(g.fetch(5*time.Second, http.MethodPost, "/chat/stream", `{"input":"hi","user_id":"`+odd+`"}`, "Content-Type: application/json"))
	r.checkTurn("a turn", t, 5*time.Second, "stop")
	r.awaitCompleted(g)
	r.Exactly("such characters in the log", countDisguised(strings.Join(g.logLines(), "")), 0)
	inEvents := 0
	for _, e := range t.events {
		if e.name == "tool_call" {
			inEvents += countDisguised(e.raw)
		}
	}
	r.Exactly("in the events' names of tools", inEvents, 0)
}

// countDisguised counts invisible characters and unusual line ends.
func countDisguised(s string) (n int) {
	for _, c := range s {
		if c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Cf, c) {
			n++
		}
	}
	return n
}

// shortKey has keys that are also words of the log.
func shortKey(r *run) {
	for _, key := range []string{"1", "test"} {
		// A broken gateway may cut its own address in the log, so it gets one.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		r.Must(err)
		r.Must(l.Close())
		g := r.mustStart(options{addr: l.Addr().String(), env: []string{"GEMINI_API_KEY=" + key}})
		r.checkTurn(fmt.Sprintf("a turn with the key %q", key), g.runTurn("hi", 5*time.Second), 2*time.Second, "stop")
		r.Pause(300 * time.Millisecond)
		var lost, cut, warned int
		for _, line := range g.logLines() {
			var e entry
			if json.Unmarshal([]byte(line), &e) != nil {
				lost++
			}
			if strings.Contains(strings.ToLower(line), "[redacted]") {
				cut++
			}
			if e.Level == "WARNING" && strings.Contains(line, "GEMINI_API_KEY") {
				warned++
			}
		}
		r.Exactly("log lines that are no JSON", lost, 0)
		r.Exactly("log lines that are cut", cut, 0)
		r.Exactly("warnings at the start", warned, 1)
	}
}

// noHome starts with nothing configured where no file can be made. A path below
// /dev/null cannot be made by root either.
func noHome(r *run) {
	g, err := r.startGateway(options{env: []string{"HOME=/dev/null/home", "SLUICE_TODO_DB="}})
	if err != nil {
		r.Check("the start", false, "runs", "%v", err)
		return
	}
	r.checkHealth("/healthz", g)
	r.awaitTools(g)
	n, err := g.countTools("")
	r.Must(err)
	r.Check("todo tools", n > 0, "> 0", "%d", n)
}
