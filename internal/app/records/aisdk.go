package records

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/internal/edge/dialect/aisdk"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// Chats shows the AI SDK's clients the turns of a store. It implements aisdk.Turns.
type Chats struct{ *task.Service }

// Running implements aisdk.Turns.
func (c Chats) Running(ctx context.Context, who chat.Principal, user, conversation string) (id, turn string, err error) {
	done, err := c.Listing()
	if err != nil {
		return "", "", err
	}
	defer done()
	caller := task.Caller{Principal: who, UserID: user}
	list, err := c.List(ctx, caller, store.Query{Conversation: conversation, State: task.Working, Limit: 1}, task.ListOptions{})
	if err != nil || len(list.Tasks) == 0 {
		return "", "", err
	}
	var doc struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(list.Tasks[0], &doc); err != nil {
		return "", "", err
	}
	turn, err = c.LastTurn(ctx, caller, doc.ID)
	return doc.ID, turn, err
}

// Cancel implements aisdk.Turns.
func (c Chats) Cancel(ctx context.Context, who chat.Principal, user, id string) error {
	_, _, err := c.Service.Cancel(ctx, task.Caller{Principal: who, UserID: user}, id)
	return err
}

// Log implements aisdk.Turns.
func (c Chats) Log(ctx context.Context, turn string) (aisdk.Log, error) {
	log, err := c.OpenLog(ctx, turn)
	if errors.Is(err, task.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.Resumed("resumed")
	return storedLog{turnLog{log}}, nil
}

// storedLog is one turn's log as the AI SDK's clients read it.
type storedLog struct{ turnLog }

// Stored implements aisdk.Log.
func (l storedLog) Stored() aisdk.Stored {
	k := aisdk.Stored{TurnID: l.Turn, RequestID: l.RequestID, Dialect: l.Dialect, Facts: l.Facts}
	if l.Began > 0 {
		k.Began = time.Unix(0, l.Began)
	}
	return k
}
