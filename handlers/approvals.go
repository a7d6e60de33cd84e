package handlers

import (
	"context"
	"net/http"

	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// approvalAPI lists the questions that wait for people.
type approvalAPI struct {
	approvals *approval.Service
	tasks     *task.Service // nil: without a store the list is empty
	isOpen    bool          // without authentication
}

// addRoutes routes the list.
func (aa *approvalAPI) addRoutes(ro *router) {
	ro.routeRead("/approvals", reviewed, aa.listApprovals)
}

// approvalList is the reply of GET /approvals.
type approvalList struct {
	Approvals []*stream.Approval `json:"approvals"`
	Next      string             `json:"next_cursor,omitempty"`
}

// listApprovals replies with the questions that the caller may decide: first of its own tasks, then
// of other tasks. An anonymous caller must name a conversation, as for tasks, and gets the
// conversation's anonymous questions. Without a store the list is empty.
func (aa *approvalAPI) listApprovals(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	required := ""
	if aa.isOpen && c.UserID == "" {
		required = "is required without user_id"
	}
	conversation := conversationIn(query, required, &e)
	if len(e.Fields) > 0 {
		return &e
	}
	list := approvalList{Approvals: []*stream.Approval{}}
	if aa.tasks != nil {
		done, err := aa.tasks.Listing()
		if err != nil {
			return err
		}
		err = aa.fillApprovals(r.Context(), &list, c, conversation, query.Get("cursor"))
		if done(); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// fillApprovals fills in one page: at most 100 questions, and 1 MiB of them.
func (aa *approvalAPI) fillApprovals(ctx context.Context, list *approvalList, c task.Caller, conversation, cursor string) (err error) {
	page := approval.Listing{Approvals: list.Approvals}
	defer func() { list.Approvals = page.Approvals }()
	if !approval.NamesOthers(cursor) {
		if list.Next, err = aa.fillOwn(ctx, &page, c, conversation, cursor); err != nil || list.Next != "" {
			return err
		}
		if cursor = ""; page.IsFull(1) {
			list.Next = approval.OfOthers()
			return nil
		}
	}
	list.Next, err = aa.approvals.ForOthers(ctx, approval.Caller(c), conversation, cursor, &page)
	return err
}

// fillOwn adds the questions of the caller's own tasks. next is the cursor of the next page; empty:
// these are all.
func (aa *approvalAPI) fillOwn(ctx context.Context, page *approval.Listing, c task.Caller, conversation, cursor string) (next string, err error) {
	waiting, next, err := aa.tasks.Waiting(ctx, c, conversation, cursor)
	if err != nil {
		return "", err
	}
	for i := range waiting {
		if page.IsFull(len(waiting[i].Approvals)) {
			return waiting[i-1].Cursor, nil
		}
		if err := aa.approvals.List(ctx, approval.Caller(c), waiting[i].Approvals, page); err != nil {
			return "", err
		}
	}
	return next, nil
}
