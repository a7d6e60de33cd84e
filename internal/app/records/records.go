// Package records gives access to the records of a task besides its turns: a workflow's run with
// its checkpoints, and sessions of sub-agents. It gives package task the runs to continue with
// (runs.go), shows records over HTTP and turns over A2A, and removes records with their task.
// Package handlers has checked before that the caller may see the task.
package records

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
)

// pageBytes is about how long a page of checkpoints may become: each has the whole state.
const pageBytes = 1 << 20

// Records are those of one store: runs of workflows, and sessions of sub-agents.
type Records struct {
	Runs     *records.RunStore
	Sessions *records.Sessions
}

// Of returns the records of a store, to be read or forgotten.
func Of(st store.Store) Records {
	return Records{Runs: records.NewRunStore(records.RunStoreConfig{Store: st}), Sessions: &records.Sessions{Store: st}}
}

// Forget is a task.Forget: a run's sessions go with its other records, and a task's responses
// with it.
func (r Records) Forget(ctx context.Context, task string) error {
	return errors.Join(r.Runs.Forget(ctx, task), r.Sessions.Forget(ctx, task), forgetResponses(ctx, r.Sessions.Store, task))
}

// Checkpoints implements handlers.Records.
//
// from is the number of the first one, limit how many at most. more says that there are others. A
// page ends early at about pageBytes. A task that is not a run has an empty list.
func (r Records) Checkpoints(ctx context.Context, task string, from, limit int) (list []jsontext.Value, more bool, err error) {
	run, err := r.Runs.LoadShown(ctx, task)
	if errors.Is(err, store.ErrNotFound) { // it is not a run
		return nil, false, nil
	}
	if err != nil {
		return nil, false, readFault(err, "")
	}
	for n, size := from, 0; n < run.Len(); n++ {
		if len(list) == limit || size >= pageBytes {
			return list, true, nil
		}
		text, err := encodeRecord(run.Checkpoint(ctx, n))
		if err != nil {
			return nil, false, readFault(err, "")
		}
		list, size = append(list, text), size+len(text)
	}
	return list, false, nil
}

// Checkpoint implements handlers.Records.
func (r Records) Checkpoint(ctx context.Context, task string, sequence int) ([]byte, error) {
	const none = "The task has no such checkpoint"
	run, err := r.Runs.LoadShown(ctx, task)
	if err != nil {
		return nil, readFault(err, none)
	}
	text, err := encodeRecord(run.Checkpoint(ctx, sequence))
	return text, readFault(err, none)
}

// Session implements handlers.Records. A session of another task is as if it were not
// there: the path names one that the caller may not see.
func (r Records) Session(ctx context.Context, task, id string) ([]byte, error) {
	const none = "The task has no such session"
	if !isSessionID(id) {
		return nil, readFault(store.ErrNotFound, none)
	}
	c, err := r.Sessions.Get(ctx, id)
	if err == nil && c.ParentTaskID != task {
		err = store.ErrNotFound
	}
	text, err := encodeRecord(c, err)
	return text, readFault(err, none)
}

// encodeRecord encodes a record that was read.
//
// It takes the two results of a read, so that a call can be put around it.
func encodeRecord[T any](value *T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// isSessionID says whether a text can be the id of a session: a UUID as package delegate writes
// it.
func isSessionID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// readFault returns the fault of a record that could not be read. none is the message for a missing
// record.
//
// Causes without meaning for the caller become not_found; a damaged record is internal_error, as
// err is not a fault.
func readFault(err error, none string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return &fault.Error{Type: fault.NotFound, Message: none}
	case errors.Is(err, records.ErrVersion):
		return &fault.Error{Type: fault.NotFound, Message: "Another version of this program wrote the record", Err: err}
	case errors.Is(err, engine.ErrGone):
		return &fault.Error{Type: fault.NotFound, Message: "The definition of the workflow is gone", Err: err}
	case errors.Is(err, store.ErrUnavailable):
		return fault.NewStoreUnavailable(err)
	}
	return err
}
