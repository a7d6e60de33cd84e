package handlers

import (
	"net/http"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// withCharge returns the request of a turn so that its dialect can charge it, if only its body says
// its use.
func (l *limits) withCharge(r *http.Request, t *turn) *http.Request {
	if l.limiter == nil || t.route.Use != dialect.Either {
		return r
	}
	turn := chat.TurnOf(r.Context())
	turn.Charge = func(use uint8) error {
		t.chargedAs = true
		switch dialect.Use(use) {
		case dialect.Read:
			_, err := l.chargeRequest(r, principalOf(t.identity), SpendRead)
			return err
		case dialect.Turn:
			if err := l.limiter.Check(r, principalOf(t.identity), SpendRequest|SpendTurn); err != nil {
				return l.auditRefusal(r, err)
			}
		}
		return nil
	}
	return r.WithContext(chat.WithTurn(r.Context(), turn))
}

// chargeReply charges a read for a request that its dialect could not read. The reply costs nothing, so
// it is not refused.
func (l *limits) chargeReply(r *http.Request, t *turn) {
	if t.route.Use == dialect.Either && !t.chargedAs {
		_, _ = l.chargeRequest(r, principalOf(t.identity), SpendRead)
	}
}

// chargeTurn charges a turn that begins. Its undo is turn.undoCharge.
func (l *limits) chargeTurn(r *http.Request, t *turn) (err error) {
	if l.limiter == nil {
		return nil
	}
	what := SpendRequest | SpendTurn
	if t.ticketed {
		what = SpendTurn // the request was its ticket's
	}
	t.charged, err = l.chargeRequest(r, t.Request.Principal, what)
	return err
}
