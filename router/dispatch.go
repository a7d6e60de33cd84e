// This file runs the chosen agents and makes one answer of theirs. There are three ways:
// one agent on the goroutine of the turn, several one after the other on the same
// goroutine, and several at once, each with a goroutine that hands its events over a queue.
// In each way one goroutine alone emits.
//
// An agent that fails is tried again under the rules of member.again; the others go on. The
// turn fails only if all of them did.

package router

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
	"sluice/trace"
)

// answer has the chosen agents answer.
func (r *turn) answer(agents []*Agent, req *chat.Request) error {
	if len(agents) == 1 {
		r.planned = []*member{{agent: agents[0], role: stream.RolePrimary, req: req}}
		return r.dispatch()
	}
	r.several, r.chosen = true, len(agents)
	r.planned = make([]*member, len(agents))
	for i, a := range agents {
		role := stream.RoleAdditional
		if i == 0 {
			role = stream.RolePrimary
		}
		r.planned[i] = &member{agent: a, role: role, index: i, req: withNote(req, colleagues(agents, i))}
	}
	return r.dispatch()
}

// dispatch runs those of the planned members that have not ended, until all have ended
// or wait for a person.
//
// It comes back to the members that waited if nobody can be asked: their calls were refused
// and they go on.
func (r *turn) dispatch() error {
	for {
		switch {
		case !r.several:
			r.alone(r.planned[0])
		case r.team.cfg.Dispatch.Sequential:
			r.inTurn(r.planned)
		default:
			r.together(r.planned)
		}
		if r.sinkErr != nil || r.ctx.Err() != nil {
			r.abandon()
		}
		if !r.waiting() {
			return r.finish()
		}
		if paused, err := r.pause(); paused {
			return err
		}
	}
}

// withNote returns a copy of req with a note for the agent.
func withNote(req *chat.Request, note string) *chat.Request {
	own := *req
	own.Note = note
	return &own
}

// colleagues tells an agent who else answers.
func colleagues(agents []*Agent, self int) string {
	var b strings.Builder
	b.WriteString("Other agents answer the same request with you, each for its own part:")
	for i, a := range agents {
		if i != self {
			b.WriteString("\n- " + line(a.name()) + ": " + line(a.Description))
		}
	}
	b.WriteString("\nDo and answer your part only. Do not speak of theirs.")
	return b.String()
}

// alone runs the one agent that answers, on the caller's goroutine.
func (r *turn) alone(m *member) {
	r.start(m)
	r.attempts(m)
}

// attempts runs a member on the caller's goroutine until it has ended.
//
// The error of the last attempt is the member's.
func (r *turn) attempts(m *member) {
	for {
		result, err := m.once(&direct{r, m})
		if err != nil {
			if delay, ok := r.again(m, err); ok && wait(m.ctx, delay) {
				r.count(m, result)
				r.retry(m)
				continue
			}
		}
		r.end(m, result, err)
		return
	}
}

// direct is the sink of a member that runs on the goroutine of the turn.
//
// No copy of the event is needed, as it is emitted before Emit returns.
type direct struct {
	turn *turn
	m    *member
}

// Emit passes an event of the first agent on at once, without a queue.
func (d *direct) Emit(ev stream.Event) error { return d.turn.take(d.m, ev) }

// Flush flushes the turn's sink, whose first error ends the turn.
func (d *direct) Flush() error {
	d.turn.flush()
	return d.turn.sinkErr
}

// wait lets d pass, and says whether there is still somebody to go on for.
func wait(ctx context.Context, d time.Duration) bool {
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
		if r.sinkErr != nil || r.ctx.Err() != nil {
			return
		}
		if m.ended {
			continue
		}
		for _, before := range members[:i] {
			if m.attempt > 0 { // it goes on, and has read that
				break
			}
			if text := strings.Join(before.text, ""); text != "" {
				m.req.Note += "\n\n" + line(before.agent.name()) + " has answered:\n" + text
			}
		}
		r.speaker = i
		r.start(m)
		r.attempts(m)
		if m.paused != nil {
			return // those after it are to see its answer
		}
	}
}

