package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/agent"
	"sluice/breaker"
	"sluice/config"
	"sluice/gemini"
	"sluice/handlers"
	"sluice/internal/geminisim"
	"sluice/internal/offline"
	"sluice/internal/todo"
	"sluice/mcpclient"
	"sluice/web"
)

const (
	offlineModel = offline.Version
	// The offline model answers at about the speed of the real one.
	offlineFirst = 150 * time.Millisecond
	offlinePace  = 35 * time.Millisecond

	builtinTodo = "todo"
)

// gateway is all that a running process holds, wired together.
type gateway struct {
	cfg     config.Config
	log     zerolog.Logger
	server  *handlers.Server
	model   *gemini.Model
	tools   *mcpclient.Client
	offline *http.Server // nil unless the offline model is used
	todos   *todo.Store  // nil unless the built-in todo server is used
	with    seams
}

// seams are where a test, which cannot wait on sockets in fake time, puts its own
// connections. The zero value is what a running process uses.
type seams struct {
	gemini  http.RoundTripper
	servers []mcpclient.Server // on top of the configured ones
}

// newGateway starts everything behind the HTTP server. ctx is the process's
// lifetime: children and sessions end with it. The caller must call close.
func newGateway(ctx context.Context, cfg config.Config, log zerolog.Logger, with seams) (_ *gateway, err error) {
	g := &gateway{cfg: cfg, log: processLogger(log), with: with}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if cfg.Offline() {
		if err := g.startOffline(ctx); err != nil {
			return nil, err
		}
	}
	if err := g.connectTools(ctx); err != nil {
		return nil, err
	}
	// The server counts model attempts, and the model comes before the server.
	var observe func(string, time.Duration)
	if err := g.connectModel(func(outcome string, took time.Duration) { observe(outcome, took) }); err != nil {
		return nil, err
	}
	g.server = handlers.NewServer(handlers.Config{
		Runner: agent.New(agent.Config{
			Model:       g.model,
			Tools:       g.tools,
			Prompt:      cfg.SystemPrompt,
			Location:    cfg.Timezone,
			Timeout:     cfg.RequestTimeout,
			MaxSteps:    cfg.MaxSteps,
			LogPayloads: cfg.LogPayloads,
		}),
		Tools:        g.tools.Tools,
		Upstreams:    g.upstreams,
		Dialects:     map[string]handlers.Dialect{"/chatkit": newChatKit(cfg.ChatKitHistory)},
		Page:         web.Files(),
		Heartbeat:    cfg.Heartbeat,
		WriteTimeout: cfg.WriteTimeout,
		MaxStreams:   cfg.MaxStreams,
		Origins:      cfg.CORSOrigins,
		Log:          log,
	})
	observe = g.server.ObserveModelAttempt
	return g, nil
}

// startOffline serves the simulator over loopback HTTP, so that the whole real
// path runs, and points the configuration at it.
func (g *gateway) startOffline(ctx context.Context) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("offline model: %w", err)
	}
	g.offline = &http.Server{
		Handler:           geminisim.New(geminisim.Config{Model: offline.Model{}, Pace: offlinePace, FirstDelay: offlineFirst}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = g.offline.Serve(ln) }() // ends with close
	g.cfg.GeminiBaseURL = "http://" + ln.Addr().String()
	g.cfg.GeminiModel = offlineModel
	return nil
}

func (g *gateway) connectModel(onAttempt func(string, time.Duration)) (err error) {
	open := gemini.NewREST
	if g.cfg.GeminiDriver == "sdk" {
		open = gemini.NewSDK
	}
	g.model, err = open(gemini.Config{
		APIKey:    g.cfg.GeminiAPIKey.Reveal(),
		Model:     g.cfg.GeminiModel,
		BaseURL:   g.cfg.GeminiBaseURL,
		Thinking:  g.cfg.GeminiThinking,
		Timeout:   g.cfg.ModelTimeout,
		Breaker:   g.breaker("gemini", g.cfg.GeminiBreaker),
		Transport: g.with.gemini,
		Version:   version,
		OnAttempt: onAttempt,
	})
	return err
}

