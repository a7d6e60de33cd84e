package handlers

import (
	"errors"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/tally"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Limiter counts requests and turns, and refuses those beyond a limit.
type Limiter interface {
	// Check refuses a request that is known to be beyond a limit. It charges nothing, and is called
	// before the body is read.
	Check(r *http.Request, who chat.Principal, what Spending) error
	// Admit charges a request, or refuses it: then it charges nothing. The Allowance is nil
	// where nothing is limited.
	Admit(r *http.Request, who chat.Principal, what Spending) (Allowance, error)
}

// Spending is a set of charges for a request.
type Spending uint8

// Charges for a request.
const (
	SpendRequest Spending = 1 << iota
	SpendRead
	SpendTurn  // a turn that runs, until Allowance.End
	SpendWatch // a stream that only watches, as long
)

// Allowance is a request that was admitted.
type Allowance interface {
	chat.Admission
	// Headers adds the headers about the remaining quota.
	Headers(h http.Header)
	// End says that the stream is over; Cancel says that it did not run, and gives the charge back.
	End()
	Cancel()
}

// nothing is the Allowance where nothing is limited.
type nothing struct{}

func (nothing) Tokens(int)          {}
func (nothing) Headers(http.Header) {}
func (nothing) End()                {}
func (nothing) Cancel()             {}

// limits charges requests, and logs its refusals to the audit.
type limits struct {
	limiter   Limiter // nil limits nothing
	audit     auditor
	overLimit *tally.Tally[refusedBy]
}

// chargeHead charges a request by its head.
func (l *limits) chargeHead(r *http.Request, who *access.Identity, of rule) error {
	if l.limiter == nil {
		return nil
	}
	now, later := of.spendingOf(r)
	if later != 0 {
		if err := l.limiter.Check(r, principalOf(who), later); err != nil {
			return l.auditRefusal(r, err)
		}
	}
	_, err := l.chargeRequest(r, principalOf(who), now)
	return err
}

// spendingOf returns the charges of a path: now, before the body is read, and later, when a turn
// begins.
func (of rule) spendingOf(r *http.Request) (now, later Spending) {
	switch {
	case of.scopes == 0, of.use == dialect.Free:
		return 0, 0
	case of.use == dialect.Read, isReconnect(r):
		return SpendRead, 0
	case of.use == dialect.Either:
		return 0, 0
	case of.use == dialect.Paid:
		return 0, SpendTurn
	}
	return 0, SpendRequest | SpendTurn
}

// chargeRequest charges a request, or refuses it.
func (l *limits) chargeRequest(r *http.Request, who chat.Principal, what Spending) (Allowance, error) {
	if l.limiter == nil || what == 0 {
		return nothing{}, nil
	}
	a, err := l.limiter.Admit(r, who, what)
	if err != nil {
		return nil, l.auditRefusal(r, err)
	}
	if a == nil {
		return nothing{}, nil
	}
	return a, nil
}

// auditRefusal logs the limit that refused a request, and returns err.
func (l *limits) auditRefusal(r *http.Request, err error) error {
	policies := violatedPolicies(err)
	if len(policies) == 0 {
		return err
	}
	of := refusedBy{limit: policies[0], client: l.audit.addressOf(r)}
	if l.overLimit.Line(of) {
		l.audit.recordEvent(r, "limit_refused", func(d *zerolog.Event) { d.Str("limit", of.limit) })
	}
	return err
}

// violation is an error with the names of the limits that a request is beyond.
type violation interface {
	error
	ViolatedPolicies() []string
}

// violatedPolicies returns the names of the limits that a request is beyond.
func violatedPolicies(err error) []string {
	if v, ok := errors.AsType[violation](err); ok {
		return v.ViolatedPolicies()
	}
	return nil
}
