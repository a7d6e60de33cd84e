// This file starts the gateway with everything around it, and reads its pages and metrics.

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/e2e/credential"
	"sluice/e2e/scenario"
)

// place has the gateway of a run, its upstreams and its credentials.
type place struct {
	dir      string
	model    *model
	books    *tools // writes
	facts    *tools // reads only
	issuer   *credential.Issuer
	seal     *authority // nil without TLS
	keys     *wardrobe
	operator string       // key
	season   atomic.Int64 // how many times keys and tokens were replaced, or began to be

	gateway *os.Process
	url     string
	admin   string      // URL
	trusted *tls.Config // nil without TLS
	client  *http.Client
	sealed  int64 // serial number of the certificate that client saw last; for the goroutine of the run
}

// tenants there are.
const tenants = 5

// startPlace starts everything. It ends with the run.
func (r *run) startPlace() *place {
	p := &place{dir: r.makeFolder(), model: newModel(r.plan.faults), issuer: &credential.Issuer{},
		books: &tools{tool: "count", writes: true, faults: r.plan.faults, ran: map[string]int{}},
		facts: &tools{tool: "look", faults: r.plan.faults, ran: map[string]int{}}}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "SLUICE_TODO_DB=:memory:", "SLUICE_LOG_LEVEL=" + r.plan.log,
		"SOAK_KEY=key-of-the-soak", "SLUICE_STORE=" + r.storeSetting(p),
		// A breaker opens for a minute after three failures in a row. Among so many calls there always are.
		"SLUICE_MCP_BREAKER=20,1s,3"}
	config := fmt.Sprintf("models: {default: {provider: gemini, endpoint: %q, model: soak, api_key: \"${SOAK_KEY}\", breaker: \"20,1s,3\"}}\n", r.Serve(p.model)) +
		fmt.Sprintf("mcpServers: {books: {url: %q}, facts: {url: %q}}\n", r.Serve(p.books.mcpServer())+"/mcp", r.Serve(p.facts.mcpServer())+"/mcp")
	if !r.plan.plain {
		config += r.prepareAccess(p)
		cert, key := p.seal.pairPaths()
		env = append(env, "SLUICE_AUTH=required", "SLUICE_TLS_CERT="+cert, "SLUICE_TLS_KEY="+key)
		p.trusted = &tls.Config{RootCAs: p.seal.certPool()}
	}
	if r.plan.store != "none" {
		config += "tasks: {ttl: 5m, event_ttl: 2m}\n"
	}
	path := filepath.Join(p.dir, "sluice.yaml")
	r.Must(os.WriteFile(path, []byte(config), 0o600))
	r.startGateway(p, append(env, "SLUICE_CONFIG="+path))
	return p
}

// prepareAccess makes keys, issuer and certificate, and returns the sections of the configuration
// for users and limits.
func (r *run) prepareAccess(p *place) string {
	var err error
	p.seal, err = newAuthority(p.dir)
	r.Must(err)
	_, err = p.seal.issuePair()
	r.Must(err)
	p.issuer.URL = r.Serve(p.issuer)
	r.Must(p.issuer.Rotate())
	p.keys = &wardrobe{path: filepath.Join(p.dir, "keys.json")}
	p.operator, p.keys.operator = credential.NewKey("operator", "t0", "", "ops", "admin")
	r.Must(p.keys.writeKeys(nil))
	names := make([]string, tenants)
	for n := range names {
		names[n] = fmt.Sprintf("t%d: {}", n)
	}
	// Keys that do not count yet are asked for from the users' own address.
	return fmt.Sprintf("auth: {failures: 6000/m, keys: %q, jwt: [{issuer: %q, audiences: ["+credential.Audience+"], jwks: %q, claims: {tenant: tenant, limits: limits}}]}\n", p.keys.path, p.issuer.URL, p.issuer.URL+"/keys") +
		"tenants: {" + strings.Join(names, ", ") + "}\n" +
		"limits: {user: {requests: 100000/s, streams: 1000, tokens: [100000000/m]}, classes: {" + smallClass + ": {requests: {rate: 30/m, burst: 5}, streams: 100}}}\n"
}

// smallClass is the class of limits of those who ask more often than they may.
const smallClass = "small"

// storeSetting returns the setting of the store. The store is empty when the gateway starts.
func (r *run) storeSetting(p *place) string {
	switch r.plan.store {
	case "sqlite":
		return "sqlite:" + filepath.Join(p.dir, "sluice.db")
	case "redis":
		return "redis://" + r.startRedis(p.dir)
	}
	return r.plan.store
}

