package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// terminate sends SIGTERM and returns how long the process lives on.
func (g *gateway) terminate(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-g.ended:
		return time.Since(begin), g.err
	case <-ctx.Done():
		return time.Since(begin), ctx.Err()
	}
}

// logReaderGone closes the other end of stdout, and of stderr, as the restart of a
// log shipper does.
func logReaderGone(ctx context.Context, r *run) error {
	g, err := r.start(ctx, options{loseLog: true})
	if err != nil {
		return err
	}
	r.turn("a turn without a reader of stdout", g.ask(ctx, "hi", 5*time.Second), 2*time.Second, "stop")
	_ = pause(ctx, 300*time.Millisecond)
	r.note("the process after it", g.alive(), "runs", "%s", state(g))

	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	_ = out.Close()
	defer in.Close()
	// Without a key it has something to say on stderr: that the model is a built-in one.
	g, err = r.start(ctx, options{stderr: in, env: []string{"GEMINI_API_KEY="}})
	if err != nil {
		r.note("the start without a reader of stderr", false, "runs", "%v", err)
		return nil
	}
	took, err := g.health(ctx, 2*time.Second)
	r.within("/healthz without a reader of stderr", took, time.Second, err)
	return nil
}

func state(g *gateway) string {
	if g.alive() {
		return "runs"
	}
	return fmt.Sprint("ended: ", g.err)
}

// longLogLines has a path and a tool's name logged that are longer than any of ours.
func longLogLines(ctx context.Context, r *run) error {
	const most = 16 << 10
	g, err := r.start(ctx, options{model: calling(strings.Repeat("n", 900<<10), "{}")})
	if err != nil {
		return err
	}
	if _, _, err := g.fetch(ctx, http.MethodGet, "/"+strings.Repeat("p", 90<<10), ""); err != nil {
		return err
	}
	path := longest(g.lines())
	r.note("longest line, path of 90 KiB", path <= most, fmt.Sprint("<= ", most), "%d", path)
	r.turn("a turn with a tool's name of 900 KiB", g.ask(ctx, "hi", 10*time.Second), 5*time.Second, "stop")
	if _, err := g.await(ctx, "request_completed"); err != nil {
		return err
	}
	name := longest(g.lines())
	r.note("longest line then", name <= most, fmt.Sprint("<= ", most), "%d", name)
	return nil
}

func longest(lines []string) (n int) {
	for _, l := range lines {
		n = max(n, len(strings.TrimSuffix(l, "\n")))
	}
	return n
}

// bidi names things with characters that make text look like another.
func bidi(ctx context.Context, r *run) error {
	const odd = "a\u202eb\u2028c\u2066d\U000e0041e"
	g, err := r.start(ctx, options{model: calling("tool"+odd, "{}")})
	if err != nil {
		return err
	}
	if _, _, err := g.fetch(ctx, http.MethodGet, "/"+url.PathEscape(odd), ""); err != nil {
		return err
	}
	body, _ := json.Marshal(map[string]string{"input": "hi", "user_id": odd})
	got, took, err := g.fetch(ctx, http.MethodPost, "/chat/stream", string(body), "Content-Type: application/json")
	t := newTurn(got, took, err)
	r.turn("a turn", t, 5*time.Second, "stop")
	if _, err := g.await(ctx, "request_completed"); err != nil {
		return err
	}
	raw := disguised(strings.Join(g.lines(), ""))
	r.note("such characters in the log", raw == 0, "0", "%d", raw)
	raw = 0
	for _, e := range t.events {
		if e.name == "tool_call" {
			raw += disguised(e.raw)
		}
	}
	r.note("in the events' names of tools", raw == 0 && t.count("tool_call", "") > 0, "0", "%d", raw)
	return nil
}

// disguised counts what is neither seen nor a plain line end.
func disguised(s string) (n int) {
	for _, c := range s {
		if c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Cf, c) {
			n++
		}
	}
	return n
}

// shortKey has keys that are also words of the log.
func shortKey(ctx context.Context, r *run) error {
	for _, key := range []string{"1", "test"} {
		g, err := r.start(ctx, options{env: []string{"GEMINI_API_KEY=" + key}})
		if err != nil {
			return err
		}
		if end := g.ask(ctx, "hi", 5*time.Second).end(); end != "stop" {
			return fmt.Errorf("the turn ended as %s", end)
		}
		// With a key like 1 there may be no line left to wait for.
		_ = pause(ctx, 300*time.Millisecond)
		var lost, cut, warned int
		for _, line := range g.lines() {
			var e entry
			if json.Unmarshal([]byte(line), &e) != nil {
				lost++
			}
			if strings.Contains(line, "REDACTED") {
				cut++
			}
			if e.Level == "WARNING" && strings.Contains(strings.ToLower(line), "key") {
				warned++
			}
		}
		r.note(fmt.Sprintf("key %q: lines that are no JSON", key), lost == 0, "0", "%d of %d", lost, len(g.lines()))
		r.note(fmt.Sprintf("key %q: lines that are cut", key), cut == 0, "0", "%d", cut)
		r.note(fmt.Sprintf("key %q: warnings at the start", key), warned == 1, "1", "%d", warned)
	}
	return nil
}

// noHome starts with nothing configured where no file can be made. A path below
// /dev/null cannot be made by root either.
func noHome(ctx context.Context, r *run) error {
	g, err := r.start(ctx, options{env: []string{"HOME=/dev/null/home", "SLUICE_TODO_DB="}})
	if err != nil {
		r.note("the start", false, "runs", "%v", err)
		return nil
	}
	took, err := g.health(ctx, 2*time.Second)
	r.within("/healthz", took, time.Second, err)
	if _, err := g.await(ctx, "mcp_connected"); err != nil {
		return err
	}
	n, err := g.offered(ctx, "")
	r.note("todo tools", n > 0 && err == nil, "> 0", "%d", n)
	return nil
}
