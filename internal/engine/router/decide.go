// This file decides which agents answer a request. The ways are tried in a fixed order, the certain
// and cheap ones first. They are the agent that the request names, the agent whose question it
// answers, and the one that keeps the conversation. A rule and the only agent follow; a model is
// asked last. A decision never fails as a Go error: the failure is in decision.err, and the request
// falls back.

package router

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// How a decision was made: Route.Method.
const (
	methodRequested = "requested"
	methodSticky    = "sticky"
	methodHold      = "hold"
	methodRule      = "rule"
	methodOnly      = "only_agent"
	methodFirst     = "first"
	methodNone      = "none"
	methodModel     = "model"
)

// Reasons for a fallback, in the words of the contract.
const (
	reasonNoAgents   = "No registered agents available for routing."
	reasonUnreadable = "No readable answer."
)

// maxReasoning is how many code points of a model's reasoning are reported.
const maxReasoning = 500

// patience is how long a request waits for its turn to be routed.
const patience = time.Second

// decision is what becomes of a request.
//
// It belongs to the turn that asked for it. confidence is from 0 to 1, and 1 where no model
// was asked.
type decision struct {
	// kind says which of the fields below count: agents if it is Routed.
	kind       stream.Decision
	agents     []*Agent // those that answer, the primary first; empty unless routed
	confidence float64
	reasoning  string
	method     string
	// reply is the model's, if one was asked; took is how long all of it
	// lasted.
	reply   Reply
	elapsed time.Duration
	// err is why routing failed; nil: it did not.
	err *fault.Error
}

// decideRoute decides which agents answer a request.
//
// An agent that the request names is chosen also if it is hidden or unavailable; its run
// then says so. All other ways look only at agents that are available.
func (t *Team) decideRoute(ctx context.Context, req *chat.Request) decision {
	if d, ok := t.decideByRules(req); ok {
		return d
	}
	agents := t.routableAgents()
	switch {
	case len(agents) == 0:
		return decision{kind: stream.FellBack, method: methodNone, reasoning: reasonNoAgents,
			err: &fault.Error{Type: fault.AgentUnavailable, Message: "No agent is available", Err: errors.New("no agent can be chosen")}}
	case len(agents) == 1:
		return certainDecision(methodOnly, agents[0])
	case t.cfg.Off:
		return certainDecision(methodFirst, agents[0])
	}
	d := t.askModel(ctx, req, agents)
	if d.kind == stream.Clarified && inARow(req) >= t.cfg.MaxClarifications {
		d.kind, d.agents = stream.FellBack, nil
	}
	return d
}

// decideByRules decides by the request, the earlier conversation, and the rules.
func (t *Team) decideByRules(req *chat.Request) (d decision, ok bool) {
	if a := t.byID[req.Agent]; a != nil {
		return certainDecision(methodRequested, a), true
	}
	if a := t.askingAgent(req); a != nil {
		return certainDecision(methodSticky, a), true
	}
	if a := t.heldAgent(req); a != nil {
		return certainDecision(methodHold, a), true
	}
	if agents := t.byRule(req.Words()); len(agents) > 0 {
		return certainDecision(methodRule, agents...), true
	}
	return d, false
}

// inARow is how many questions of the router the user has been asked about the request.
func inARow(req *chat.Request) int {
	if req.Question == nil {
		return 0
	}
	return req.Question.InARow
}

// askingAgent returns the agent whose question the request answers; nil: none's.
func (t *Team) askingAgent(req *chat.Request) *Agent {
	if req.Question == nil {
		return nil
	}
	return t.ifAvailable(req.Question.AgentID)
}

// heldAgent returns the agent that keeps the conversation; nil: none does.
func (t *Team) heldAgent(req *chat.Request) *Agent {
	if t.cfg.Sticky != stickyHold {
		return nil
	}
	return t.ifAvailable(req.LastAgent)
}

// ifAvailable returns the agent of an id, or nil if it does not exist or cannot answer now.
func (t *Team) ifAvailable(id string) *Agent {
	if a := t.byID[id]; a != nil && a.isAvailable() {
		return a
	}
	return nil
}

// certainDecision is a decision that no model made: it is certain, and method says whose
// it is.
func certainDecision(method string, agents ...*Agent) decision {
	return decision{kind: stream.Routed, agents: agents, confidence: 1, method: method}
}