// startRedis starts a server, and returns its address.
func (r *run) startRedis(dir string) string {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		r.Lack("redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	addr := l.Addr().String()
	r.Must(l.Close())
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction")
	r.Must(cmd.Start())
	r.AtEnd(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r.awaitOrFail("Redis", time.Minute, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return addr
}

// freeAddress returns a port of this host that is free now. The gateway's own choice would be a line
// of its log, of a level with four lines for each turn.
func (r *run) freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	defer l.Close()
	return l.Addr().String()
}

// startGateway starts the gateway, and waits until it answers.
func (r *run) startGateway(p *place, env []string) {
	log, err := os.Create(filepath.Join(p.dir, "gateway.log"))
	r.Must(err)
	defer log.Close()
	addr, admin := r.freeAddress(), r.freeAddress()
	cmd, ended := exec.Command(r.Binary), make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr = append(env, "SLUICE_ADDR="+addr, "SLUICE_ADMIN_ADDR="+admin), log, log
	r.Must(cmd.Start())
	p.gateway = cmd.Process
	go func() { // ends with the process
		defer close(ended)
		_ = cmd.Wait()
	}()
	r.AtEnd(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	scheme := "http://"
	if p.trusted != nil {
		scheme = "https://"
	}
	p.url, p.admin = scheme+addr, scheme+admin
	p.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: p.trusted, DisableKeepAlives: true}}
	r.awaitOrFail("the gateway answers", time.Minute, func() bool {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			r.Must(fmt.Errorf("the gateway has ended: %s", text[max(0, len(text)-500):]))
		default:
		}
		_, err := p.getPage(r.Ctx, p.url+"/healthz", "")
		return err == nil
	})
}

// getPage gets a page with a credential. An answer that is not 200 is an error.
func (p *place) getPage(ctx context.Context, url, credential string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.TLS != nil {
		p.sealed = resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &refusal{Status: resp.StatusCode}
	}
	return string(text), err
}

// figures are the metrics of the gateway, by name and labels as they are written.
type figures map[string]float64

// readMetrics reads the metrics.
func (p *place) readMetrics(ctx context.Context) (figures, error) {
	text, err := p.getPage(ctx, p.admin+"/metrics", p.operator)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return readFigures(text), nil
}

// readFigures reads the text form of Prometheus.
func readFigures(text string) figures {
	all := figures{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64); err == nil {
			all[line[:at]] = v
		}
	}
	return all
}

// sumByLabel returns the figures of a name by the value of a label, added up over the other labels.
func (f figures) sumByLabel(name, label string) map[string]int {
	sums := map[string]int{}
	for series, v := range f {
		rest, ok := strings.CutPrefix(series, name+"{")
		if !ok {
			continue
		}
		_, value, _ := strings.Cut(","+strings.TrimSuffix(rest, "}"), ","+label+`="`)
		value, _, _ = strings.Cut(value, `"`)
		sums[value] += int(v)
	}
	return sums
}

// held is the memory, the goroutines and the descriptors of an idle gateway.
type held struct {
	heap        int // bytes that are in use after a collection
	goroutines  int
	descriptors int // 0: not known here
}

// measureHeld has the gateway collect its garbage, and measures it.
func (p *place) measureHeld(ctx context.Context) (held, error) {
	for range 2 { // objects with a finalizer go with the second one
		if _, err := p.getPage(ctx, p.admin+"/debug/pprof/heap?gc=1", p.operator); err != nil {
			return held{}, fmt.Errorf("profile: %w", err)
		}
	}
	f, err := p.readMetrics(ctx)
	if err != nil {
		return held{}, err
	}
	if f["go_goroutines"] == 0 {
		return held{}, errors.New("the metrics have no goroutines")
	}
	return held{int(f["go_memstats_heap_alloc_bytes"]), int(f["go_goroutines"]), int(f["process_open_fds"])}, nil
}

// awaitOrFail waits until something holds.
func (r *run) awaitOrFail(what string, limit time.Duration, holds func() bool) {
	if !r.waitUntil(limit, holds) {
		r.Must(fmt.Errorf("%s: not within %s", what, limit))
	}
}

// waitUntil waits until something holds, and says whether it does.
func (r *run) waitUntil(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); {
		if time.Now().After(deadline) || scenario.Pause(r.Ctx, 100*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// makeFolder makes a folder that is removed when the run ends, unless its log is wanted.
func (r *run) makeFolder() string {
	dir, err := os.MkdirTemp("", "sluice-soak-")
	r.Must(err)
	if r.plan.keepLog {
		r.printProgress("the log is in %s", dir)
		return dir
	}
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}
