// This file wires questions to people: whether any can come up, which keys sign the tokens
// of paused turns, and how the states of agents, teams and workflows nest within one token.
// The rules of approval are in package approval.

package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/agent"
	"sluice/approval"
	"sluice/chat"
	"sluice/config"
	"sluice/delegate"
	"sluice/internal/settings"
	"sluice/mcpclient/servers"
	"sluice/router"
	"sluice/stream"
	"sluice/tool"
)

// openApprovals makes what asks people, if anybody is to be asked.
//
// Without keys and without a store a random key is used, so that tokens end with the
// process; the log says so. A life that is too long for
// there being no store is a *config.Error.
func (g *Gateway) openApprovals() error {
	if !g.confirms() && !g.mayWait() {
		return nil
	}
	cfg := settings.Of[approval.Config](&g.cfg)
	cfg.Tools, cfg.Problems, cfg.Readable, cfg.Valid, cfg.Metrics = g.toolsOf(toolsOfAsking, g.tools).Tools, g.problems, readable, misfits, g.metrics
	if g.state != nil {
		cfg.Store = g.state.store
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

// problems says what is wrong with the arguments of a call.
func (g *Gateway) problems(ctx context.Context, name string, args jsontext.Value) []tool.Problem {
	return g.tools.Problems(ctx, name, args)
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

// readable says why the state of a paused turn cannot go on here.
//
// It is asked when an answer comes, before the token is used up, so that the person learns
// of it at once. nil: it can.
func readable(by string, state []byte) error {
	switch by {
	case chat.PausedAgent:
		return delegate.Readable(state)
	case chat.PausedTeam:
		var s teamState
		if err := json.Unmarshal(state, &s); err != nil {
			return err
		}
		return router.Readable(s.Team, readable)
	case chat.PausedWorkflow:
		_, err := readRun(state)
		return err
	}
	return fmt.Errorf("nobody knows how to go on with the state of %q", by)
}

// teamState is a team that waits, with what its agents know of one another's calls.
//
// It is what stands in a token of a team; its JSON is a stored form, since tokens outlive a
// release.
type teamState struct {
	Team   json.RawMessage `json:"team"`
	Shared json.RawMessage `json:"shared,omitempty"`
	Begun  int64           `json:"begun,omitempty"` // sessions of delegates
}

// begunBefore returns how many sessions of delegates a turn had begun before it was paused.
func begunBefore(req *chat.Request) int64 {
	var s teamState
	if req.Resumed == nil || json.Unmarshal(req.Resumed.State, &s) != nil { // the turn itself says so
		return 0
	}
	return s.Begun
}

// withShared returns the context of a team's turn, and the request as the team itself
// takes it.
//
// req itself stays as it is: it is the caller's, and its memory keeps it.
func withShared(ctx context.Context, req *chat.Request) (context.Context, *chat.Request, error) {
	if req.Resumed == nil {
		return agent.WithShared(ctx), req, nil
	}
	var s teamState
	if err := json.Unmarshal(req.Resumed.State, &s); err != nil {
		return nil, nil, err
	}
	ctx, err := agent.WithSharedState(ctx, s.Shared)
	if err != nil {
		return nil, nil, err
	}
	own, resumed := *req, *req.Resumed
	resumed.State = s.Team
	own.Resumed = &resumed
	return ctx, &own, nil
}

// sharing returns a context in which what a team pauses with holds what its agents share.
//
// Where no turn can pause the context is the same.
func sharing(ctx context.Context) context.Context {
	if !stream.CanPause(ctx) {
		return ctx
	}
	outer := ctx
	return stream.WithPauses(ctx, func(p *chat.Paused) string {
		state, err := json.Marshal(teamState{p.State, agent.SharedState(outer), delegate.Begun(outer)})
		if err != nil {
			return stream.NobodyToAsk
		}
		p.State = state
		return stream.Pause(outer, p)
	})
}
