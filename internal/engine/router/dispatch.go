// This file runs the chosen agents and makes one answer of theirs. There are three ways: one agent
// on the goroutine of the turn, several one after the other on that goroutine, and several at once.
// The latter have a goroutine each that puts its events into a queue. In each way a single
// goroutine emits.
//
// An agent that fails is tried again under the rules of turn.retryDelay; the others continue. The
// turn fails only if all of them did.

package router

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// runAgents has the chosen agents answer.
func (r *turn) runAgents(agents []*Agent, req *chat.Request) error {
	if len(agents) == 1 {
		r.planMembers(&member{agent: agents[0], role: stream.RolePrimary, req: req})
		return r.dispatchPlanned()
	}
	r.several, r.chosen = true, len(agents)
	members := make([]*member, len(agents))
	for i, a := range agents {
		role := stream.RoleAdditional
		if i == 0 {
			role = stream.RolePrimary
		}
		members[i] = &member{agent: a, role: role, index: i, req: amongOthers(req, agents, i)}
	}
	r.planMembers(members...)
	return r.dispatchPlanned()
}

// dispatchPlanned runs those of the planned members that have not ended, until all have ended
// or wait for a person.
//
// It comes back to the members that waited if nobody can be asked: their calls were refused
// and they continue.
func (r *turn) dispatchPlanned() error {
	r.saveTeam()
	for {
		r.runPlanned()
		if r.out.Err != nil || r.ctx.Err() != nil {
			r.failWaiting()
		}
		if !r.hasWaiting() {
			return r.finishAnswer()
		}
		if paused, err := r.pauseTeam(); paused {
			return err
		}
	}
}

// runPlanned runs those of the planned members that have not ended.
func (r *turn) runPlanned() {
	switch {
	case !r.several:
		if m := r.planned[0]; !m.ended {
			r.runSingle(m)
		}
	case r.team.cfg.Dispatch.Sequential:
		r.inTurn(r.planned)
	default:
		r.runParallel(r.planned)
	}
}

// amongOthers returns a copy of req for one of several agents. A note names the others by id. Their
// descriptions are data, as they may come from a card.
func amongOthers(req *chat.Request, agents []*Agent, self int) *chat.Request {
	var ids, others []string
	for i, a := range agents {
		if i != self {
			ids, others = append(ids, a.ID), append(others, a.ID+": "+singleLine(a.Description))
		}
	}
	own := *req
	own.Note = "Other agents answer the same request with you, each for its own part: " + strings.Join(ids, ", ") +
		". Do and answer your part only. Do not speak of theirs."
	own.Data = append(slices.Clip(req.Data), chat.Quote{About: "What the other agents do", Text: strings.Join(others, "\n")})
	return &own
}

// runSingle runs the one agent that answers, on the caller's goroutine.
func (r *turn) runSingle(m *member) {
	r.startMember(m)
	r.runAttempts(m)
}

// runAttempts runs a member on the caller's goroutine until it has ended.
//
// The error of the last attempt is the member's.
func (r *turn) runAttempts(m *member) {
	for {
		result, err := m.runAttempt()
		if err != nil {
			if delay, ok := r.retryDelay(m, err); ok && waitFor(m.ctx, delay) {
				r.countResult(m, result)
				r.openRetry(m)
				continue
			}
		}
		r.endMember(m, result, err)
		return
	}
}

// waitFor lets d pass, and says whether there is still somebody to continue for.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// inTurn runs the members one after the other. Each sees the answers before its own.
//
// A member that waits for a person stops the ones behind it, since they would answer
// without its text.
func (r *turn) inTurn(members []*member) {
	for i, m := range members {
		if r.out.Err != nil || r.ctx.Err() != nil {
			return
		}
		if m.ended {
			continue
		}
		if m.attempt == 0 { // else it continues, and has read that
			m.showAnswers(members[:i])
		}
		r.voice.Speaker = i
		r.startMember(m)
		r.runAttempts(m)
		if m.paused != nil {
			return // those after it are to see its answer
		}
	}
}

// showAnswers shows a member the answers of those before it.
func (m *member) showAnswers(before []*member) {
	for _, b := range before {
		if text := strings.Join(b.text, ""); text != "" {
			m.req.Data = append(m.req.Data, chat.Quote{About: "What the agent " + b.agent.ID + " has answered", Text: text})
		}
	}
}

