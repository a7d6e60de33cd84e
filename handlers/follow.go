package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/rs/zerolog"

	"sluice/fault"
)

// follow streams what is no turn of its own. Who listens counts as a stream.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, t *turn) error {
	ctx, cancel, leave, err := s.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	defer context.AfterFunc(r.Context(), func() { cancel(fault.ErrClientGone) })()
	for name, values := range t.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	out := s.reader(w, r, t.Encoder, cancel)
	whole := t.Follow(ctx, out)
	if out.Close() != nil || !whole {
		abort(r)
	}
	return nil
}

// early runs a turn whose client does not wait for it. The reply leaves with the turn's
// first event; the turn goes on in a goroutine of its own, for which a drain waits as for
// any other stream.
func (s *Server) early(w http.ResponseWriter, r *http.Request, t *turn) error {
	head := &firstReply{header: http.Header{}, sent: make(chan struct{})}
	refused := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				zerolog.Ctx(r.Context()).Error().Dict("details", zerolog.Dict().
					AnErr("error_message", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))).Msg("error_occurred")
			}
			refused <- errEarly
		}()
		if err := s.keep(head, r, t); err != nil {
			refused <- err
		}
	}()
	select {
	case <-head.sent:
	case err := <-refused:
		select {
		case <-head.sent: // and more: it is over already
		default:
			return err
		}
	}
	for name, values := range head.header {
		w.Header()[name] = values
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(head.body.Bytes())
	return nil
}

// errEarly is the bug of a turn that ended without a first event.
var errEarly = errors.New("the turn ended before it began")

// firstReply takes the one document of a reply from the goroutine of its turn.
type firstReply struct {
	header http.Header
	body   bytes.Buffer
	sent   chan struct{}
}

// Header implements http.ResponseWriter.
func (f *firstReply) Header() http.Header { return f.header }

// WriteHeader implements http.ResponseWriter.
func (f *firstReply) WriteHeader(int) {}

// Write implements http.ResponseWriter. It is called once, with the whole document.
func (f *firstReply) Write(p []byte) (int, error) {
	n, err := f.body.Write(p)
	close(f.sent)
	return n, err
}
