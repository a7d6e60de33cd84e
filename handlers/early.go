package handlers

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/rs/zerolog"

	"sluice/internal/edge/dialect"
)

// sendFirst sends the first reply of a turn whose client does not wait for the turn. The turn
// continues in a goroutine of its own, and a drain waits for it as for any other stream. An error
// of run, or of a turn that ends before, means that nothing was sent.
func sendFirst(w http.ResponseWriter, r *http.Request, t *turn, run func() error) error {
	first := &firstReply{header: http.Header{}, sent: make(chan struct{})}
	t.early = first
	// Goroutine (sendFirst): runs the whole turn of a client that does not wait, from its task on,
	// and hands the reply to the goroutine of the request.
	// Ends: the turn has its `done`.
	// Waits: `handlers`, which counts it for a drain as any turn.
	go func() {
		defer first.refuse(errEarly)
		defer recoverPanic(r.Context())
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
	writeReply(w, reply)
	return nil
}

// recoverPanic is deferred by a goroutine that serves a request: a panic, which would end the
// process there, is logged instead.
func recoverPanic(ctx context.Context) {
	if p := recover(); p != nil && p != http.ErrAbortHandler {
		zerolog.Ctx(ctx).Error().Dict("details", zerolog.Dict().
			AnErr("error_message", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))).Msg("error_occurred")
	}
}
