package a2a

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// document has the members of a task's document that this package reads.
type document struct {
	ID        string          `json:"id"`
	ContextID string          `json:"contextId"`
	Status    status          `json:"status"`
	History   []storedMessage `json:"history"`
	Artifacts []artifact      `json:"artifacts"`
	Metadata  map[string]any
}

// status is the state of a stored task.
type status struct {
	State     string         `json:"state"`
	Message   *storedMessage `json:"message"`
	Timestamp string         `json:"timestamp"`
	Approvals []string       `json:"approvals"`
}

// storedMessage is a message of a stored task.
type storedMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	MessageID string `json:"messageId"`
	AgentID   string `json:"agentId"`
}

// artifact is an answer of a stored task.
type artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name"`
	Parts      []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

// storedState returns A2A's state for the state of a document, or unspecified for an unknown one.
func storedState(stored string) sdk.TaskState {
	switch stored {
	case "submitted":
		return sdk.TaskStateSubmitted
	case "working":
		return sdk.TaskStateWorking
	case "input-required":
		return sdk.TaskStateInputRequired
	case "completed":
		return sdk.TaskStateCompleted
	case "failed":
		return sdk.TaskStateFailed
	case "canceled":
		return sdk.TaskStateCanceled
	}
	return sdk.TaskStateUnspecified
}

// readTask makes a task of its document, and returns the ids of its questions to people.
func readTask(doc []byte) (task *sdk.Task, asked []string, err error) {
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, nil, err
	}
	return d.toTask(), d.Status.Approvals, nil
}

// toTask is the document in A2A's form. A state that A2A does not know stays unspecified.
func (d *document) toTask() *sdk.Task {
	t := &sdk.Task{ID: sdk.TaskID(d.ID), ContextID: d.ContextID, Metadata: d.Metadata}
	t.Status.State = storedState(d.Status.State)
	if at, err := time.Parse(time.RFC3339, d.Status.Timestamp); err == nil {
		t.Status.Timestamp = &at
	}
	if d.Status.Message != nil {
		t.Status.Message = d.Status.Message.toMessage(t, "status")
	}
	for i := range d.History {
		t.History = append(t.History, d.History[i].toMessage(t, strconv.Itoa(i)))
	}
	for _, a := range d.Artifacts {
		made := &sdk.Artifact{ID: sdk.ArtifactID(a.ArtifactID), Name: a.Name, Parts: sdk.ContentParts{}}
		for _, p := range a.Parts {
			made.Parts = append(made.Parts, sdk.NewTextPart(p.Text))
		}
		t.Artifacts = append(t.Artifacts, made)
	}
	return t
}

// toMessage returns a message of a task. place makes an id for a message without one.
func (s *storedMessage) toMessage(t *sdk.Task, place string) *sdk.Message {
	role := sdk.MessageRoleAgent
	if s.Role == "user" {
		role = sdk.MessageRoleUser
	}
	m := sdk.NewMessageForTask(role, t, sdk.NewTextPart(s.Content))
	if m.ID = s.MessageID; m.ID == "" {
		m.ID = string(t.ID) + ":" + place
	}
	if s.AgentID != "" {
		m.Metadata = map[string]any{"agentId": s.AgentID}
	}
	return m
}

// defaultPage is how many tasks a list has where the client does not say.
const defaultPage = 50

// listTasks returns a page of the tasks of a conversation, those first that began last.
func (s *Server) listTasks(ctx context.Context, c *call, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	q, err := listQuery(c, req)
	if err != nil {
		return nil, err
	}
	size := q.Limit
	page := &sdk.ListTasksResponse{PageSize: size, Tasks: []*sdk.Task{}}
	if s.cfg.Tasks == nil {
		page.Tasks = append(page.Tasks, s.runningIn(q.Conversation, req.Status)...)
		page.TotalSize = len(page.Tasks)
	} else if err := s.fillPage(ctx, c, q, req, page); err != nil {
		return nil, err
	}
	for _, t := range page.Tasks {
		t.History = cutHistory(t.History, req.HistoryLength)
		if !req.IncludeArtifacts {
			t.Artifacts = nil
		}
	}
	return page, nil
}

// runningIn returns the tasks of a conversation that run here, in a state if one is given.
func (s *Server) runningIn(conversation string, state sdk.TaskState) []*sdk.Task {
	return slices.DeleteFunc(s.running.tasksOf(conversation), func(t *sdk.Task) bool {
		return state != sdk.TaskStateUnspecified && state != t.Status.State
	})
}

