package approval

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/chat"
	"sluice/stream"
	"sluice/trace"
)

// tooLong is what the model is told of calls in a turn that no token has room for.
const tooLong = "A person must confirm this call, and this conversation has become too long to wait for that. Do not call it again; tell the user so."

// Runner asks for what the Runner in it leaves open.
type Runner struct {
	stream.Runner
	Service *Service
}

// Run implements stream.Runner.
func (r Runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	a := asking{service: r.Service, ctx: ctx, req: req}
	result, err := r.Runner.Run(stream.WithPauses(ctx, a.put), req, sink)
	if err != nil || result.Paused == nil {
		return result, err
	}
	if len(a.events) == 0 {
		return result, errors.New("a runner paused without asking")
	}
	for i, ev := range a.events {
		if err := sink.Emit(ev); err != nil {
			return result, err
		}
		r.Service.counts.Inc(string(ev.Kind), "requested")
		a.records[i].log(ctx, "approval_requested", "")
	}
	return result, nil // no Flush: what is stored of a question has the end of its turn with it
}

// asking is what one turn asks.
type asking struct {
	service *Service
	ctx     context.Context
	req     *chat.Request

	events  []*stream.Approval
	records []*record
}

// put makes the questions of a turn that is about to pause, or says why nobody can be
// asked.
func (a *asking) put(p *chat.Paused) (refusal string) {
	if a.req.Mute {
		return stream.NobodyToAsk
	}
	a.events, a.records = nil, nil
	for i := range p.Questions {
		q := &p.Questions[i]
		for j := range q.Calls {
			q.Calls[j].Reason = a.reason(&q.Calls[j])
		}
		r := newRecord(a.req, p, q, time.Now().Add(a.service.cfg.TTL))
		r.Trace = trace.Of(a.ctx).Name()
		token, err := a.service.token(a.ctx, r)
		if err != nil && len(r.Evidence) > 0 { // rather ask without it than not at all
			r.Evidence = nil
			token, err = a.service.token(a.ctx, r)
		}
		if err != nil {
			a.service.counts.Inc(string(q.Kind), "too_long")
			return tooLong
		}
		ev := r.question()
		ev.Token = token
		a.events, a.records = append(a.events, ev), append(a.records, r)
	}
	return ""
}

// reason says why a person is asked about a call.
func (a *asking) reason(c *chat.PendingCall) string {
	if a.req.Resumed != nil && slices.Contains(a.req.Resumed.Changed, c.ID) {
		return ReasonChanged
	}
	if reason := a.service.cfg.Mode.Reason(c.Spec); reason != "" {
		return reason
	}
	return ReasonConfirm
}

// token returns the token of a record, which is in the store if its task is: then it has a
// new id. A store that does not take it is done without.
func (s *Service) token(ctx context.Context, r *record) (string, error) {
	if s.cfg.Store != nil && r.Task != "" {
		h := newHandle()
		kept := *r
		kept.ID, kept.Handle = h.id(), h.sum()
		if s.keep(ctx, &kept) == nil {
			*r = kept
			return h.token(), nil
		}
	}
	text, err := r.encode()
	if err != nil {
		return "", err
	}
	return s.sealer.seal(text)
}