// byRule returns the agents of the first rule that matches, as far as they are
// available.
//
// Rules behind the one that matches are not looked at. If none of its agents is available
// nothing is returned, and the next way to decide is tried.
func (t *Team) byRule(input string) (agents []*Agent) {
	for _, r := range t.cfg.Rules {
		if !r.Match.MatchString(input) {
			continue
		}
		for _, id := range r.Agents {
			if a := t.byID[id]; a != nil && a.isAvailable() {
				agents = append(agents, a)
			}
		}
		return agents[:min(len(agents), t.cfg.Dispatch.MaxAgents)]
	}
	return nil
}

// routableAgents returns the agents that a model may choose. The agents for questions and for
// fallbacks are chosen in other ways.
func (t *Team) routableAgents() (agents []*Agent) {
	for i := range t.cfg.Agents {
		a := &t.cfg.Agents[i]
		if !a.Hidden && !t.isSpecial(a.ID) && a.isAvailable() {
			agents = append(agents, a)
		}
	}
	return agents
}

// isSpecial reports whether an id stands for no agent, but for a question or for
// nobody.
func (t *Team) isSpecial(id string) bool {
	return id == t.cfg.ClarificationAgent || id == t.cfg.FallbackAgent
}

// askModel lets the model decide, and a second one if the first is unsure.
//
// The usage of both answers is added up. An unsure answer is the only one that is asked
// about again; a failure is not.
func (t *Team) askModel(ctx context.Context, req *chat.Request, agents []*Agent) decision {
	q := t.routingQuestion(req, agents)
	d := t.askOnce(ctx, q, agents)
	if d.kind != stream.Clarified || t.cfg.Escalate == "" {
		return d
	}
	q.Model = t.cfg.Escalate
	second := t.askOnce(ctx, q, agents)
	second.reply.Usage.Add(d.reply.Usage)
	second.reply.Attempts += d.reply.Attempts
	second.reply.Unreadable += d.reply.Unreadable
	if second.err != nil { // an unsure answer is better than none
		d.reply.Usage, d.reply.Attempts, d.reply.Unreadable = second.reply.Usage, second.reply.Attempts, second.reply.Unreadable
		return d
	}
	return second
}

// askOnce asks the router's model once. Places bound how many decisions are asked for at a time, of
// all turns together. A turn waits for a place within its own time.
func (t *Team) askOnce(ctx context.Context, q *Question, agents []*Agent) decision {
	if err := t.acquireSlot(ctx); err != nil {
		return t.failedDecision(ctx, err, Reply{})
	}
	defer func() { <-t.places }()
	ctx, cancel := context.WithTimeoutCause(ctx, t.cfg.Timeout, &fault.Error{
		Type: fault.Timeout, Message: "Routing took too long",
	})
	defer cancel()
	reply, err := t.cfg.Asker.Ask(ctx, q)
	if err != nil {
		return t.failedDecision(ctx, err, reply)
	}
	return t.judgeReply(reply, agents)
}

// acquireSlot takes a place among the routing calls under way.
//
// It waits patience at most and then returns an overloaded fault. The place is given back
// by the caller.
func (t *Team) acquireSlot(ctx context.Context) error {
	select {
	case t.places <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case t.places <- struct{}{}:
		return nil
	case <-wait.C:
		return fault.NewOverloaded("", errors.New("too many routing calls at once"))
	case <-ctx.Done():
		return fault.Cause(ctx)
	}
}

// failedDecision is the decision when no model decided.
//
// The reply counts although it failed: its tokens were spent.
func (t *Team) failedDecision(ctx context.Context, err error, reply Reply) decision {
	d := decision{kind: stream.FellBack, method: methodModel, reply: reply}
	if errors.Is(err, ErrUnreadable) {
		d.reasoning = reasonUnreadable
		d.err = &fault.Error{Type: fault.RoutingFailed, Message: "The request could not be routed", Err: err}
		return d
	}
	if cause := fault.Cause(ctx); cause != nil {
		err = cause
	}
	d.err = fault.From(err)
	d.reasoning = "Routing failed: " + string(d.err.Type) + "."
	return d
}

// choice is the model's answer.
type choice struct {
	// AgentID may name a question or a fallback instead of an agent.
	AgentID    string   `json:"agentId"`
	Confidence float64  `json:"confidence"`
	Reasoning  string   `json:"reasoning"`
	Additional []string `json:"additionalAgents"`
}

