package task

import (
	"context"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// Request describes a turn that is to be stored.
type Request struct {
	Chat   *chat.Request
	TaskID string // task that waits for the input; empty: see Recall
	// Recall looks at the newest task of the conversation: the input answers its question, if
	// it has one, and Chat learns who answered last. Else the turn gets a task of its own.
	Recall bool
	// AskingTurn is the turn of TaskID that waits for a person, and has an answer now; empty:
	// TaskID waits for an input.
	AskingTurn string
	// Question is the one that the person has answered.
	Question string
	// MessageID is the client's id of its message, or empty.
	MessageID string
	// RequestID is the id in frames. Accumulated is kept for readers of the log, whose frames must
	// be the same.
	RequestID   string
	Accumulated bool
	Protocol    Protocol
	Detached    bool // the turn continues when its client leaves
	Retracts    bool // readers of the turn can learn that earlier text is invalid
	Durable     bool // and when its process does: it is a run of Config.Runs
	// Key is the client's idempotency key; empty: none.
	Key  string
	Body *[32]byte // SHA-256 of the request that came with Key; nil without a key
	// KeyMade says that Key was made of the request: the turn can do without the store.
	KeyMade bool
	// Sender is the owner of Key if the request continues a turn of another user; nil if Chat's
	// owner is.
	Sender *string
	// Cancel ends the turn.
	Cancel context.CancelCauseFunc
}

// keyName returns the store's key for the request's idempotency key. It belongs to the sender.
func (r *Request) keyName() string {
	sender := r.Chat.Owner()
	if r.Sender != nil {
		sender = *r.Sender
	}
	return store.IdempotencyKey(r.Chat.Principal.Tenant, sender, r.Key)
}
