// This file starts the gateway as a process with an environment of its own, reads its log, and asks
// it. The surrounding environment does not reach it, so that a setting of the machine cannot change
// a row.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"sluice/e2e/scenario"
)

// options say how a gateway is started.
//
// The zero value is a gateway with a model that answers one word and the built-in todo
// server.
type options struct {
	model model  // nil: it answers one word
	tools *tools // nil: the built-in todo server
	files int    // its soft and hard limit of descriptors; 0: ours
	env   []string
	// addr is where it listens; empty: where it likes, which its log reports.
	addr string
	// loseLog closes the reading end of its stdout as soon as its address is known.
	loseLog bool
	stderr  *os.File // nil: kept for the message of a failed start
}

// gateway is the program under attack.
type gateway struct {
	ctx    context.Context // of the scenario
	cmd    *exec.Cmd
	addr   string
	client *http.Client // opens a connection for each request
	ended  chan struct{}
	err    error // of its end; valid once ended is closed

	mu  sync.Mutex // guards log
	log []string   // lines of stdout
}

// startGateway starts the fakes and a gateway in front of them, and waits until it listens.
// An error means that the gateway did not get so far.
//
// The process is killed at the end of the scenario, whatever became of it.
func (r *run) startGateway(o options) (*gateway, error) {
	g := &gateway{ctx: r.Ctx, cmd: exec.Command(r.Binary), addr: o.addr, ended: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	if o.files > 0 {
		g.cmd = exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, o.files), r.Binary)
	}
	var complaints bytes.Buffer
	g.cmd.Env, g.cmd.Stderr = r.environment(o), &complaints
	if o.stderr != nil {
		g.cmd.Stderr = o.stderr
	}
	out, in, err := os.Pipe()
	r.Must(err)
	g.cmd.Stdout = in
	err = g.cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		r.Must(err)
	}
	r.watchProcess(g, out, o.loseLog)
	if err := g.awaitListening(); err != nil {
		_ = g.cmd.Process.Kill()
		<-g.ended
		return nil, fmt.Errorf("%w %s", err, &complaints)
	}
	return g, nil
}

// mustStart starts a gateway, and ends the scenario if that fails.
func (r *run) mustStart(o options) *gateway {
	g, err := r.startGateway(o)
	r.Must(err)
	return g
}

// environment starts the fakes and returns all that the gateway's process gets.
func (r *run) environment(o options) []string {
	if o.model == nil {
		o.model = answerPlain
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + r.makeFolder(), "SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:",
		"GEMINI_API_KEY=key-of-the-attack", "GEMINI_BASE_URL=" + r.Serve(o.model)}
	if o.addr != "" {
		env = append(env, "SLUICE_ADDR="+o.addr)
	}
	if o.tools != nil {
		env = append(env, "MCP_SERVER_URL="+r.Serve(o.tools.mcpServer())+"/mcp")
	}
	return append(env, o.env...)
}

// watchProcess reads the log and waits for the end.
//
// Its goroutines end with the process. With lose the pipe is closed as soon as the gateway
// listens.
func (r *run) watchProcess(g *gateway, out *os.File, lose bool) {
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
	r.AtEnd(func() {
		_ = g.cmd.Process.Kill()
		<-g.ended
	})
}

// awaitListening waits until the gateway does.
func (g *gateway) awaitListening() error {
	if g.addr == "" {
		e, err := g.awaitEvent("listening", 20*time.Second)
		g.addr = e.Details.Addr
		return err
	}
	for g.fetch(time.Second, http.MethodGet, "/healthz", "").status != http.StatusOK {
		if err := scenario.Pause(g.ctx, 50*time.Millisecond); err != nil || !g.isAlive() {
			return errors.New("nobody listens")
		}
	}
	return nil
}

// isAlive reports whether the process runs.
func (g *gateway) isAlive() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

// logLines returns the log so far. The slice must not be appended to.
func (g *gateway) logLines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log[:len(g.log):len(g.log)]
}

// entry is a line of the log.
type entry struct {
	Level, Event string
	Details      struct{ Addr string }
}

// awaitEvent waits for an event in the log.
//
// It looks at lines that have come already too. An error names the event and whether the
// process has ended.
func (g *gateway) awaitEvent(event string, limit time.Duration) (entry, error) {
	for deadline := time.Now().Add(limit); ; {
		ended := !g.isAlive()
		for _, line := range g.logLines() {
			var e entry
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == event {
				return e, nil
			}
		}
		if ended {
			return entry{}, fmt.Errorf("ended before %s: %v", event, g.err)
		}
		if time.Now().After(deadline) || scenario.Pause(g.ctx, 10*time.Millisecond) != nil {
			return entry{}, fmt.Errorf("no %s in %s", event, limit)
		}
	}
}

// reply is the answer to a request, if there was any.
type reply struct {
	status  int
	body    string
	elapsed time.Duration
	err     error
}

// fetch sends a request on a connection of its own. header is "Name: value" each.
//
// It always returns a reply; err in it says what went wrong.
func (g *gateway) fetch(limit time.Duration, method, path, body string, header ...string) (got reply) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(g.ctx, limit)
	defer cancel()
	defer func() { got.elapsed, got.err = time.Since(begin), plainError(got.err) }()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.addr+path, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, body: string(content), err: err}
}

// plainError shortens the usual errors of a connection.
func plainError(err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err // without the address, which differs from run to run
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && !op.Timeout() {
		err = op.Err
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("no answer in time")
	}
	return err
}

// getJSON gets a JSON reply.
func (g *gateway) getJSON(path string, v any) error {
	got := g.fetch(5*time.Second, http.MethodGet, path, "")
	if got.err != nil {
		return got.err
	}
	return json.Unmarshal([]byte(got.body), v)
}

// breakerState returns state and failure count of the model's breaker, as in "closed 0".
func (g *gateway) breakerState() (string, error) {
	var ready struct {
		Breakers []struct {
			Service, State string
			FailureCount   int `json:"failure_count"`
		}
	}
	if err := g.getJSON("/readyz", &ready); err != nil {
		return "", err
	}
	for _, b := range ready.Breakers {
		if b.Service == "gemini" {
			return fmt.Sprint(b.State, " ", b.FailureCount), nil
		}
	}
	return "", errors.New("there is no breaker of the model")
}

// countTools counts the tools whose name begins with prefix.
func (g *gateway) countTools(prefix string) (n int, err error) {
	var list struct{ Tools []struct{ Name string } }
	err = g.getJSON("/tools", &list)
	for _, t := range list.Tools {
		if strings.HasPrefix(t.Name, prefix) {
			n++
		}
	}
	return n, err
}
