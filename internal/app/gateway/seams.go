// This file has the seams: the places where a test puts its own transport, runner or store
// in place of the real one, and where a recorded turn gets its tape.

package gateway

import (
	"context"
	"net/http"

	"sluice/handlers"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/edge/dialect"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
	"sluice/mcpclient"
	"sluice/stream"
)

// Seams are the places for a test's own connections and parts. In fake time a test cannot wait on
// sockets. The zero value is that of a running process.
type Seams struct {
	Gemini  http.RoundTripper
	Servers []mcpclient.Server // on top of the configured ones
	// Runner returns the runner that answers requests. nil: the agent itself.
	Runner func(*agent.Agent) stream.Runner
	Agents http.RoundTripper // to remote agents
	// Store is used in place of the configured one. nil: that.
	Store store.Store
	// Door asks who sends a request, in place of the configured one. nil: that.
	Door handlers.Door
	// Tracer begins spans in place of what sends them. nil: that.
	Tracer trace.Tracer
	// Dialect wraps each protocol. nil: nothing does.
	Dialect func(dialect.Dialect) dialect.Dialect
	// Tape stands in front of all upstreams, also where a recorded turn is run again. nil:
	// nothing does.
	Tape Tape
}

// wrapRunner returns the agent, behind the runner of a test if there is one.
func (s Seams) wrapRunner(a *agent.Agent) stream.Runner {
	if s.Runner == nil {
		return a
	}
	return s.Runner(a)
}

// withBudget returns the runner of an agent, with a bound on the tokens of a turn. 0 turns it off.
func (s Seams) withBudget(tokens int, a *agent.Agent) stream.Runner {
	if tokens == 0 {
		return s.wrapRunner(a)
	}
	return model.Budgeted{Runner: s.wrapRunner(a), Tokens: tokens}
}

// wrapDialects returns the list, each replaced if a test wants that.
func (s Seams) wrapDialects(list ...dialect.Dialect) []dialect.Dialect {
	if s.Dialect != nil {
		for i := range list {
			list[i] = s.Dialect(list[i])
		}
	}
	return list
}

// Tape stands between the gateway and the upstreams of a turn: a recording.Recorder writes the
// answers down, a recording.Player replays them. Without a tape, a turn does not pass this code at
// all.
type Tape interface {
	// Around returns the transport to use in place of next. If why is not empty, turns that use it
	// cannot be run again.
	Around(next http.RoundTripper, why string) http.RoundTripper
	// Tools returns the tools to use in place of an owner's.
	Tools(of string, next recording.Tools) recording.Tools
	// Named returns the name of a server's tool. It may call ask for the name.
	Named(ctx context.Context, server, name string, ask func() string) string
}
