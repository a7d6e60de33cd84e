// This file starts the gateway as a process with an environment of its own, and asks it.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/e2e/proc"
)

// gateway is the program whose cost is measured.
type gateway struct {
	r       *run
	pid     int
	url     string
	admin   string // URL for operators, if an address of theirs was asked for
	client  *http.Client
	started time.Duration // CPU time until it listened
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// startGateway starts a gateway with a file of configuration, or without one if config is empty. It
// is killed at the end of the run.
func (r *run) startGateway(config string, env ...string) *gateway {
	dir := r.makeFolder()
	cmd := exec.Command(r.Binary)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:",
		"GEMINI_API_KEY=key-of-a-simulator", "SLUICE_REQUEST_TIMEOUT=5m", "SLUICE_ADMISSION=count", "SLUICE_DIALECTS=none"}, env...)
	if config != "" {
		path := filepath.Join(dir, "sluice.yaml")
		r.Must(os.WriteFile(path, []byte(config), 0o600))
		cmd.Env = append(cmd.Env, "SLUICE_CONFIG="+path)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	r.Must(err)
	r.Must(cmd.Start())
	g := &gateway{r: r, pid: cmd.Process.Pid, process: cmd.Process, ended: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}}
	r.AtEnd(g.stop)
	log := bufio.NewReader(out)
	awaited := []string{"listening"}
	if strings.Contains(strings.Join(env, " "), "SLUICE_ADMIN_ADDR=") {
		awaited = append(awaited, "admin_listening")
	}
	if strings.Contains(config, "mcpServers") {
		awaited = append(awaited, "mcp_connected")
	}
	err = g.awaitEvents(log, awaited)
	go func() {
		defer close(g.ended)
		_, _ = io.Copy(io.Discard, log)
		_ = cmd.Wait()
	}()
	if err != nil {
		g.stop()
		r.Must(fmt.Errorf("%w: %.1000s", err, &complaints))
	}
	return g
}

// awaitEvents reads the log up to the last of some events.
func (g *gateway) awaitEvents(log *bufio.Reader, events []string) error {
	for missing := len(events); missing > 0; {
		text, err := log.ReadBytes('\n')
		if err != nil {
			return errors.New("the gateway did not start")
		}
		var line struct {
			Event   string
			Details struct{ Addr string }
		}
		_ = json.Unmarshal(text, &line)
		for _, e := range events {
			if e == line.Event {
				missing--
			}
		}
		switch line.Event {
		case "listening":
			g.url = "http://" + line.Details.Addr
			if g.started, err = proc.CPU(g.pid); err != nil {
				return err
			}
		case "admin_listening":
			g.admin = "http://" + line.Details.Addr
		}
	}
	return nil
}

// stop ends the process.
func (g *gateway) stop() {
	g.client.CloseIdleConnections()
	_ = g.process.Kill()
	<-g.ended
}

// makeFolder makes a folder that is removed at the end of the run.
func (r *run) makeFolder() string {
	dir, err := os.MkdirTemp("", "sluice-growth-")
	r.Must(err)
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// memoryFolder makes a folder in memory, if the system has that, and removes it at the end of the
// run. So a disk that others use does not slow a store down.
func (r *run) memoryFolder() string {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-growth-")
	if err != nil {
		return r.makeFolder()
	}
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// postTurn asks for a turn.
func (g *gateway) postTurn(body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(g.r.Ctx, http.MethodPost, g.url+"/chat/stream", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return g.client.Do(req)
}

// turnFunc returns a function that runs a turn, and fails if the turn does.
func (g *gateway) turnFunc(body string) func() error {
	return func() error {
		resp, err := g.postTurn(body)
		if err != nil {
			return err
		}
		return checkReply(resp, `"success":true`)
	}
}

// getFunc reads what lies at a path of the gateway.
func (g *gateway) getFunc(path, want string) func() error {
	return func() error { return g.getURL(g.url+path, want) }
}

// getURL reads a URL, and fails if the end of the body lacks want.
func (g *gateway) getURL(url, want string) error {
	req, err := http.NewRequestWithContext(g.r.Ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return err
	}
	return checkReply(resp, want)
}

// checkReply reads a reply, whose end must hold something.
func checkReply(resp *http.Response, want string) error {
	defer resp.Body.Close()
	var end tail
	if _, err := io.Copy(&end, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(end, []byte(want)) {
		return fmt.Errorf("status %d, and no %s in what ends in %.400q", resp.StatusCode, want, end[max(0, len(end)-400):])
	}
	return nil
}

// tail has the last bytes that were written to it.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const enough = 4 << 20 // done has the whole text once more
	*t = append(*t, p...)
	if len(*t) > 2*enough {
		*t = append((*t)[:0], (*t)[len(*t)-enough:]...)
	}
	return len(p), nil
}