// together runs the members at the same time. Their goroutines hand what happens to
// this one, which alone emits: a slow client holds back no agent's tools.
//
// It returns when all goroutines have ended, also after an error of the sink: then they are
// cancelled first. Ends of attempts are never refused by the queue.
func (r *turn) together(members []*member) {
	q := newQueue()
	var running sync.WaitGroup
	defer running.Wait()
	launch := func(m *member, delay time.Duration) {
		running.Go(func() {
			if delay > 0 && !wait(m.ctx, delay) {
				q.end(m, stream.Result{}, fault.Cause(m.ctx))
				return
			}
			result, err := m.once(&posting{q, m})
			q.end(m, result, err)
		})
	}
	open := 0
	for _, m := range members {
		if m.ended {
			continue
		}
		open++
		r.start(m)
		stop := context.AfterFunc(m.ctx, q.wake)
		defer stop()
		launch(m, 0)
	}
	for open > 0 {
		for _, item := range q.take() {
			if item.over == nil {
				r.post(&item)
				continue
			}
			if delay, ok := r.retryAfter(item.m, item.over); ok {
				launch(item.m, delay)
				continue
			}
			r.end(item.m, item.over.result, item.over.err)
			r.advance(members)
			open--
		}
		r.flush()
		if r.sinkErr != nil { // nobody listens any more
			q.close(r.sinkErr)
			for _, m := range members {
				m.cancel()
			}
		}
	}
}

// retryAfter opens the next attempt of a member, if there is one.
func (r *turn) retryAfter(m *member, over *ending) (time.Duration, bool) {
	if over.err == nil {
		return 0, false
	}
	delay, ok := r.again(m, over.err)
	if ok {
		r.count(m, over.result)
		r.retry(m)
	}
	return delay, ok
}

// post takes what a member has emitted. One whose text is too long is stopped.
func (r *turn) post(it *item) {
	m := it.m
	if m.failed != nil {
		return
	}
	var err error
	if it.ev == nil {
		err = r.text(m, it.text)
	} else {
		err = r.take(m, it.ev)
	}
	if err != nil && r.sinkErr == nil {
		m.failed = err
		m.cancel()
	}
}

// advance lets the next member speak when those before it have ended, and shows what
// it has said already.
//
// It is called after each end. The text of a speaker that has not ended goes on as it
// comes.
func (r *turn) advance(members []*member) {
	for r.speaker < len(members)-1 && members[r.speaker].ended {
		r.speaker++
		m := members[r.speaker]
		pending := m.pending
		m.pending = nil
		m.size = 0 // counted again
		for _, text := range pending {
			_ = r.text(m, text)
		}
	}
}

// finish completes the answer when all agents have ended.
func (r *turn) finish() error {
	_, span := trace.Start(r.ctx, trace.Internal, "aggregate", "")
	err := r.aggregate(span)
	span.End(err)
	return err
}

// aggregate makes the outcome of the turn of those of its members. If some
// failed the answer says so; if all failed the turn does.
//
// The cause of the context wins over failures of agents that followed from it.
func (r *turn) aggregate(span trace.Span) error {
	var failures []string
	r.inOrder()
	r.result.Reason = r.ended(r.result.Reason)
	for _, m := range r.members {
		r.result.Agents = append(r.result.Agents, m.outcome)
		r.result.Made = append(r.result.Made, m.made...)
		if m.err != nil {
			failures = append(failures, r.failure(m))
		}
	}
	span.Int("agent.count", len(r.members))
	span.Int("agent.failed_count", len(failures))
	switch cause := fault.Cause(r.ctx); {
	case r.sinkErr != nil:
		return r.sinkErr
	case cause != nil && (len(failures) > 0 || len(r.members) < r.chosen):
		return cause
	case len(failures) == len(r.members):
		if r.said.length == 0 {
			r.say(r.team.cfg.Aggregate.Fallback)
		}
		return r.members[0].err
	case len(failures) > 0:
		rest := strings.TrimPrefix(r.team.cfg.Aggregate.PartialFailure, successMessage)
		r.say(strings.ReplaceAll(rest, "{failureMessage}", strings.Join(failures, "; ")))
	}
	return r.sinkErr // Done follows at once, and takes along what is not flushed yet
}

// inOrder puts those that began in the order of the answers: of a team that goes on, those
// that have ended were there first.
func (r *turn) inOrder() {
	slices.SortStableFunc(r.members, func(a, b *member) int { return a.index - b.index })
}

// successMessage begins the template of a partial failure: what the agents said.
const successMessage = "{successMessage}"
