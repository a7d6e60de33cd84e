package records

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/openai"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// responseLives is how long a response is kept.
const responseLives = 24 * time.Hour

// maxResponses is how many responses of one task are removed with it; more expire by themselves.
const maxResponses = 1000

// Responses are OpenAI's responses of a store. It implements openai.Turns.
type Responses struct {
	*task.Service
	Store store.Store
}

// Response implements openai.Turns.
func (r Responses) Response(ctx context.Context, turn string) ([]byte, int64, error) {
	v, err := r.Store.Value(ctx, store.ResponseKey(store.ResponseID(turn)))
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, responseFault(err)
	}
	return v.Data, v.Version, nil
}

// responseFault is the fault of a store that cannot be asked for responses.
func responseFault(err error) error {
	f := fault.NewStoreUnavailable(err)
	f.Service = "store"
	return f
}

// KeepResponse implements openai.Turns. A failure is logged: the turn is worth more.
//
// The task has a list of its responses, so that they go with it.
func (r Responses) KeepResponse(ctx context.Context, task, turn string, data []byte, version int64) {
	_, err := r.Store.PutValue(ctx, store.ResponseKey(store.ResponseID(turn)), store.Value{Data: data, Version: version}, responseLives)
	if err == nil && version == 0 {
		err = r.Store.PushList(ctx, store.ResponsesKey(task), []byte(turn), store.Bounds{Items: maxResponses, Task: task}, responseLives)
	}
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return
	}
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().
		Str("error_type", string(fault.StoreUnavailable)).AnErr("error_message", err).Bool("recoverable", true)).Msg("error_occurred")
}

// DropResponse implements openai.Turns.
func (r Responses) DropResponse(ctx context.Context, turn string) error {
	if err := r.Store.DeleteValue(ctx, store.ResponseKey(store.ResponseID(turn))); err != nil {
		return responseFault(err)
	}
	return nil
}

// ResponseLog implements openai.Turns.
func (r Responses) ResponseLog(ctx context.Context, turn string) (openai.Log, error) {
	log, err := r.OpenLog(ctx, turn)
	if errors.Is(err, task.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return storedLog{turnLog{log}}, nil
}

// CancelResponse implements openai.Turns.
func (r Responses) CancelResponse(ctx context.Context, who chat.Principal, user, id string) error {
	_, _, err := r.Cancel(ctx, task.Caller{Principal: who, UserID: user}, id)
	return err
}

// forgetResponses removes the responses of a task.
func forgetResponses(ctx context.Context, st interface {
	store.Values
	store.Lists
}, task string) error {
	turns, err := st.List(ctx, store.ResponsesKey(task), 0, maxResponses)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for _, turn := range turns {
		if chat.IsTurnID(string(turn)) {
			if err := st.DeleteValue(ctx, store.ResponseKey(store.ResponseID(string(turn)))); err != nil {
				return err
			}
		}
	}
	if len(turns) == 0 {
		return nil
	}
	return st.DeleteList(ctx, store.ResponsesKey(task))
}
