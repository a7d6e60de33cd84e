// This file wires questions to people: whether any can come up, which keys sign the tokens
// of paused turns, and how the states of agents, teams and workflows nest within one token.
// The rules of approval are in package approval.

package gateway

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/approval"
	"sluice/internal/engine/router"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/servers"
	"sluice/stream"
)

// openApprovals makes what asks people, if anybody is to be asked.
//
// Without keys and without a store a random key is used, so that tokens end with the
// process; the log says so. A life that is too long for
// there being no store is a *config.Error.
func (g *Gateway) openApprovals() error {
	if !g.confirms() && !g.mayWait() && !g.state.hasTakeover() {
		return nil
	}
	cfg := settings.Of[approval.Config](&g.cfg)
	cfg.FourEyes = g.cfg.Auth.FourEyes
	cfg.Tools, cfg.Problems, cfg.Readable, cfg.Valid, cfg.Metrics = g.tools.toolsOf(toolsOfAsking, g.tools.client).Tools, g.tools.client.Problems, readable, misfits, g.metrics
	if g.state != nil {
		cfg.Store = g.state.store
		cfg.Crowded = func(ctx context.Context, req *chat.Request) (bool, error) {
			return records.Crowded(ctx, g.state.store, req)
		}
	} else if cfg.TTL > approval.MaxTTL {
		return &config.Error{Faults: []config.Fault{{Name: "SLUICE_APPROVAL_TTL", Message: "must be at most 24h without a store (SLUICE_STORE)"}}}
	}
	if cfg.Store == nil && len(cfg.Keys) == 0 {
		g.log.Warn().Dict("details", zerolog.Dict().Str("setting", "SLUICE_APPROVAL_KEY").
			Str("message", "tokens are good at this process only, until it ends")).Msg("approval_key_random")
	}
	g.approvals = approval.New(cfg)
	return nil
}

// confirms says whether any call may need a person.
//
// If it is false a turn pays nothing for questions: no runner stands around it.
func (g *Gateway) confirms() bool {
	if mode := settings.Of[approval.Config](&g.cfg).Mode; mode != "" && mode != approval.Off {
		return true
	}
	for _, s := range config.Of[servers.List](&g.cfg.Config) {
		for _, how := range s.Confirm {
			if how == tool.ConfirmAlways {
				return true
			}
		}
	}
	return false
}

// misfits says what is wrong with what a person has filled in. A schema that cannot be used
// was a fault of the file, so it lets nothing through.
//
// The list is empty if value is right. schema is that of a human node, value what came from
// outside.
func misfits(schema, value jsontext.Value) []tool.Problem {
	s, _, err := tool.Compile(schema, tool.Room)
	if err != nil {
		return []tool.Problem{{Rule: "cannot be checked: its schema cannot be used"}}
	}
	in, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []tool.Problem{{Rule: "is not JSON"}}
	}
	problems, err := s.Problems(context.Background(), in) // bounded by the work of a check
	if err != nil {
		return []tool.Problem{{Rule: "cannot be checked: it is nested too deeply, or its check takes too long"}}
	}
	return problems
}

// hold returns what says that a call must wait for a person; nil: none must.
func (g *Gateway) hold() func(tool.Call, *tool.Spec) bool {
	if !g.confirms() {
		return nil
	}
	return settings.Of[approval.Config](&g.cfg).Mode.Holds
}

// asking returns r with questions to people, if there are any.
func (g *Gateway) asking(r stream.Runner) stream.Runner {
	if !g.confirms() {
		return r
	}
	return g.alwaysAsking(r)
}

// alwaysAsking is for what can ask whatever the setting says, such as workflows.
func (g *Gateway) alwaysAsking(r stream.Runner) stream.Runner {
	return approval.Runner{Runner: r, Service: g.approvals}
}

// readable says why a turn that waits cannot continue here; nil: it can.
//
// It is asked when an answer comes, before the token is used up, so that the person learns
// of it at once.
func readable(p *run.Paused) error {
	switch p.Kind {
	case chat.PausedAgent:
		return delegate.Readable(p)
	case chat.PausedTeam:
		return router.Readable(p, readable)
	case chat.PausedWorkflow:
		_, err := engine.ReadHeader(p)
		return err
	}
	return fmt.Errorf("nobody knows how to go on with the state of %q", p.Kind)
}
