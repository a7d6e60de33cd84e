package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// Records gives access to the data of a task besides its document. The caller has checked before to
// whom the task belongs. Its errors are *fault.Error. It is safe for concurrent use.
type Records interface {
	// Checkpoints returns those of a run from number from on, at least one and at most limit, and
	// whether others follow. The list is empty if the task is not a run, or lacks these numbers.
	Checkpoints(ctx context.Context, task string, from, limit int) (list []jsontext.Value, more bool, err error)
	// Checkpoint returns one by its number, and Session a session of a sub-agent by its id. The
	// error is fault.NotFound if the task lacks it.
	Checkpoint(ctx context.Context, task string, sequence int) ([]byte, error)
	Session(ctx context.Context, task, id string) ([]byte, error)
}

// Bounds of a page of checkpoints. Each holds the whole state of its run.
const (
	fewCheckpoints = 20
	maxCheckpoints = 100
)

// recordAPI serves the records of tasks.
type recordAPI struct {
	tasks   *task.Service
	records Records
}

// addRoutes routes the records.
func (ra *recordAPI) addRoutes(ro *router) {
	ro.routeRead("/tasks/:id/checkpoints", inspected, ra.listCheckpoints)
	ro.routeRead("/tasks/:id/checkpoints/:sequence", inspected, ra.showCheckpoint)
	ro.routeRead("/tasks/:id/sessions/:session", inspected, ra.showSession)
}

// ownTask returns the task of the path, if it is the caller's, and the query. A task of another
// user counts as missing.
func (ra *recordAPI) ownTask(r *http.Request) (id string, query map[string][]string, err error) {
	c, query, err := callerOf(r)
	if err != nil {
		return "", nil, err
	}
	if id, err = taskID(r); err == nil {
		err = ra.tasks.Mine(r.Context(), c, id)
	}
	return id, query, err
}

// listCheckpoints replies with a page of checkpoints, the first one first.
func (ra *recordAPI) listCheckpoints(w http.ResponseWriter, r *http.Request) error {
	id, query, err := ra.ownTask(r)
	if err != nil {
		return err
	}
	e := new(chat.ValidationError)
	from, limit := checkpointsFrom(query, e), checkpointsIn(query, e)
	if len(e.Fields) > 0 {
		return e
	}
	page := struct {
		Checkpoints []jsontext.Value `json:"checkpoints"`
		Next        string           `json:"next_cursor,omitempty"`
	}{Checkpoints: []jsontext.Value{}}
	done, err := ra.tasks.Listing()
	if err != nil {
		return err
	}
	list, more, err := ra.records.Checkpoints(r.Context(), id, from, limit)
	if done(); err != nil {
		return err
	}
	page.Checkpoints = append(page.Checkpoints, list...)
	if more {
		page.Next = strconv.Itoa(from + len(list))
	}
	return writeJSON(w, http.StatusOK, page)
}

// checkpointsFrom reads which checkpoint a page begins with.
func checkpointsFrom(query url.Values, e *chat.ValidationError) int {
	given := query["cursor"]
	if len(given) == 0 {
		return 0
	}
	n, ok := eventNumber(given[0])
	if !ok || len(given) > 1 {
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
	}
	return n
}

// checkpointsIn reads how many checkpoints a page may have.
func checkpointsIn(query url.Values, e *chat.ValidationError) int {
	given := query["limit"]
	if len(given) == 0 {
		return fewCheckpoints
	}
	n, ok := eventNumber(given[0])
	if !ok || n < 1 || n > maxCheckpoints || len(given) > 1 {
		e.Add("/limit", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be a number from 1 to 100"})
	}
	return n
}

// showCheckpoint replies with one checkpoint.
func (ra *recordAPI) showCheckpoint(w http.ResponseWriter, r *http.Request) error {
	id, _, err := ra.ownTask(r)
	if err != nil {
		return err
	}
	n, ok := eventNumber(r.PathValue("sequence"))
	if !ok {
		return &fault.Error{Type: fault.NotFound, Message: "There is no such checkpoint: they are numbered 0, 1, 2 and so on"}
	}
	doc, err := ra.records.Checkpoint(r.Context(), id, n)
	if err == nil {
		writeBody(w, http.StatusOK, doc)
	}
	return err
}

// showSession replies with one session of a sub-agent.
func (ra *recordAPI) showSession(w http.ResponseWriter, r *http.Request) error {
	id, _, err := ra.ownTask(r)
	if err != nil {
		return err
	}
	doc, err := ra.records.Session(r.Context(), id, r.PathValue("session"))
	if err == nil {
		writeBody(w, http.StatusOK, doc)
	}
	return err
}