// listQuery checks the filters of a list.
func listQuery(c *call, req *sdk.ListTasksRequest) (store.Query, error) {
	q := store.Query{Cursor: req.PageToken, Limit: defaultPage}
	switch {
	case req.ContextID == "" && c.principal.ID == "":
		return q, invalidParam("contextId is required")
	case req.PageSize < 0 || req.PageSize > store.MaxPage:
		return q, invalidParam("pageSize must be from 1 to 100")
	case req.HistoryLength != nil && *req.HistoryLength < 0:
		return q, invalidParam("historyLength must not be negative")
	}
	if req.PageSize > 0 {
		q.Limit = req.PageSize
	}
	if req.ContextID != "" {
		var wrong *chat.FieldError
		if q.Conversation, wrong = chat.CheckConversationID(req.ContextID); wrong != nil {
			return q, invalidParam("contextId " + wrong.Message)
		}
	}
	return q, setState(&q, req.Status)
}

// setState sets the state that a list is to hold.
func setState(q *store.Query, state sdk.TaskState) error {
	if state == sdk.TaskStateUnspecified {
		return nil
	}
	for _, stored := range [...]string{"submitted", "working", "input-required", "completed", "failed", "canceled"} {
		if storedState(stored) == state {
			q.State = stored
			return nil
		}
	}
	if !strings.HasPrefix(string(state), "TASK_STATE_") {
		return invalidParam("status names no state of a task")
	}
	q.State = "rejected" // a state that our tasks never have
	return nil
}

const (
	// maxCounted bounds the tasks that are counted for one list, and maxLooked the pages of
	// documents that are read to count those that changed after some time.
	maxCounted, maxLooked = 10_000, 16
	// maxDocuments bounds the documents of a list, so that its tasks have at most a mebibyte
	// in A2A's form.
	maxDocuments = 384 << 10
)

// fillPage reads a page, and counts what there is besides it.
func (s *Server) fillPage(ctx context.Context, c *call, q store.Query, req *sdk.ListTasksRequest, page *sdk.ListTasksResponse) error {
	done, err := s.cfg.Tasks.Listing()
	if err != nil {
		return err
	}
	defer done()
	size := q.Limit
	for room := maxDocuments; len(page.Tasks) < size && room > 0; {
		q.Limit = size - len(page.Tasks)
		tasks, next, bytes, err := s.pageOf(ctx, c, q, req, room)
		if err != nil {
			return err
		}
		room -= bytes
		page.Tasks = append(page.Tasks, tasks...)
		if page.NextPageToken = next; next == "" {
			break
		}
		q.Cursor = next
	}
	slices.SortStableFunc(page.Tasks, func(a, b *sdk.Task) int { return changedAt(b).Compare(changedAt(a)) })
	if page.TotalSize = len(page.Tasks); page.NextPageToken == "" && req.PageToken == "" {
		return nil
	}
	return s.countTasks(ctx, c, q, req, page)
}

// countTasks counts the tasks that match, as far as it looks: A2A wants a total, and
// to count all would cost a look at each.
func (s *Server) countTasks(ctx context.Context, c *call, q store.Query, req *sdk.ListTasksRequest, page *sdk.ListTasksResponse) error {
	if req.StatusTimestampAfter == nil {
		total, err := s.cfg.Tasks.Count(ctx, c.principal, q, maxCounted)
		page.TotalSize = total
		return err
	}
	q.Cursor, q.Limit, page.TotalSize = "", store.MaxPage, 0
	for range maxLooked {
		tasks, next, _, err := s.pageOf(ctx, c, q, req, 0)
		if err != nil {
			return err
		}
		page.TotalSize += len(tasks)
		if next == "" {
			break
		}
		q.Cursor = next
	}
	return nil
}

// pageOf returns a page of the store's without tasks that changed too early for the request,
// and how many bytes their documents have.
func (s *Server) pageOf(ctx context.Context, c *call, q store.Query, req *sdk.ListTasksRequest, most int) (tasks []*sdk.Task, next string, bytes int, err error) {
	text, err := s.cfg.Tasks.List(ctx, c.principal, q, req.IncludeArtifacts, most)
	if err != nil {
		if _, ok := err.(*chat.ValidationError); ok {
			err = invalidParam("pageToken is none of a list")
		}
		return nil, "", 0, err
	}
	var list struct {
		Tasks []document `json:"tasks"`
		Next  string     `json:"next_cursor"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, "", 0, err
	}
	after := req.StatusTimestampAfter
	for i := range list.Tasks {
		t := list.Tasks[i].toTask()
		if after == nil || !changedAt(t).Before(*after) {
			tasks = append(tasks, t)
		}
	}
	return tasks, list.Next, len(text), nil
}

// changedAt is when a task changed last; zero if nobody says.
func changedAt(t *sdk.Task) time.Time {
	if t.Status.Timestamp == nil {
		return time.Time{}
	}
	return *t.Status.Timestamp
}