// judgeReply turns a model's answer into a decision.
//
// An id that is not in the catalogue is a failure, and not a guess at the nearest one. The schema
// forbids it, but not every model keeps to a schema.
func (t *Team) judgeReply(reply Reply, agents []*Agent) decision {
	d := decision{method: methodModel, reply: reply}
	var a choice
	if err := json.Unmarshal(reply.JSON, &a); err != nil {
		d.kind, d.reasoning = stream.FellBack, reasonUnreadable
		d.err = &fault.Error{Type: fault.RoutingFailed, Message: "The request could not be routed", Err: err}
		return d
	}
	d.confidence, d.reasoning = a.Confidence, cutText(singleLine(a.Reasoning), maxReasoning)
	primary := findAgent(agents, a.AgentID)
	switch {
	case a.AgentID == t.cfg.FallbackAgent:
		d.kind = stream.FellBack
	case primary == nil:
		d.kind = stream.FellBack
		d.reasoning = "Model suggested unknown agent '" + cutText(singleLine(a.AgentID), 64) + "'."
		d.err = &fault.Error{Type: fault.RoutingFailed, Message: "The request could not be routed", Err: errors.New("unknown agent")}
	case a.Confidence < t.cfg.Threshold:
		d.kind = stream.Clarified
		d.agents = []*Agent{primary} // whom the question is about
	default:
		d.kind = stream.Routed
		d.agents = t.withAdditional(primary, a.Additional, agents)
	}
	return d
}

// withAdditional returns the agents that answer: no agent twice, none that is
// unknown, and no more than may run.
func (t *Team) withAdditional(primary *Agent, ids []string, known []*Agent) []*Agent {
	chosen := []*Agent{primary}
	for _, id := range ids {
		if len(chosen) >= t.cfg.Dispatch.MaxAgents {
			break
		}
		if a := findAgent(known, id); a != nil && !slices.Contains(chosen, a) {
			chosen = append(chosen, a)
		}
	}
	return chosen
}

// findAgent returns the agent of an id, or nil. Catalogues are short.
func findAgent(agents []*Agent, id string) *Agent {
	for _, a := range agents {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// routeEvent returns the event of a decision.
//
// Additional is never nil, as it is a list in JSON.
func (t *Team) routeEvent(d *decision) *stream.Route {
	ev := &stream.Route{
		Decision: d.kind, Additional: []string{}, Confidence: d.confidence, Reasoning: d.reasoning,
		Method: d.method, Attempts: d.reply.Attempts, Millis: d.elapsed.Milliseconds(), Model: d.reply.Model,
	}
	switch d.kind {
	case stream.Routed:
		ev.AgentID = d.agents[0].ID
		for _, a := range d.agents[1:] {
			ev.Additional = append(ev.Additional, a.ID)
		}
	case stream.Clarified:
		ev.AgentID = t.cfg.ClarificationAgent
	case stream.FellBack:
		ev.AgentID = t.cfg.FallbackAgent
	}
	return ev
}

// logDecision writes the line of a decision. The numbers of the events are the contract's.
func (t *Team) logDecision(ctx context.Context, d *decision, ev *stream.Route) {
	log := zerolog.Ctx(ctx)
	switch {
	case d.method == methodNone:
		log.Warn().Dict("details", zerolog.Dict().Int("event_id", 1003)).Msg("routing_no_agents")
	case d.err != nil:
		log.Warn().Dict("details", zerolog.Dict().
			Str("error_type", string(d.err.Type)).Int("attempts", d.reply.Attempts)).Msg("routing_failed")
	case d.kind == stream.Clarified:
		log.Warn().Dict("details", zerolog.Dict().Int("event_id", 1002).
			Str("agent_id", d.agents[0].ID).RawJSON("confidence", []byte(twoDecimals(d.confidence)))).Msg("routing_low_confidence")
	default:
		details := zerolog.Dict().Int("event_id", 1001).
			Str("agent_id", ev.AgentID).RawJSON("confidence", []byte(twoDecimals(d.confidence))).
			Strs("additional_agents", ev.Additional).Str("method", d.method).Int("attempts", d.reply.Attempts)
		if t.cfg.LogPayloads {
			details.Str("reasoning", redact.AllKinds.Payload(ev.Reasoning))
		}
		log.Info().Dict("details", details).Msg("routing_decision")
	}
}

// twoDecimals writes a confidence: more digits would promise a precision that no model has.
func twoDecimals(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
