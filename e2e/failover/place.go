// This file starts the servers of a scenario: Redis, fakes, two gateways, each a process that can
// be killed at any moment and started again at the same address. Everything ends with the scenario.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// process is a program that is killed and started again. It may be killed by one goroutine
// at a time, besides the one that ends the scenario.
type process struct {
	name, path string
	args, env  []string      // env is all that it gets of the environment
	dir        string        // of its log; each start appends to it
	ready      func() bool   // reports whether it serves
	starting   time.Duration // most time until it is ready

	mu    sync.Mutex // guards the fields below
	cmd   *exec.Cmd  // nil: it does not run
	ended chan struct{}
}

// start starts it and waits until it is ready. The error has the end of its log.
//
// Its goroutine ends with the process.
func (p *process) start() error {
	log, err := os.OpenFile(filepath.Join(p.dir, p.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, ended := exec.Command(p.path, p.args...), make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the process, which kill waits for
		defer close(ended)
		_ = cmd.Wait()
	}()
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	for deadline := time.Now().Add(p.starting); !p.ready(); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return fmt.Errorf("%s has ended: %s", p.name, logTail(log.Name()))
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready within %s: %s", p.name, p.starting, logTail(log.Name()))
		}
	}
	return nil
}

// kill ends it at once, as kill -9 does, and waits for its end. It does nothing to a process
// that does not run.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.cmd = nil
	}
}

