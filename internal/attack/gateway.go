package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// options say how a gateway is started.
type options struct {
	model model  // nil: it answers one word
	tools *tools // nil: the built-in todo server
	files int    // its soft and hard limit of descriptors; 0: ours
	env   []string
	// loseLog closes the reading end of its stdout as soon as its address is known.
	loseLog bool
	stderr  *os.File // nil: kept for the message of a failed start
}

// gateway is the program under attack.
type gateway struct {
	cmd    *exec.Cmd
	addr   string
	client *http.Client // opens a connection for each request
	ended  chan struct{}
	err    error // of its end; valid once ended is closed

	mu  sync.Mutex // guards log
	log []string   // lines of stdout
}

// start starts the fakes and a gateway in front of them, and waits for its address.
func (r *run) start(ctx context.Context, o options) (*gateway, error) {
	env, err := r.environment(o)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var complaints bytes.Buffer
	g := &gateway{cmd: exec.Command(r.binary), ended: make(chan struct{})}
	if o.files > 0 {
		g.cmd = exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, o.files), r.binary)
	}
	g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr = env, in, &complaints
	if o.stderr != nil {
		g.cmd.Stderr = o.stderr
	}
	err = g.cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	r.watch(g, out, o.loseLog)
	g.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	listening, err := g.await(ctx, "listening")
	if err != nil {
		return nil, errors.Join(err, errors.New(complaints.String()))
	}
	g.addr = listening.Details.Addr
	return g, nil
}

// environment starts the fakes and returns all that the gateway's process gets.
func (r *run) environment(o options) ([]string, error) {
	home, err := r.folder()
	if err != nil {
		return nil, err
	}
	if o.model == nil {
		o.model = plain
	}
	gemini, err := r.serve(o.model)
	if err != nil {
		return nil, err
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:",
		"GEMINI_API_KEY=key-of-the-attack", "GEMINI_BASE_URL=" + gemini}
	if o.tools != nil {
		mcp, err := r.serve(o.tools)
		if err != nil {
			return nil, err
		}
		env = append(env, "MCP_SERVER_URL="+mcp+"/mcp")
	}
	return append(env, o.env...), nil
}

// watch reads the log and waits for the end.
func (r *run) watch(g *gateway, out *os.File, lose bool) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer out.Close()
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			g.mu.Lock()
			g.log = append(g.log, line)
			g.mu.Unlock()
			if lose && strings.Contains(line, `"listening"`) {
				return
			}
		}
	}()
	go func() {
		defer close(g.ended)
		g.err = g.cmd.Wait()
		<-read
	}()
	r.atEnd(func() {
		_ = g.cmd.Process.Kill()
		<-g.ended
	})
}

// alive tells whether the process runs.
func (g *gateway) alive() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

func (g *gateway) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log[:len(g.log):len(g.log)]
}

// entry is a line of the log.
type entry struct {
	Level, Event string
	Details      struct{ Addr string }
}

// await waits for an event in the log.
func (g *gateway) await(ctx context.Context, event string) (entry, error) {
	for {
		ended := !g.alive()
		for _, line := range g.lines() {
			var e entry
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == event {
				return e, nil
			}
		}
		if ended {
			return entry{}, fmt.Errorf("it ended before %s: %w", event, cmp.Or(g.err, errors.New("exit 0")))
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return entry{}, fmt.Errorf("no %s in the log", event)
		}
	}
}

// pause returns an error if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// fetch sends a request and returns what came back and how long that took. header is
// "Name: value" each.
func (g *gateway) fetch(ctx context.Context, method, path, body string, header ...string) (reply, time.Duration, error) {
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.addr+path, strings.NewReader(body))
	if err != nil {
		return reply{}, 0, err
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return reply{}, time.Since(begin), plainly(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(got)}, time.Since(begin), plainly(err)
}

type reply struct {
	status int
	body   string
}

// plainly says in a word what usually goes wrong.
func plainly(err error) error {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// health asks /healthz, with a limit of its own.
func (g *gateway) health(ctx context.Context, limit time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, took, err := g.fetch(ctx, http.MethodGet, "/healthz", "")
	if err == nil && r.status != http.StatusOK {
		err = fmt.Errorf("status %d", r.status)
	}
	return took, err
}

// breaker returns state and failure count of Gemini's breaker, as in "closed 0".
func (g *gateway) breaker(ctx context.Context) (string, error) {
	r, _, err := g.fetch(ctx, http.MethodGet, "/readyz", "")
	if err != nil {
		return "", err
	}
	var ready struct {
		Breakers []struct {
			Service, State string
			FailureCount   int `json:"failure_count"`
		}
	}
	if err := json.Unmarshal([]byte(r.body), &ready); err != nil {
		return "", err
	}
	for _, b := range ready.Breakers {
		if b.Service == "gemini" {
			return fmt.Sprint(b.State, " ", b.FailureCount), nil
		}
	}
	return "", errors.New("no breaker of Gemini")
}
