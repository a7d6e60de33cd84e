package handlers

import (
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// note notes a turn that is about to be admitted. It refuses one that a library sends again
// by itself.
func (s *Server) note(r *http.Request, t *turn) error {
	if t.content == nil {
		return nil
	}
	count := t.route.Repeats(r)
	mine, known := s.admitted.note(*t.content, count > 0)
	if s.cfg.Tasks != nil && mine != nil { // another gateway may know it
		known = s.cfg.Tasks.NoteContent(r.Context(), *t.content, chat.RequestID(r.Context()), count > 0) || known
	}
	t.note, t.first = mine, !known
	if known && count > 0 {
		s.metrics.repetitions.Inc()
		zerolog.Ctx(r.Context()).Info().Dict("details", zerolog.Dict().Int("retry_count", count)).Msg("retry_refused")
		return &fault.Error{Type: fault.DuplicateRequest,
			Message: "This request was sent again by itself, and its turn runs or has run; it is not run again"}
	}
	return nil
}

// unnote removes the note of a turn that may be sent again.
func (s *Server) unnote(r *http.Request, t *turn) {
	if t.note == nil {
		return
	}
	s.admitted.drop(t.note)
	if s.cfg.Tasks != nil {
		s.cfg.Tasks.DropContent(r.Context(), *t.content, chat.RequestID(r.Context()))
	}
}

// again says whether a refusal lets its client send the request again.
func again(reply dialect.Reply) bool { return reply.Header.Get("X-Should-Retry") == "true" }
