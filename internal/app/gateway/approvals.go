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

// questionMaker puts questions to people around runners.
type questionMaker struct {
	service *approval.Service // nil if no question can come up
	// hold reports whether a call must wait for a person; it is nil if the settings let every
	// call run.
	hold    func(tool.Call, *tool.Spec) bool
	canWait bool // runs of workflows can wait for people
}

// openQuestions returns the questions to people, with a service if one can come up.
//
// Without keys and without a store a random key is used, so that tokens end with the process, and
// the log has a warning. Without a store a life of tokens above approval.MaxTTL is a *config.Error.
func openQuestions(c *commonParts, s *storedState, tools *serverTools) (*questionMaker, error) {
	q := &questionMaker{canWait: s != nil && c.cfg.HasFile()}
	cfg := settings.Of[approval.Config](&c.cfg)
	if needsPeople(c, cfg.Mode) {
		q.hold = cfg.Mode.Holds
	}
	if q.hold == nil && !q.canWait && !s.hasTakeover() {
		return q, nil
	}
	cfg.FourEyes = c.cfg.Auth.FourEyes
	cfg.Tools, cfg.Problems = tools.toolsOf(toolsOfAsking, tools.client).Tools, tools.client.Problems
	cfg.Readable, cfg.Valid, cfg.Metrics = checkReadable, problemsOf, c.metrics
	if s != nil {
		cfg.Store = s.store
		cfg.Crowded = func(ctx context.Context, req *chat.Request) (bool, error) {
			return records.Crowded(ctx, s.store, req)
		}
	} else if cfg.TTL > approval.MaxTTL {
		return nil, &config.Error{Faults: []config.Fault{{Name: "SLUICE_APPROVAL_TTL", Message: "must be at most 24h without a store (SLUICE_STORE)"}}}
	}
	if cfg.Store == nil && len(cfg.Keys) == 0 {
		c.log.Warn().Dict("details", zerolog.Dict().Str("setting", "SLUICE_APPROVAL_KEY").
			Str("message", "tokens are good at this process only, until it ends")).Msg("approval_key_random")
	}
	q.service = approval.New(cfg)
	return q, nil
}

// needsPeople reports whether any call may need a person. If none may, a turn pays nothing for
// questions: no runner stands around it.
func needsPeople(c *commonParts, mode approval.Mode) bool {
	if mode != "" && mode != approval.Off {
		return true
	}
	for _, s := range config.Of[servers.List](&c.cfg.Config) {
		for _, how := range s.Confirm {
			if how == tool.ConfirmAlways {
				return true
			}
		}
	}
	return false
}

// checkReadable returns the reason why a turn that waits cannot continue here, or nil if it can.
//
// It is asked when an answer comes, before the token is used up, so that the person learns
// of it at once.
func checkReadable(p *run.Paused) error {
	switch p.Kind {
	case chat.PausedAgent:
		return delegate.Readable(p)
	case chat.PausedTeam:
		return router.Readable(p, checkReadable)
	case chat.PausedWorkflow:
		_, err := engine.ReadHeader(p)
		return err
	}
	return fmt.Errorf("nobody knows how to go on with the state of %q", p.Kind)
}

// problemsOf returns the faults of a person's input. A schema that cannot be used was a fault of
// the file, so it lets nothing through.
//
// The list is empty if value is right. schema is that of a human node, and value comes from
// outside.
func problemsOf(schema, value jsontext.Value) []tool.Problem {
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

// withQuestions returns r with questions to people, if a call may need one.
func (q *questionMaker) withQuestions(r stream.Runner) stream.Runner {
	if q.hold == nil {
		return r
	}
	return q.alwaysWithQuestions(r)
}

// withWaiting returns r with questions to people, if runs of workflows can wait: without a store
// no run waits.
func (q *questionMaker) withWaiting(r stream.Runner) stream.Runner {
	if !q.canWait {
		return r
	}
	return q.alwaysWithQuestions(r)
}

// alwaysWithQuestions is for runners that can ask whatever the settings say, such as workflows.
func (q *questionMaker) alwaysWithQuestions(r stream.Runner) stream.Runner {
	return approval.Runner{Runner: r, Service: q.service}
}
