package handlers

import (
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// repeats refuses requests that a library sends a second time by itself.
type repeats struct {
	admitted *admittedTurns
	tasks    *task.Service // has the contents of other gateways; nil: only those of this one count
	metrics  *instruments
}

// rememberContent remembers the content of a turn that is about to be admitted. It refuses a turn that
// a library sends a second time. Its undo is forgetFirst.
func (rp *repeats) rememberContent(r *http.Request, t *turn) error {
	if t.content == nil {
		return nil
	}
	count := t.route.Repeats(r)
	mine, known := rp.admitted.addTurn(*t.content, count > 0)
	if rp.tasks != nil && mine != nil { // another gateway may know it
		known = rp.tasks.NoteContent(r.Context(), *t.content, chat.RequestID(r.Context()), count > 0) || known
	}
	t.contentNote, t.first = mine, !known
	if known && count > 0 {
		rp.metrics.repetitions.Inc()
		zerolog.Ctx(r.Context()).Info().Dict("details", zerolog.Dict().Int("retry_count", count)).Msg("retry_refused")
		return &fault.Error{Type: fault.DuplicateRequest,
			Message: "This request was sent again by itself, and its turn runs or has run; it is not run again"}
	}
	return nil
}

// forgetFirst undoes rememberContent: the content did not come before, so it may come another time.
func (rp *repeats) forgetFirst(r *http.Request, t *turn) {
	if t.first {
		rp.forgetContent(r, t)
	}
}

// forgetContent removes the content of a turn that may be sent a second time.
func (rp *repeats) forgetContent(r *http.Request, t *turn) {
	if t.contentNote == nil {
		return
	}
	rp.admitted.removeNote(t.contentNote)
	if rp.tasks != nil {
		rp.tasks.DropContent(r.Context(), *t.content, chat.RequestID(r.Context()))
	}
}

// allowsRetry reports whether a refusal lets its client send the request again.
func allowsRetry(reply dialect.Reply) bool { return reply.Header.Get("X-Should-Retry") == "true" }
