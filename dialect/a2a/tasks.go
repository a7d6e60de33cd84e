package a2a

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/chat"
	"sluice/store"
)

// document is what this package reads of a task's document.
type document struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	History   []said     `json:"history"`
	Artifacts []artifact `json:"artifacts"`
	Metadata  map[string]any
}

// status is the state of a stored task.
type status struct {
	State     string `json:"state"`
	Message   *said  `json:"message"`
	Timestamp string `json:"timestamp"`
}

// said is a message of a stored task.
type said struct {
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

// states are those of documents, and what they are on the wire. Others are not specified.
var states = []struct {
	stored string
	told   sdk.TaskState
}{
	{"submitted", sdk.TaskStateSubmitted},
	{"working", sdk.TaskStateWorking},
	{"input-required", sdk.TaskStateInputRequired},
	{"completed", sdk.TaskStateCompleted},
	{"failed", sdk.TaskStateFailed},
	{"canceled", sdk.TaskStateCanceled},
}

// readTask makes a task of its document.
func readTask(doc []byte) (*sdk.Task, error) {
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	return d.task(), nil
}

// task is the document in A2A's form. A state that A2A has no word for stays
// unspecified.
func (d *document) task() *sdk.Task {
	t := &sdk.Task{ID: sdk.TaskID(d.ID), ContextID: d.ContextID, Metadata: d.Metadata}
	for _, s := range states {
		if s.stored == d.Status.State {
			t.Status.State = s.told
		}
	}
	if at, err := time.Parse(time.RFC3339, d.Status.Timestamp); err == nil {
		t.Status.Timestamp = &at
	}
	if d.Status.Message != nil {
		t.Status.Message = d.Status.Message.message(t, "status")
	}
	for i := range d.History {
		t.History = append(t.History, d.History[i].message(t, strconv.Itoa(i)))
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

// message returns a message of a task. place is for the id of one that has none.
func (s *said) message(t *sdk.Task, place string) *sdk.Message {
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

// list returns a page of the tasks of a conversation, those first that began last.
func (s *Server) list(ctx context.Context, c *call, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	q, err := query(c, req)
	if err != nil {
		return nil, err
	}
	size := q.Limit
	page := &sdk.ListTasksResponse{PageSize: size, Tasks: []*sdk.Task{}}
	if s.cfg.Tasks == nil {
		for _, t := range s.running.of(q.Conversation) {
			if q.State == "" || req.Status == t.Status.State {
				page.Tasks = append(page.Tasks, t)
			}
		}
		page.TotalSize = len(page.Tasks)
	} else if err := s.fill(ctx, c, q, req, page); err != nil {
		return nil, err
	}
	for _, t := range page.Tasks {
		t.History = last(t.History, req.HistoryLength)
		if !req.IncludeArtifacts {
			t.Artifacts = nil
		}
	}
	return page, nil
}

// query checks what a list is to hold.
func query(c *call, req *sdk.ListTasksRequest) (store.Query, error) {
	q := store.Query{Cursor: req.PageToken, Limit: defaultPage}
	switch {
	case req.ContextID == "" && c.who.ID == "":
		return q, invalid("contextId is required")
	case req.PageSize < 0 || req.PageSize > store.MaxPage:
		return q, invalid("pageSize must be from 1 to 100")
	case req.HistoryLength != nil && *req.HistoryLength < 0:
		return q, invalid("historyLength must not be negative")
	}
	if req.PageSize > 0 {
		q.Limit = req.PageSize
	}
	if req.ContextID != "" {
		var wrong *chat.FieldError
		if q.Conversation, wrong = chat.CheckConversationID(req.ContextID); wrong != nil {
			return q, invalid("contextId " + wrong.Message)
		}
	}
	return q, wanted(&q, req.Status)
}

// wanted sets the state that a list is to hold.
func wanted(q *store.Query, state sdk.TaskState) error {
	if state == sdk.TaskStateUnspecified {
		return nil
	}
	i := slices.IndexFunc(states, func(s struct {
		stored string
		told   sdk.TaskState
	}) bool {
		return s.told == state
	})
	if i < 0 && !strings.HasPrefix(string(state), "TASK_STATE_") {
		return invalid("status names no state of a task")
	}
	q.State = "rejected" // which no task of ours is
	if i >= 0 {
		q.State = states[i].stored
	}
	return nil
}

// maxCounted bounds the tasks that are counted for one list.
const maxCounted = 10_000

// fill reads a page, and counts what there is beside it.
func (s *Server) fill(ctx context.Context, c *call, q store.Query, req *sdk.ListTasksRequest, page *sdk.ListTasksResponse) error {
	size := q.Limit
	for len(page.Tasks) < size {
		q.Limit = size - len(page.Tasks)
		tasks, next, err := s.pageOf(ctx, c, q, req.StatusTimestampAfter)
		if err != nil {
			return err
		}
		page.Tasks = append(page.Tasks, tasks...)
		if page.NextPageToken = next; next == "" {
			break
		}
		q.Cursor = next
	}
	slices.SortStableFunc(page.Tasks, func(a, b *sdk.Task) int { return updated(b).Compare(updated(a)) })
	if page.TotalSize = len(page.Tasks); page.NextPageToken == "" && req.PageToken == "" {
		return nil
	}
	return s.count(ctx, c, q, req, page)
}

// count counts the tasks that match, up to maxCounted: A2A wants a total, and
// to count all would cost a look at each.
func (s *Server) count(ctx context.Context, c *call, q store.Query, req *sdk.ListTasksRequest, page *sdk.ListTasksResponse) error {
	q.Cursor, q.Limit, page.TotalSize = "", store.MaxPage, 0
	for page.TotalSize < maxCounted {
		tasks, next, err := s.pageOf(ctx, c, q, req.StatusTimestampAfter)
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

// pageOf returns a page of the store's, without tasks that were written before after.
func (s *Server) pageOf(ctx context.Context, c *call, q store.Query, after *time.Time) (tasks []*sdk.Task, next string, err error) {
	text, err := s.cfg.Tasks.List(ctx, c.who, q)
	if err != nil {
		if _, ok := err.(*chat.ValidationError); ok {
			err = invalid("pageToken is none of a list")
		}
		return nil, "", err
	}
	var list struct {
		Tasks []document `json:"tasks"`
		Next  string     `json:"next_cursor"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, "", err
	}
	for i := range list.Tasks {
		t := list.Tasks[i].task()
		if after == nil || !updated(t).Before(*after) {
			tasks = append(tasks, t)
		}
	}
	return tasks, list.Next, nil
}

// updated is when a task changed last; zero if nobody says.
func updated(t *sdk.Task) time.Time {
	if t.Status.Timestamp == nil {
		return time.Time{}
	}
	return *t.Status.Timestamp
}
