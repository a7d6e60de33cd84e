package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/approval"
	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
	"sluice/stream/sse"
	"sluice/task"
)

// Turns that wait for a person: what Config.Approvals adds to the way of a turn.

// serveApprovals routes the list of what waits.
func (s *Server) serveApprovals(e *echo.Echo) {
	if s.cfg.Approvals != nil {
		readable(e, "/approvals", raw(s.listApprovals))
	}
}

// listApprovals tells what waits for the caller. Without a store nobody knows.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) error {
	c, query, err := s.caller(r)
	if err != nil {
		return err
	}
	list := struct {
		Approvals []*stream.Approval `json:"approvals"`
		Next      string             `json:"next_cursor,omitempty"`
	}{Approvals: []*stream.Approval{}}
	if s.cfg.Tasks != nil {
		var ids []string
		if ids, list.Next, err = s.cfg.Tasks.Waiting(r.Context(), c, query.Get("cursor")); err != nil {
			return err
		}
		if list.Approvals, err = s.cfg.Approvals.Shown(r.Context(), approval.Caller(c), ids); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// goOn makes of an answer the turn with which the paused one goes on.
func (s *Server) goOn(r *http.Request, t *turn) error {
	if s.cfg.Approvals == nil {
		e := new(chat.ValidationError)
		e.Add(t.Approval.At, &chat.FieldError{Code: chat.CodeNotConfigured, Message: "is not configured: this gateway asks for no approvals (SLUICE_CONFIRM)"})
		return e
	}
	acc, err := s.accept(r.Context(), t)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Type == fault.ApprovalUsed && t.Key != "" && s.cfg.Tasks != nil {
		if again := s.cfg.Tasks.Repeated(r.Context(), s.kept(r, t)); again != nil {
			return again
		}
	}
	if err != nil {
		return err
	}
	t.accepted, t.Request = acc, acc.Request
	t.TaskID, t.asked = acc.Request.Resumed.Task, acc.Request.Resumed.Turn
	return nil
}

// accept reads the answer of a request: by its token, or to the task that it names.
func (s *Server) accept(ctx context.Context, t *turn) (*approval.Accepted, error) {
	if t.Decides == "" {
		return s.cfg.Approvals.Check(ctx, t.Approval, t.Request)
	}
	who := task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}
	ids, err := s.cfg.Tasks.Asked(ctx, who, t.Decides)
	if err != nil {
		return nil, err
	}
	id := t.Approval.ApprovalID
	switch {
	case len(ids) == 0, id != "" && !slices.Contains(ids, id):
		return nil, approval.Conflict()
	case id == "" && len(ids) > 1:
		e := new(chat.ValidationError)
		e.Add("/approval_id", &chat.FieldError{Code: chat.CodeRequired, Message: "is required: the task waits for several"})
		return nil, e
	case id == "":
		id = ids[0]
	}
	return s.cfg.Approvals.CheckTask(ctx, id, t.Approval, t.Request)
}

// take uses the answer up, if the turn has one.
func (t *turn) take(ctx context.Context) error {
	if t.accepted == nil {
		return nil
	}
	return t.accepted.Take(ctx)
}

// reattach answers a repeated idempotency key whose answer was used, by the turn that
// used it.
func (s *Server) reattach(w http.ResponseWriter, r *http.Request, t *turn, turn string) error {
	ctx, cancel, leave, err := s.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	return s.attach(ctx, cancel, w, r, t, turn)
}

// unheard runs a kept turn of which nobody hears, and answers with its task.
func (s *Server) unheard(ctx context.Context, cancel context.CancelCauseFunc, leave func(), w http.ResponseWriter, r *http.Request, t *turn) error {
	doc, err := s.cfg.Tasks.Show(ctx, task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}, t.kept.Task())
	go func() { // the gate waits for it
		defer leave()
		defer t.kept.End()
		s.run(ctx, cancel, noReply{http.Header{}}, r, t)
	}()
	if err == nil {
		writeBody(w, http.StatusAccepted, doc)
	}
	return err
}

// noReply is the response of a turn whose client has had one.
type noReply struct{ header http.Header }

func (n noReply) Header() http.Header         { return n.header }
func (n noReply) WriteHeader(int)             {}
func (n noReply) Write(p []byte) (int, error) { return len(p), nil }

// nobody is the output of a turn without a client.
type nobody struct{}

func (nobody) Write(stream.Stamp, stream.Event) error { return nil }
func (nobody) Flush() error                           { return nil }
func (nobody) Blocked() time.Duration                 { return 0 }
func (nobody) Close() error                           { return nil }
func (nobody) Stats() sse.Stats                       { return sse.Stats{} }
