// This file puts the cache of tools' results around tools, and passes to tools for whom they
// are called. Both cost a turn nothing if no server asks for them.

package gateway

import (
	"context"

	"sluice/internal/base/config"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/toolcache"
	"sluice/internal/turn/chat"
	"sluice/mcpclient"
	"sluice/mcpclient/servers"
	"sluice/stream"
)

// The owner of tools that belong to no agent.
const (
	toolsOfNodes   = "(workflow)"
	toolsOfPlanner = "(planner)"
	toolsOfAsking  = "(approvals)"
)

// openCache makes the cache of tools' results, if a server has tools whose results are
// kept: in the store, or in this process if there is none.
func (g *Gateway) openCache() {
	for _, s := range g.servers() {
		if len(s.Policy.Cache) > 0 {
			var keeper toolcache.Keeper
			if g.state != nil {
				keeper = g.state.store
			}
			g.cache = toolcache.New(keeper, g.metrics)
			return
		}
	}
}

// servers returns all MCP servers, as far as their policies go.
//
// Each call makes another list, with breakers that nobody uses: it is asked while the
// gateway starts.
func (g *Gateway) servers() []mcpclient.Server {
	all := g.seams.Servers
	for _, s := range config.Of[servers.List](&g.cfg.Config) {
		all = append(all[:len(all):len(all)], g.mcpServer(s))
	}
	return all
}

// cached returns the tools of a source as agents are given them.
func (g *Gateway) cached(s toolcache.Source) agent.Tools {
	if g.cache == nil {
		return s
	}
	return g.cache.Around(s)
}

// toolsOf returns the tools of a source as somebody is given them.
func (g *Gateway) toolsOf(of string, s toolcache.Source) agent.Tools {
	if g.tape.tape == nil {
		return g.cached(s)
	}
	return g.tape.tape.Tools(of, g.cached(s))
}

// named returns the name of a server's tool.
func (g *Gateway) named(ctx context.Context, server, name string) string {
	if g.tape.tape == nil {
		return g.tools.Named(ctx, server, name)
	}
	return g.tape.tape.Named(ctx, server, name, func() string { return g.tools.Named(ctx, server, name) })
}

// identified passes to the tools for whom a turn is run, if there is one that asks.
func (g *Gateway) identified(r stream.Runner) stream.Runner {
	if g.cache != nil || g.asksWho() {
		return forCaller{r}
	}
	for _, s := range g.servers() {
		if s.Identity {
			return forCaller{r}
		}
	}
	return r
}

// forCaller runs turns whose tools know for whom they are called.
type forCaller struct{ stream.Runner }

// Run implements stream.Runner.
func (r forCaller) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	turn := chat.TurnOf(ctx)
	turn.Caller = req.Caller()
	return r.Runner.Run(chat.WithTurn(ctx, turn), req, sink)
}