// runParallel runs the members at the same time. Their goroutines hand what happens to
// this one, which alone emits: a slow client holds back no agent's tools.
//
// It returns when all goroutines have ended, also after an error of the sink: then they are
// cancelled first. Ends of attempts are never refused by the queue.
func (r *turn) runParallel(members []*member) {
	c := &chorus{turn: r, q: run.NewQueue[*member]()}
	defer c.running.Wait()
	for _, m := range members {
		if m.ended {
			continue
		}
		c.open++
		m.queue = c.q
		r.startMember(m)
		stop := context.AfterFunc(m.ctx, c.q.Wake)
		defer stop()
		c.launchAttempt(m, 0)
	}
	for c.open > 0 {
		for _, it := range c.q.Receive() {
			if it.End != nil {
				it.End()
			} else {
				r.passItem(&it)
			}
		}
		r.out.Flush()
		if r.out.Err != nil { // nobody listens any more
			c.q.Close(r.out.Err)
			for _, m := range members {
				m.cancel()
			}
		}
	}
}

// chorus is members that run at the same time.
type chorus struct {
	*turn
	q       *run.Queue[*member]
	running sync.WaitGroup
	open    int // members that have not ended; the turn's goroutine counts them
}

// launchAttempt makes an attempt of a member on a goroutine of its own, after a delay.
func (c *chorus) launchAttempt(m *member, delay time.Duration) {
	// Goroutine (member of a team): runs the agent and puts its events into a queue; the turn's
	// goroutine emits them.
	// Ends: the agent's turn is over.
	// Waits: runParallel, on each way out.
	c.running.Go(func() {
		result, err := stream.Result{}, error(nil)
		if delay > 0 && !waitFor(m.ctx, delay) {
			err = fault.Cause(m.ctx)
		} else {
			result, err = m.runAttempt()
		}
		c.q.End(func() { c.endAttempt(m, result, err) })
	})
}

// endAttempt is the end of an attempt: another one follows, or it is the member's own.
func (c *chorus) endAttempt(m *member, result stream.Result, err error) {
	if delay, ok := c.tryRetry(m, result, err); ok {
		c.launchAttempt(m, delay)
		return
	}
	c.endMember(m, result, err)
	c.voice.Advance(func(line int) bool { return c.planned[line].ended })
	c.open--
}

// tryRetry opens the next attempt of a member, if there is one.
func (r *turn) tryRetry(m *member, result stream.Result, err error) (time.Duration, bool) {
	if err == nil {
		return 0, false
	}
	delay, ok := r.retryDelay(m, err)
	if ok {
		r.countResult(m, result)
		r.openRetry(m)
	}
	return delay, ok
}

// finishAnswer completes the answer when all agents have ended.
func (r *turn) finishAnswer() error {
	_, span := trace.Start(r.ctx, trace.Internal, "aggregate", "")
	err := r.aggregateMembers(span)
	span.End(err)
	return err
}

// aggregateMembers makes the outcome of the turn of those of its members. If some
// failed the answer says so; if all failed the turn does.
//
// The cause of the context wins over failures of agents that followed from it.
func (r *turn) aggregateMembers(span trace.Span) error {
	var failures []string
	r.inOrder()
	r.result.Reason = r.endReason(r.result.Reason)
	for _, m := range r.members {
		r.result.Agents = append(r.result.Agents, m.outcome)
		r.result.TurnMessages = append(r.result.TurnMessages, m.added...)
		if m.err != nil {
			failures = append(failures, r.failureText(m))
		}
	}
	span.Int("agent.count", len(r.members))
	span.Int("agent.failed_count", len(failures))
	switch cause := fault.Cause(r.ctx); {
	case r.out.Err != nil:
		return r.out.Err
	case cause != nil && (len(failures) > 0 || len(r.members) < r.chosen):
		return cause
	case len(failures) == len(r.members):
		if r.voice.Emitted.Length == 0 {
			r.voice.EmitPlain(r.team.cfg.Aggregate.Fallback)
		}
		return r.members[0].err
	case len(failures) > 0:
		rest := strings.TrimPrefix(r.team.cfg.Aggregate.PartialFailure, successMessage)
		r.voice.EmitPlain(strings.ReplaceAll(rest, "{failureMessage}", strings.Join(failures, "; ")))
	}
	return r.out.Err // Done follows at once, and its flush includes the pending events
}

// inOrder puts those that began in the order of the answers: of a team that continues, those
// that have ended were there first.
func (r *turn) inOrder() {
	slices.SortStableFunc(r.members, func(a, b *member) int { return a.index - b.index })
}

// successMessage begins the template of a partial failure; it stands for the texts of the agents.
const successMessage = "{successMessage}"
