package handlers

import (
	"context"
	"net/http"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
)

// follow streams what is not a turn of its own.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, t *turn) error {
	enter := s.gate.enter
	if t.Followed != "" {
		enter = func(parent context.Context) (*slot, error) { return s.gate.read(parent, t.Followed) }
	}
	in, err := enter(r.Context())
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := s.limits.charge(r, principalOf(t.who), SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	defer s.senders.whileMay(t.who, ruleOf(t.route), in.cancel)()
	defer context.AfterFunc(r.Context(), func() { in.cancel(fault.ErrClientGone) })()
	for name, values := range t.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	out := s.reader(w, r, t.Encoder, in.cancel)
	if r.Method == http.MethodHead {
		return out.Close()
	}
	whole := t.Follow(in.ctx, out)
	if out.Close() != nil || !whole {
		abort(r)
	}
	return nil
}

// sendFirst sends the reply of a client that does not wait for its turn: what the turn says
// first. The turn continues in a goroutine of its own, for which a drain waits as for any other
// stream. An error of run, or of a turn that ends before, means that nothing was sent.
func (s *Server) sendFirst(w http.ResponseWriter, r *http.Request, t *turn, run func() error) error {
	first := &firstReply{header: http.Header{}, sent: make(chan struct{})}
	t.early = first
	// Goroutine (sendFirst): runs the whole turn of a client that does not wait, from its task on,
	// and hands the reply to the goroutine of the request.
	// Ends: the turn has its `done`.
	// Waits: `handlers`, which counts it for a drain as any turn.
	go func() {
		defer first.refuse(errEarly)
		defer survive(r.Context())
		if err := run(); err != nil {
			first.refuse(err)
		}
	}()
	<-first.sent
	if first.err != nil {
		return first.err
	}
	reply := dialect.JSON(first.text)
	reply.Header = first.header
	respond(w, reply)
	return nil
}
