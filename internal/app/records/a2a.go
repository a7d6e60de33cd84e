package records

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect/a2a"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Tasks shows A2A the turns of a store. It implements a2a.Tasks.
type Tasks struct {
	*task.Service
	Approvals *approval.Service // nil: nobody is asked
}

// Questions implements a2a.Tasks.
func (t Tasks) Questions(ctx context.Context, who chat.Principal, ids []string) ([]*stream.Approval, error) {
	if t.Approvals == nil {
		return nil, nil
	}
	return t.Approvals.PendingFor(ctx, approval.Caller{Principal: who}, ids)
}

// Task implements a2a.Tasks.
func (t Tasks) Task(ctx context.Context, who chat.Principal, id string) ([]byte, string, error) {
	return t.Recorded(ctx, task.Caller{Principal: who}, id)
}

// List implements a2a.Tasks.
func (t Tasks) List(ctx context.Context, who chat.Principal, q store.Query, artifacts bool, most int) ([]byte, error) {
	list, err := t.Service.List(ctx, task.Caller{Principal: who}, q, task.ListOptions{Artifacts: artifacts, Most: most})
	if err != nil {
		return nil, err
	}
	return json.Marshal(list, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Count implements a2a.Tasks.
func (t Tasks) Count(ctx context.Context, who chat.Principal, q store.Query, most int) (int, error) {
	return t.Service.Count(ctx, task.Caller{Principal: who}, q, most)
}

// Cancel implements a2a.Tasks.
func (t Tasks) Cancel(ctx context.Context, who chat.Principal, id string) error {
	_, _, err := t.Service.Cancel(ctx, task.Caller{Principal: who}, id)
	return err
}

// Log implements a2a.Tasks.
func (t Tasks) Log(ctx context.Context, turn string) (a2a.Log, error) {
	log, err := t.OpenLog(ctx, turn)
	if err == nil {
		t.Resumed("resumed")
	}
	return turnLog{log}, goneError(err)
}

// goneError translates the error of a log that is not there.
//
// Packages of one layer do not know each other's errors, so that they are translated where
// both are known.
func goneError(err error) error {
	if errors.Is(err, task.ErrGone) {
		return a2a.ErrGone
	}
	return err
}

// turnLog is one turn's log as A2A reads it: first the earlier events, then new ones.
type turnLog struct{ *task.Log }

// Past implements a2a.Log.
func (l turnLog) Past(ctx context.Context, use func(stream.Event)) (bool, error) {
	ended, err := l.Log.Past(ctx, use)
	return ended, goneError(err)
}

// Follow implements a2a.Log.
//
// It flushes behind each batch, and ends with the log, with ctx, or with the first error of
// flush.
func (l turnLog) Follow(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error {
	for events, err := range l.Events(ctx) {
		for _, e := range events {
			use(e.Stamp, e.Event)
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
