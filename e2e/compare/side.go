package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// side is a program that answers turns, with an upstream of its own.
type side struct {
	program
	up    *upstream
	cmd   *exec.Cmd
	redis *exec.Cmd // nil: it keeps nothing there
	log   *os.File
	url   string
	http  *http.Client
}

// startPatience is how long a program may take until it listens.
const startPatience = 10 * time.Second

// startSide starts a program and its upstream. The caller must call close.
func (p program) startSide(ctx context.Context, work string, s *scenario) (_ *side, err error) {
	roots := ""
	if s.encrypted {
		roots = filepath.Join(work, "roots of "+p.name+".pem")
	}
	d := &side{program: p}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.up, err = startUpstream(ctx, s.chunks, roots); err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if d.log, err = os.Create(filepath.Join(work, "log of "+p.name)); err != nil {
		return nil, err
	}
	d.cmd = exec.CommandContext(ctx, p.path, p.args...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.Env = p.environment(addr, d.up)
	if p.store != "" {
		store := p.store
		switch p.store {
		case "redis":
			if store, err = d.startRedis(ctx, work); err != nil {
				return nil, err
			}
		case "sqlite":
			store += ":" + filepath.Join(work, "store of "+p.name)
		}
		d.cmd.Env = append(d.cmd.Env, "SLUICE_STORE="+store)
	}
	if err := d.cmd.Start(); err != nil {
		d.cmd = nil
		return nil, err
	}
	d.url = "http://" + addr + "/chat/stream"
	d.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true}}
	return d, d.awaitListening(addr)
}

// environment returns the whole environment of the program: a setting of the machine must not
// change a row.
func (p program) environment(addr string, up *upstream) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "SSL_CERT_FILE=" + up.roots, "GEMINI_BASE_URL=" + up.model}
	if p.floor {
		return append(env, "ADDR="+addr, "MCP_URL="+up.tools)
	}
	// Turns that are refused because others keep the machine busy would end the measurement.
	return append(env, "SLUICE_ADMISSION=count", "SLUICE_ADDR="+addr, "GEMINI_API_KEY=simulated", "MCP_SERVER_URL="+up.tools, "SLUICE_REQUEST_TIMEOUT=120s", "SLUICE_MODEL_TIMEOUT=60s")
}

// startRedis starts a Redis for this side alone, which keeps nothing on disk, and returns its URL.
func (d *side) startRedis(ctx context.Context, work string) (string, error) {
	socket := filepath.Join(work, "redis."+strings.ReplaceAll(d.name, " ", "-"))
	_ = os.Remove(socket) // of an earlier scenario
	d.redis = exec.CommandContext(ctx, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", work)
	if err := d.redis.Start(); err != nil {
		d.redis = nil
		return "", err
	}
	for began := time.Now(); time.Since(began) < startPatience; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			return "unix://" + socket, conn.Close()
		}
	}
	return "", fmt.Errorf("the redis-server of %s does not listen", d.name)
}

// freeAddress returns an address of this machine that is free now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// awaitListening waits until the program accepts connections, and a gateway its tools.
func (d *side) awaitListening(addr string) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			if d.floor || d.isReady("http://"+addr+"/readyz") {
				return nil
			}
		}
		if time.Since(began) > startPatience {
			out, _ := os.ReadFile(d.log.Name())
			return fmt.Errorf("%s does not listen: %s", d.name, strings.TrimSpace(string(out[:min(len(out), 2000)])))
		}
	}
}

// isReady reports whether a gateway has its tools.
func (d *side) isReady(url string) bool {
	resp, err := d.http.Get(url)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// close ends the program and its upstream, and waits for them.
func (d *side) close() {
	if d.http != nil {
		d.http.CloseIdleConnections()
	}
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
	}
	if d.redis != nil {
		_ = d.redis.Process.Kill()
		_ = d.redis.Wait()
	}
	if d.up != nil {
		d.up.close()
	}
	if d.log != nil {
		_ = d.log.Close()
	}
}
