package quality

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// askPlanner begins to ask.
func (t *turn) askPlanner() *planning {
	ctx, cancel := t.questionContext()
	p := &planning{cancel: cancel, ready: make(chan *plan, 1)}
	q := planQuestion{checker: t.Checker, req: t.req, set: &t.set, channel: t.channel}
	// Goroutine (planner): asks the model for criteria of an answer's checks while the agents
	// begin.
	// Ends: the answer is there, or its context ends.
	// Waits: nobody: `ready` has room for its result.
	go func() {
		defer func() {
			if v := recover(); v != nil {
				p.ready <- &plan{err: stream.NewPanic(v)}
			}
		}()
		p.ready <- q.askModel(ctx)
	}()
	return p
}

// awaitPlan waits for the planner.
func (t *turn) awaitPlan() {
	if !t.awaitsPlan() {
		return
	}
	t.sink.Flush()
	p := t.planning.awaitResult()
	t.plan = p
	t.costs.ms.Plan = p.elapsed.Milliseconds()
	t.countCall(p.usage, p.elapsed)
	t.counts().observe("plan", p.elapsed)
	t.logInteraction("planner", "plan", p.elapsed, p.err, logged{"question": openText(t.req.Input)},
		logged{"steps": len(p.steps), "criteria": len(p.criteria), "dropped": p.dropped, "plan": p})
	if p.err != nil && t.set.Mode == modeEnforce && t.ctx.Err() == nil {
		t.warn(fault.QualityUnavailable, unavailableMessage)
	}
}

// allSteps returns the planner's steps, and behind them those of this package, which run
// in every turn.
func (t *turn) allSteps() []step {
	none := jsontext.Value("{}")
	var all []step
	if t.plan != nil {
		all = slices.Clone(t.plan.steps)
	}
	channel, _ := json.Marshal(map[string]string{"channel": t.channel})
	all = append(all, step{"composer", "compose_response", none}, step{"channel", "format_for_channel", channel}, step{"quality", "validate", none})
	if t.req.Deliver {
		all = append(all, step{"sender", "send", channel})
	}
	return all
}

// executionPlan returns the plan as it is reported and kept.
func (t *turn) executionPlan(status string) jsontext.Value {
	text, _ := json.Marshal(struct {
		RequestID    string            `json:"request_id"`
		UserMessage  string            `json:"user_message"`
		Channel      string            `json:"channel"`
		Steps        []step            `json:"steps"`
		RequiresData bool              `json:"requires_data"`
		Context      map[string]string `json:"context"`
		CreatedAt    string            `json:"created_at"`
		Status       string            `json:"status"`
	}{
		chat.RequestID(t.ctx), t.req.Input, t.channel, t.allSteps(), t.plan != nil && t.plan.requiresData, t.clientContext(), formatTime(t.start), status,
	}, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	return text
}

// clientContext returns the context that the client has sent with the request.
func (t *turn) clientContext() map[string]string {
	all := map[string]string{}
	for _, e := range t.req.Context {
		all[e.Name] = e.Value
	}
	return all
}
