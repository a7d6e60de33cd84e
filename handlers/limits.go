package handlers

import (
	"errors"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Limiter counts what is asked for, and refuses what is too much.
type Limiter interface {
	// Check refuses what is known to be too much. It charges nothing, and is called before the
	// body is read.
	Check(r *http.Request, who chat.Principal, what Spending) error
	// Admit charges a request, or refuses it: then it charges nothing. The Allowance is nil
	// where nothing is limited.
	Admit(r *http.Request, who chat.Principal, what Spending) (Allowance, error)
}

// Spending is what a request is charged for.
type Spending uint8

// What requests are charged for: a set.
const (
	SpendRequest Spending = 1 << iota
	SpendRead
	SpendTurn  // a turn that runs, until Allowance.End
	SpendWatch // a stream that only watches, as long
)

// Allowance is a request that was admitted.
type Allowance interface {
	chat.Admission
	// Headers adds those that say what is left.
	Headers(h http.Header)
	// End says that the stream is over; Cancel, that there was nothing in the end, and gives
	// back what was charged.
	End()
	Cancel()
}

// nothing is the Allowance where nothing is limited.
type nothing struct{}

func (nothing) Tokens(int)          {}
func (nothing) Headers(http.Header) {}
func (nothing) End()                {}
func (nothing) Cancel()             {}

// charge admits a request, for what it spends.
func (s *Server) charge(r *http.Request, who chat.Principal, what Spending) (Allowance, error) {
	if s.cfg.Limiter == nil || what == 0 {
		return nothing{}, nil
	}
	a, err := s.cfg.Limiter.Admit(r, who, what)
	if err != nil {
		return nil, s.limited(r, err)
	}
	if a == nil {
		return nothing{}, nil
	}
	return a, nil
}

// violation is an error that names the limits which a request is beyond.
type violation interface {
	error
	ViolatedPolicies() []string
}

// limited has the audit say which limit refused a request.
func (s *Server) limited(r *http.Request, err error) error {
	policies := violated(err)
	if len(policies) == 0 {
		return err
	}
	of := refusedBy{limit: policies[0]}
	if s.cfg.Client != nil {
		of.client = s.cfg.Client(r)
	}
	if s.overLimit.Line(of) {
		s.audit(r, "limit_refused", func(d *zerolog.Event) { d.Str("limit", of.limit) })
	}
	return err
}

// violated returns the names of the limits that a request is beyond.
func violated(err error) []string {
	if v, ok := errors.AsType[violation](err); ok {
		return v.ViolatedPolicies()
	}
	return nil
}

// spends returns what a path is charged for before its body is read, and, if that is a turn's,
// what will be charged when it begins.
func (of rule) spends(r *http.Request) (now, later Spending) {
	switch {
	case of.scopes == 0, of.use == dialect.Free:
		return 0, 0
	case of.use == dialect.Read, lost(r):
		return SpendRead, 0
	case of.use == dialect.Either:
		return 0, 0
	case of.use == dialect.Paid:
		return 0, SpendTurn
	}
	return 0, SpendRequest | SpendTurn
}

// withinLimits refuses what is too much, before the body is read, and charges the requests that run no turn.
func (s *Server) withinLimits(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	return who, s.chargeHead(r, who, ruleOf(rt))
}

// chargeHead charges what the head of a request says.
func (s *Server) chargeHead(r *http.Request, who *access.Identity, of rule) error {
	if s.cfg.Limiter == nil {
		return nil
	}
	now, later := of.spends(r)
	if later != 0 {
		if err := s.cfg.Limiter.Check(r, principalOf(who), later); err != nil {
			return s.limited(r, err)
		}
	}
	_, err := s.charge(r, principalOf(who), now)
	return err
}

// withCharge returns the request of a turn so that its dialect can charge it, if only its body says
// its use.
func (s *Server) withCharge(r *http.Request, t *turn) *http.Request {
	if s.cfg.Limiter == nil || t.route.Use != dialect.Either {
		return r
	}
	turn := chat.TurnOf(r.Context())
	turn.Charge = func(use uint8) error {
		t.chargedAs = true
		switch dialect.Use(use) {
		case dialect.Read:
			_, err := s.charge(r, principalOf(t.who), SpendRead)
			return err
		case dialect.Turn:
			if err := s.cfg.Limiter.Check(r, principalOf(t.who), SpendRequest|SpendTurn); err != nil {
				return s.limited(r, err)
			}
		}
		return nil
	}
	return r.WithContext(chat.WithTurn(r.Context(), turn))
}

// chargeReply charges a read for a request that its dialect could not read. That costs nothing, so
// it is not refused.
func (s *Server) chargeReply(r *http.Request, t *turn) {
	if t.route.Use == dialect.Either && !t.chargedAs {
		_, _ = s.charge(r, principalOf(t.who), SpendRead)
	}
}

// chargeTurn charges a turn that begins.
func (s *Server) chargeTurn(r *http.Request, t *turn) (err error) {
	if s.cfg.Limiter == nil {
		return nil
	}
	what := SpendRequest | SpendTurn
	if t.ticketed {
		what = SpendTurn // the request was its ticket's
	}
	t.charged, err = s.charge(r, t.Request.Principal, what)
	return err
}
