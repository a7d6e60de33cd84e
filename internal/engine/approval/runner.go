package approval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// tooLong is the result of calls in a turn that is too long for a token.
const tooLong = "A person must confirm this call, and this conversation has become too long to wait for that. Do not call it again; tell the user so."

// tooMany is the result of calls of a user for whom too many tasks wait.
const tooMany = "A person must confirm this call, and too many tasks of this user wait for an answer already. Do not call it again; tell the user so."

// Runner asks people about the open calls of its inner Runner.
type Runner struct {
	stream.Runner
	Service *Service
}

// Run implements stream.Runner.
func (r Runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	a := asking{service: r.Service, ctx: ctx, req: req}
	own := *req
	own.Facts.Ask = a.makeQuestions
	result, err := r.Runner.Run(ctx, &own, sink)
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
		if a.repeated[i] {
			continue
		}
		r.Service.counts.Inc(string(ev.Kind), "requested")
		a.records[i].logQuestion(ctx, "approval_requested", "", chat.Principal{ID: a.records[i].Principal})
	}
	return result, nil // without a Flush: the end of the turn is stored together with the question
}

// asking has the questions of one turn.
type asking struct {
	service *Service
	ctx     context.Context
	req     *chat.Request

	events   []*stream.Approval
	records  []*record
	repeated []bool // it was asked before, and waits still
}

// asksAboutCalls reports whether a turn pauses for a question other than a workflow's question to
// people.
func asksAboutCalls(p *chat.Paused) bool {
	return p.By != chat.PausedWorkflow && slices.ContainsFunc(p.Questions, func(q chat.Question) bool { return q.Kind != chat.AskHuman })
}

// tokenOfQuestion makes the token of a question, without the evidence if it would be too long with it.
func (a *asking) tokenOfQuestion(r *record, key string) (token string, again bool, err error) {
	token, again, err = a.service.issueToken(a.ctx, r, key)
	if err != nil && len(r.Evidence) > 0 { // rather ask without it than not at all
		r.Evidence = nil
		return a.service.issueToken(a.ctx, r, key)
	}
	return token, again, err
}

// makeQuestions makes the questions of a turn that is about to pause, or says why nobody can be
// asked.
func (a *asking) makeQuestions(p *chat.Paused) (refusal string) {
	if a.req.Mute && asksAboutCalls(p) {
		return chat.NobodyToAsk
	}
	if a.isCrowded(p) {
		return tooMany
	}
	a.events, a.records, a.repeated = nil, nil, nil
	for i := range p.Questions {
		q := &p.Questions[i]
		for j := range q.Calls {
			q.Calls[j].Reason = a.approvalReason(&q.Calls[j])
		}
		r, err := newRecord(a.req, p, q, time.Now().Add(a.service.cfg.TTL))
		if err != nil {
			return chat.NobodyToAsk
		}
		r.Trace = trace.Of(a.ctx).Name()
		token, again, err := a.tokenOfQuestion(r, q.Key)
		if err != nil {
			a.service.counts.Inc(string(q.Kind), "too_long")
			return tooLong
		}
		ev := r.questionEvent()
		ev.Token = token
		a.events, a.records, a.repeated = append(a.events, ev), append(a.records, r), append(a.repeated, again)
	}
	return ""
}

// isCrowded reports whether a task must not wait because too many of its user do. A workflow checks
// its runs itself. A sealed token takes up no room in the store.
func (a *asking) isCrowded(p *chat.Paused) bool {
	full := a.service.cfg.Crowded
	if full == nil || a.req.Task == "" || p.By == chat.PausedWorkflow {
		return false
	}
	crowded, err := full(a.ctx, a.req)
	if err != nil || !crowded {
		return false // an unavailable store does not get the question either
	}
	for i := range p.Questions {
		a.service.counts.Inc(string(p.Questions[i].Kind), "too_many")
	}
	return true
}

// approvalReason says why a person is asked about a call.
func (a *asking) approvalReason(c *chat.PendingCall) string {
	if a.req.Resumed != nil && slices.Contains(a.req.Resumed.Changed, c.ID) {
		return reasonChanged
	}
	if reason := a.service.cfg.Mode.Reason(c.Spec); reason != "" {
		return reason
	}
	return reasonConfirm
}

// issueToken returns the token of a record. With a store and a task the record is stored, with a
// new id. If the question is asked again, it keeps its id, token and end. Otherwise, or if the
// store refuses the record, the token holds it.
func (s *Service) issueToken(ctx context.Context, r *record, key string) (token string, again bool, err error) {
	if s.cfg.Store != nil && r.Task != "" {
		kept, h, version := *r, newHandle(), int64(0)
		if key != "" {
			h.setQuestion(r.Task, key)
			h, kept.Expires, version = s.pendingHandle(ctx, h, kept.Expires)
			token = h.token()
		}
		kept.ID, kept.Handle = h.recordID(), h.storedSum()
		if s.storeRecord(ctx, &kept, token, version) == nil {
			*r = kept
			return h.token(), version != 0, nil
		}
	}
	text, err := r.encode()
	if err != nil {
		return "", false, err
	}
	token, err = s.sealer.seal(text)
	return token, false, err
}

// pendingHandle returns the handle of a question that waits already, with its end and the version
// of its record; for another question it returns the given values. If the question's answer was
// taken, and lost with its process, the question is a new one.
func (s *Service) pendingHandle(ctx context.Context, h handle, expires int64) (handle, int64, int64) {
	v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(h.recordID()))
	if err != nil {
		return h, expires, 0
	}
	var there stored
	if json.Unmarshal(v.Data, &there) != nil || there.Used {
		return newHandle(), expires, 0
	}
	old, ok := handleOf(there.Token)
	r, err := readRecord(there.Record)
	if !ok || err != nil {
		return newHandle(), expires, 0
	}
	return old, r.Expires, v.Version
}
