// This file joins package limit with the HTTP server, whose requests are charged, with the models,
// whose calls are charged, and with the store for the counts of all gateways.

package gateway

import (
	"context"
	"net/http"

	"sluice/handlers"
	"sluice/internal/app/settings"
	"sluice/internal/edge/access/door"
	"sluice/internal/edge/access/limit"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// openLimits returns the limiter, or nil without a configuration file: then nothing is ever limited.
func openLimits(c *commonParts, s *storedState) *limit.Limiter {
	if !c.cfg.HasFile() {
		return nil
	}
	return limit.New(limit.Config{
		Spec: c.cfg.Limits, Tenants: c.cfg.Tenants, Places: settings.Of[handlers.Config](&c.cfg).MaxStreams,
		Sharing: s.limitSharing(settings.Of[store.Config](&c.cfg).At), Metrics: c.metrics, Log: c.log,
	})
}

// limitSharing returns the way in which limits hold beyond this process. It works on nil.
func (s *storedState) limitSharing(at store.Location) limit.Sharing {
	if s == nil || s.owned && !at.Shared() {
		return limit.Sharing{}
	}
	return limit.Sharing{Store: s.store, Holder: s.tasks.Holder(), Alone: s.owned && at.Path != ""}
}

// requestLimits returns the limiter of requests, or nil without limits.
func requestLimits(l *limit.Limiter, peers *door.Peers) handlers.Limiter {
	if l == nil {
		return nil
	}
	return requestLimiter{l, peers}
}

// requestLimiter are a Limiter as package handlers asks it.
type requestLimiter struct {
	*limit.Limiter
	peers *door.Peers
}

// Check implements handlers.Limiter.
func (l requestLimiter) Check(r *http.Request, who chat.Principal, what handlers.Spending) error {
	return l.Limiter.Check(l.subject(r, who), kindOf(what))
}

// Admit implements handlers.Limiter.
func (l requestLimiter) Admit(r *http.Request, who chat.Principal, what handlers.Spending) (handlers.Allowance, error) {
	a, err := l.Limiter.Admit(r.Context(), l.subject(r, who), kindOf(what))
	if a == nil {
		return nil, err
	}
	return a, err
}

// kindOf returns the charges of a request in the terms of package limit.
func kindOf(what handlers.Spending) (kind limit.Kind) {
	for _, of := range [...]struct {
		what handlers.Spending
		kind limit.Kind
	}{
		{handlers.SpendRequest, limit.Request}, {handlers.SpendRead, limit.Read}, {handlers.SpendTurn, limit.Running}, {handlers.SpendWatch, limit.Watching},
	} {
		if what&of.what != 0 {
			kind |= of.kind
		}
	}
	return kind
}

// subject returns the subject that is charged for a request.
func (l requestLimiter) subject(r *http.Request, who chat.Principal) limit.Subject {
	s := subjectOf(who)
	if s.User == "" {
		s.Address = l.peers.Limited(r)
	}
	return s
}

// subjectOf returns the subject that is charged for work without a request. For an anonymous sender
// the subject does not have a user.
func subjectOf(who chat.Principal) limit.Subject {
	s := limit.Subject{Tenant: who.Tenant, Class: who.Class}
	if who.IsKnown() {
		s.User = who.Owner("")
	}
	return s
}

// modelGate admits calls of models. The limiter needs the store, and the store is opened after the
// models: New sets the limiter before the first call.
type modelGate struct{ limiter *limit.Limiter }

// enterLimits waits until the limits admit a call of a model. The caller ends the call with leave, and
// passes the used tokens.
func (g *modelGate) enterLimits(ctx context.Context, key string) (leave func(int), err error) {
	return g.limiter.Enter(ctx, key)
}

// withCharge returns r. A turn that runs without the request that began it is then charged.
func withCharge(r stream.Runner, l *limit.Limiter) stream.Runner {
	if l == nil {
		return r
	}
	return chargedRunner{r, l}
}

// chargedRunner charges a turn that goes on without the request that began it, to whom it belongs and
// by the class of that request.
type chargedRunner struct {
	stream.Runner
	limiter *limit.Limiter
}

// Run implements stream.Runner.
func (c chargedRunner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	turn := chat.TurnOf(ctx)
	if turn.Admission != nil {
		return c.Runner.Run(ctx, req, sink)
	}
	if a := c.limiter.Continue(subjectOf(req.Principal)); a != nil {
		defer a.End()
		turn.Admission = a
		ctx = chat.WithTurn(ctx, turn)
	}
	return c.Runner.Run(ctx, req, sink)
}