func (g *gateway) connectTools(ctx context.Context) (err error) {
	servers := slices.Clone(g.with.servers)
	for _, s := range g.cfg.MCPServers {
		servers = append(servers, g.mcpServer(s))
	}
	if len(servers) == 0 {
		g.todos, err = todo.Open(ctx, todo.Config{Path: g.cfg.TodoDB, Location: g.cfg.Timezone})
		if err != nil {
			return fmt.Errorf("built-in todo server (SLUICE_TODO_DB): %w", err)
		}
		servers = append(servers, mcpclient.Server{
			Name:      builtinTodo,
			Transport: "inprocess",
			InProcess: todo.NewServer(g.todos, version),
			Breaker:   g.breaker("mcp:"+builtinTodo, g.cfg.MCPBreaker),
		})
	}
	g.tools, err = mcpclient.New(mcpclient.Config{
		Servers: servers,
		Log:     g.log,
		Version: version,
		Timeout: g.cfg.ToolTimeout,
		BaseEnv: g.cfg.ChildEnv,
	})
	if err != nil {
		return &config.Error{Faults: []config.Fault{{Name: "MCP_CONFIG", Message: err.Error()}}}
	}
	g.tools.Start(ctx)
	return nil
}

func (g *gateway) mcpServer(s config.MCPServer) mcpclient.Server {
	return mcpclient.Server{
		Name:            s.Name,
		Transport:       mcpclient.Transport(s.Transport),
		URL:             s.URL,
		Headers:         reveal(s.Headers),
		Command:         s.Command,
		Args:            s.Args,
		Env:             reveal(s.Env),
		Dir:             s.Dir,
		Timeout:         s.Timeout,
		ProtocolVersion: s.ProtocolVersion,
		Allow:           s.Allow,
		Deny:            s.Deny,
		Policy: mcpclient.Policy{
			ReadOnly: s.ReadOnly, Idempotent: s.Idempotent, Destructive: s.Destructive,
			Untrusted: s.Untrusted, Fallback: s.Fallback,
		},
		Breaker: g.breaker("mcp:"+s.Name, g.cfg.MCPBreaker),
	}
}

func reveal(secrets map[string]config.Secret) map[string]string {
	plain := make(map[string]string, len(secrets))
	for k, v := range secrets {
		plain[k] = v.Reveal()
	}
	return plain
}

func (g *gateway) breaker(service string, b config.Breaker) *breaker.Breaker {
	return breaker.New(breaker.Config{
		Service:       service,
		Failures:      uint32(b.Failures),
		Recovery:      b.Recovery,
		HalfOpenCalls: uint32(b.HalfOpenCalls),
		Log:           g.log,
	})
}

// upstreams reports for /readyz and /metrics.
func (g *gateway) upstreams() handlers.Upstreams {
	u := handlers.Upstreams{Model: g.model.Name()}
	for _, b := range append([]*breaker.Breaker{g.model.Breaker()}, g.tools.Breakers()...) {
		s := b.Snapshot()
		u.Breakers = append(u.Breakers, handlers.Breaker{
			Service: s.Service, State: string(s.State), FailureCount: int(s.FailureCount), RetryAfter: s.RetryAfter,
		})
	}
	for _, s := range g.tools.Status() {
		u.MCP = append(u.MCP, handlers.MCPServer{Server: s.Server, Connected: s.Connected, Tools: s.Tools})
	}
	return u
}

// close ends everything behind the server; no stream may run any more.
func (g *gateway) close() {
	if g.model != nil {
		g.model.Close()
	}
	if g.tools != nil {
		_ = g.tools.Close()
	}
	if g.todos != nil {
		_ = g.todos.Close()
	}
	if g.offline != nil {
		_ = g.offline.Close()
	}
}
