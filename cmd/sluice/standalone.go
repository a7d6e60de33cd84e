// This file starts parts of the gateway alone, for tests of other programs and for demonstrations:
// the todo MCP server, and the simulators of the models' interfaces. They run without a
// configuration file, a store and a drain: a signal ends them after the replies under way.

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"sluice/internal/app/gateway"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/sim/offline"
	"sluice/internal/sim/todo"
)

// lastBytes is how long replies may take to leave when a server stops.
const lastBytes = 2 * time.Second

// todoServer runs the built-in todo MCP server alone, so that other agents can
// use it: over streamable HTTP, or over stdio.
//
// With --stdio stdout is the protocol's, so that all texts go to stderr.
func (p program) todoServer(ctx context.Context, args []string) int {
	l := settings.Loader()
	stdio := l.Bool("stdio", "speak MCP over standard input and output instead of HTTP")
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	store, _, unwritable, err := gateway.OpenTodos(ctx, cfg)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice todo-server: SLUICE_TODO_DB: %v\n", err)
		return exitFailed
	}
	if unwritable != nil {
		fmt.Fprintf(p.stderr, "sluice todo-server: the todos are kept in memory until the end: %v\n", unwritable)
	}
	defer store.Close()
	server := todo.NewServer(store, version)
	if *stdio {
		if err := todo.ServeStdio(ctx, server, p.stdin, p.stdout); err != nil {
			fmt.Fprintf(p.stderr, "sluice todo-server: %v\n", err)
			return exitFailed
		}
		return exitOK
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", todo.Handler(server))
	return p.serveAlone(ctx, config.Of[settings.Process](&cfg).Addr, mux, "todo MCP server", "/mcp")
}

// scriptOf parses the file that a flag of gemini-sim names, or returns nil without a name. If the
// file cannot be used, it reports that and returns false.
func scriptOf[S any](p program, flag, path string, parse func(string) (*S, error)) (script *S, ok bool) {
	if path == "" {
		return nil, true
	}
	text, err := p.readFile(path)
	if err == nil {
		script, err = parse(string(text))
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice gemini-sim: %s: %v\n", flag, err)
	}
	return script, err == nil
}

// geminiSim runs the simulator of the Gemini API alone, and next to it, under /v1, that of
// Chat Completions, Responses and Messages.
func (p program) geminiSim(ctx context.Context, args []string) int {
	l := settings.Loader()
	path := l.String("script", "", "answer from this script instead of as the offline model")
	directives := l.String("directives", "", "answer requests under /v1 by the directives in this file (one request alone: by its header X-Modelsim)")
	pace := l.Duration("pace", providers.OfflinePace, "pause between the chunks of the offline model")
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	sim := geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), Pace: *pace, FirstDelay: providers.OfflineFirst, Foreign: true}
	if sim.Script, ok = scriptOf(p, "--script", *path, geminisim.ParseScript); !ok {
		return exitUsage
	}
	others := modelsim.Config{Model: offline.Model{}, Roles: offline.Roles(), Pace: *pace, FirstDelay: providers.OfflineFirst}
	if others.Script, ok = scriptOf(p, "--directives", *directives, modelsim.ParseScript); !ok {
		return exitUsage
	}
	mux := http.NewServeMux()
	mux.Handle("/", geminisim.New(sim))
	mux.Handle("/v1/", modelsim.New(others))
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	return p.serveAlone(ctx, config.Of[settings.Process](&cfg).Addr, mux, "Gemini SIMULATOR (not the real API)", "")
}

// untilSignal returns a context that ends with ctx or at the first signal.
//
// The goroutine ends with the returned context, so cancel must be called. Here a second signal is
// without effect.
func (p program) untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// serveAlone serves h until a signal comes, and returns the exit code. It
// prints where it can be reached.
//
// Replies get lastBytes to end; then connections are closed. Only headers have a limit of time, as
// streams are long.
func (p program) serveAlone(ctx context.Context, addr string, h http.Handler, what, path string) int {
	defer process.OutliveReaders()()
	ln, err := process.Listen(ctx, addr)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice: SLUICE_ADDR: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(p.stderr, "%s on http://%s%s\n", what, reachableAddr(ln.Addr().String()), path)
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(ln) }()
	select {
	case err := <-failed:
		fmt.Fprintf(p.stderr, "sluice: %v\n", err)
		return exitFailed
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastBytes)
	defer cancel()
	if s.Shutdown(graceful) != nil {
		_ = s.Close()
	}
	<-failed
	return exitOK
}

// runHealthcheck asks the gateway that listens as configured whether it lives: for
// containers without a shell or curl.
//
// It takes at most three seconds, and looks at the process alone (/healthz): a gateway
// without its upstreams lives.
func (p program) runHealthcheck(ctx context.Context, args []string) int {
	cfg, code, ok := p.loadConfig(settings.LoaderOfClient(new(settings.File)), args)
	if !ok {
		return code
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	own, scheme, client := config.Of[settings.Process](&cfg), "http://", http.DefaultClient
	if own.TLS.On() {
		// The certificate has the names that others know. The process on this machine is reached by
		// another name, and the request is not secret.
		unproved := &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- see above
		scheme, client = "https://", &http.Client{Transport: &http.Transport{TLSClientConfig: unproved}}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+reachableAddr(own.Addr)+"/healthz", nil)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice healthcheck: %v\n", err)
		return exitFailed
	}
	req.Close = true
	resp, err := client.Do(req)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice healthcheck: %v\n", err)
		return exitFailed
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintf(p.stderr, "sluice healthcheck: status %d\n", resp.StatusCode)
		return exitFailed
	}
	return exitOK
}