// signal sends it a signal.
func (p *process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// logTail returns the end of a log, for the message of a failed start.
func logTail(path string) string {
	text, _ := os.ReadFile(path)
	return string(text[max(0, len(text)-300):])
}

// startProcess starts a process that is killed when the scenario ends.
func (r *run) startProcess(p *process) *process {
	r.AtEnd(p.kill)
	r.Must(p.start())
	return p
}

// gateway is one of the programs under test. It has the same address after each start, as
// behind a balancer, and another identity: nothing of its former life is in it.
type gateway struct {
	*process
	url string
}

// healthCheck reports whether a URL answers with 200.
//
// Each call asks once and waits a second at most.
func healthCheck(url string) func() bool {
	c := &http.Client{Timeout: time.Second} // a hanging gateway is not healthy
	return func() bool {
		resp, err := c.Get(url)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
}

// redis is a server with an append-only file. The file is written before a command is confirmed,
// and flushed to the disk every second. So confirmed data survives a kill of the process, though
// not the end of the machine.
type redis struct {
	*process
	port string
}

// startRedis starts one. It listens at two addresses, so that its list of clients distinguishes
// those of two gateways.
func (r *run) startRedis() *redis {
	r.needPrograms("redis-server")
	s := &redis{port: r.freePort()}
	dir := r.makeFolder()
	path, _ := findProgram("redis-server")
	s.process = r.startProcess(&process{name: "redis", path: path, dir: dir, starting: 2 * time.Minute, args: []string{
		"--port", s.port, "--bind", "127.0.0.1", "127.0.0.2", "--protected-mode", "no", "--dir", dir,
		// Only the append-only file, so that exactly its content survives.
		"--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"},
		ready: func() bool { answer, err := s.sendCommand("PING"); return err == nil && answer == "+PONG" }})
	return s
}

// sendCommand sends a command without spaces in its words, and returns the first line of the
// answer, or all lines of a long text.
func (s *redis) sendCommand(command string) (string, error) {
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+s.port, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	line = strings.TrimSpace(line)
	var size int
	if _, errSize := fmt.Sscanf(line, "$%d", &size); err != nil || errSize != nil {
		return line, err
	}
	text := make([]byte, size)
	for n := 0; n < size; {
		m, err := in.Read(text[n:])
		if n += m; err != nil {
			return "", err
		}
	}
	return string(text), nil
}

// options say how gateways are started. The zero value is two of them with one Redis, the
// scripted model and the counting tools.
type options struct {
	stateless bool   // no Redis
	config    string // text of a configuration file; empty: one with the tools. Not of the stateless
	env       []string
	model     string        // URL; empty: the scripted fake
	third     bool          // there is a third gateway
	lease     time.Duration // 0: that of the command line
}

// place has the servers of a scenario: two gateways that differ only in their addresses, and
// everything around them.
type place struct {
	redis *redis // nil: the gateways are stateless
	model *model
	tools *tools
	a, b  *gateway
	c     *gateway // nil without a third one
}

// otherGateway returns the gateway that g is not.
func (p *place) otherGateway(g *gateway) *gateway {
	if g == p.a {
		return p.b
	}
	return p.a
}

// startPlace starts Redis, the fakes and two gateways.
func (r *run) startPlace(o options) *place {
	p := &place{model: &model{}, tools: &tools{}}
	if !o.stateless {
		p.redis = r.startRedis()
	}
	// Admission by delay would refuse turns on a machine that is busy with the judge itself.
	env := []string{"PATH=/usr/bin:/bin", "SLUICE_TODO_DB=:memory:", "SLUICE_ADMISSION=count", "SLUICE_LOG_LEVEL=info", "GEMINI_API_KEY=key-of-the-failover"}
	if o.model == "" {
		o.model = r.Serve(p.model)
	}
	env = append(env, "GEMINI_BASE_URL="+o.model)
	tools := r.Serve(p.tools.mcpServer()) + "/mcp"
	dir := r.makeFolder()
	var args []string
	if !o.stateless {
		if o.config == "" {
			o.config = "mcpServers: {tools: {url: \"TOOLS\"}}\n"
		}
		path := filepath.Join(dir, "sluice.yaml")
		if o.lease == 0 {
			o.lease = r.sizes.lease
		}
		config := strings.ReplaceAll(o.config, "TOOLS", tools) + fmt.Sprintf("\ntasks: {lease: %s}\n", o.lease)
		r.Must(os.WriteFile(path, []byte(config), 0o600))
		args = []string{"--config", path}
	} else {
		env = append(env, "MCP_SERVER_URL="+tools)
	}
	env = append(env, o.env...)
	p.a, p.b = r.startGateway(p, "a", dir, args, env), r.startGateway(p, "b", dir, args, env)
	if o.third {
		p.c = r.startGateway(p, "c", dir, args, env)
	}
	return p
}

// startGateway starts one. Gateway a speaks to 127.0.0.1 of Redis and b to 127.0.0.2: by these
// its list of clients distinguishes them.
func (r *run) startGateway(p *place, name, dir string, args, env []string) *gateway {
	addr := "127.0.0.1:" + r.freePort()
	own := append([]string{"HOME=" + dir, "SLUICE_ADDR=" + addr}, env...)
	if p.redis != nil {
		host := map[string]string{"a": "127.0.0.1", "b": "127.0.0.2", "c": "127.0.0.2"}[name]
		own = append(own, "SLUICE_STORE=redis://"+host+":"+p.redis.port)
	}
	return &gateway{url: "http://" + addr, process: r.startProcess(&process{name: name, path: r.Binary, args: args, env: own, dir: dir,
		starting: time.Minute, ready: healthCheck("http://" + addr + "/healthz")})}
}

// startBalancer starts HAProxy in front of the gateways. Its configuration is that of deploy/ with
// other ports, and with the third gateway only if it runs. So the result holds for that file.
func (r *run) startBalancer(p *place) (url string) {
	r.needPrograms("haproxy")
	text, err := os.ReadFile(r.sizes.haproxy)
	r.Must(err)
	at := "127.0.0.1:" + r.freePort()
	_, portA, _ := strings.Cut(strings.TrimPrefix(p.a.url, "http://"), ":")
	_, portB, _ := strings.Cut(strings.TrimPrefix(p.b.url, "http://"), ":")
	third, with := "    server c 127.0.0.1:8083\n", ""
	if p.c != nil {
		with = "    server c " + strings.TrimPrefix(p.c.url, "http://") + "\n"
	}
	config := strings.NewReplacer("bind :8080", "bind "+at, ":8081", ":"+portA, ":8082", ":"+portB, third, with).Replace(string(text))
	if !strings.Contains(config, at) || strings.Contains(config, "8083") {
		r.Must(errors.New(r.sizes.haproxy + " is not the file that is known"))
	}
	dir := r.makeFolder()
	path := filepath.Join(dir, "haproxy.cfg")
	r.Must(os.WriteFile(path, []byte(config), 0o600))
	program, _ := findProgram("haproxy")
	r.startProcess(&process{name: "haproxy", path: program, args: []string{"-db", "-f", path}, dir: dir, starting: 20 * time.Second, ready: healthCheck("http://" + at + "/readyz")})
	return "http://" + at
}
