// This file puts the tape of a recording between the gateway and everything outside of a
// turn: transports, tools, names of tools. The same seams serve to run a recorded turn
// again with what was recorded. Without a tape each of these functions returns what it was
// given.

package gateway

import (
	"context"
	"net/http"

	"sluice/internal/app/settings"
	"sluice/internal/base/redact"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/toolcache"
	"sluice/internal/state/task/recording"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Tape stands between the gateway and what it asks during a turn: a recording.Recorder
// writes down what comes, a recording.Player gives what came. A gateway without one has no
// part of this on the way of a turn.
type Tape interface {
	// Around returns what is used in place of a transport. If why is not empty, turns that use
	// it cannot be run again.
	Around(next http.RoundTripper, why string) http.RoundTripper
	// Tools returns what is used in place of the tools of somebody.
	Tools(of string, next recording.Tools) recording.Tools
	// Named returns the name of a server's tool, for which it may ask.
	Named(ctx context.Context, server, name string, ask func() string) string
}

// The owner of tools that belong to no agent.
const (
	toolsOfNodes   = "(workflow)"
	toolsOfPlanner = "(planner)"
	toolsOfAsking  = "(approvals)"
)

// openTape begins to record, if that is asked for.
//
// A tape that was given (to run again) wins over the setting.
func (g *Gateway) openTape() {
	g.tape = g.with.Tape
	cfg := settings.Of[recording.Config](&g.cfg)
	if cfg.Dir == "" || g.tape != nil {
		return
	}
	cfg.Version, cfg.Hide, cfg.Log = g.cfg.Version, redact.New(g.cfg.Secrets()).JSON, g.log
	g.recorder = recording.New(cfg)
	g.tape = g.recorder
	g.with.Tape = g.tape
}

// taped returns what is used in place of a transport; own makes the one that would be.
//
// next nil means that the package would make its own transport; own makes the same one for
// the tape to stand in front of.
func (s Seams) taped(next http.RoundTripper, own func() http.RoundTripper, why string) http.RoundTripper {
	if s.Tape == nil {
		return next
	}
	if next == nil {
		next = own()
	}
	return s.Tape.Around(next, why)
}

// toolsOf returns the tools of a source as somebody is given them.
func (g *Gateway) toolsOf(of string, s toolcache.Source) agent.Tools {
	if g.tape == nil {
		return g.cached(s)
	}
	return g.tape.Tools(of, g.cached(s))
}

// named returns the name of a server's tool.
func (g *Gateway) named(ctx context.Context, server, name string) string {
	if g.tape == nil {
		return g.tools.Named(ctx, server, name)
	}
	return g.tape.Named(ctx, server, name, func() string { return g.tools.Named(ctx, server, name) })
}

// recorded returns r with what says that a request runs a turn.
func (g *Gateway) recorded(r stream.Runner) stream.Runner {
	if g.recorder == nil {
		return r
	}
	return recordedRunner{r}
}

// recordedRunner notifies the recorder when a request becomes a turn, which most requests of a
// server do not.
type recordedRunner struct{ stream.Runner }

// Run implements stream.Runner.
func (r recordedRunner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	recording.From(ctx).Begin(continues(req))
	return r.Runner.Run(ctx, req, sink)
}

// continues says what a turn continues with that a store or a token has kept; empty: nothing.
//
// Such a turn can be played but not run again: what it continues with is not in the recording.
func continues(req *chat.Request) string {
	switch {
	case req.Resumed != nil:
		return "a turn that was paused"
	case req.Question != nil:
		return "a question of an earlier turn"
	case req.LastAgent != "":
		return "what is known of an earlier turn"
	case len(req.History) > 0 && !req.HasHistory:
		return "the memory of the conversation"
	}
	return ""
}

// handler is what answers requests: the server, behind what records its turns.
func (g *Gateway) handler() http.Handler {
	if g.recorder == nil {
		return g.server
	}
	return g.recorder.Handler(g.server, g.state != nil)
}
