package handlers

import (
	"context"
	"net/http"

	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Turns that wait for a person: what Config.Approvals adds to the way of a turn.

// serveApprovals routes the list of what waits.
func (s *Server) serveApprovals() {
	if s.cfg.Approvals != nil {
		s.routes.readable("/approvals", reviewed, s.listApprovals)
	}
}

// approvalList is the reply of GET /approvals.
type approvalList struct {
	Approvals []*stream.Approval `json:"approvals"`
	Next      string             `json:"next_cursor,omitempty"`
}

// listApprovals says what the caller may decide: first of its own tasks, then of those of
// others. Nobody in particular must name a conversation, as for tasks, and sees what waits in
// it for nobody in particular. Without a store nobody knows.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	required := ""
	if s.cfg.Door == nil && c.UserID == "" {
		required = "is required without user_id"
	}
	conversation := conversationIn(query, required, &e)
	if len(e.Fields) > 0 {
		return &e
	}
	list := approvalList{Approvals: []*stream.Approval{}}
	if s.cfg.Tasks != nil {
		done, err := s.cfg.Tasks.Listing()
		if err != nil {
			return err
		}
		err = s.fillApprovals(r.Context(), &list, c, conversation, query.Get("cursor"))
		if done(); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// fillApprovals fills in one page: at most 100 questions, and 1 MiB of them.
func (s *Server) fillApprovals(ctx context.Context, list *approvalList, c task.Caller, conversation, cursor string) (err error) {
	page := approval.Listing{Approvals: list.Approvals}
	defer func() { list.Approvals = page.Approvals }()
	if !approval.NamesOthers(cursor) {
		if list.Next, err = s.fillOwn(ctx, &page, c, conversation, cursor); err != nil || list.Next != "" {
			return err
		}
		if cursor = ""; page.IsFull(1) {
			list.Next = approval.OfOthers()
			return nil
		}
	}
	list.Next, err = s.cfg.Approvals.ForOthers(ctx, approval.Caller(c), conversation, cursor, &page)
	return err
}

// fillOwn adds the questions of the caller's own tasks. next is the cursor of the next page; empty:
// these are all.
func (s *Server) fillOwn(ctx context.Context, page *approval.Listing, c task.Caller, conversation, cursor string) (next string, err error) {
	waiting, next, err := s.cfg.Tasks.Waiting(ctx, c, conversation, cursor)
	if err != nil {
		return "", err
	}
	for i := range waiting {
		if page.IsFull(len(waiting[i].Approvals)) {
			return waiting[i-1].Cursor, nil
		}
		if err := s.cfg.Approvals.List(ctx, approval.Caller(c), waiting[i].Approvals, page); err != nil {
			return "", err
		}
	}
	return next, nil
}
