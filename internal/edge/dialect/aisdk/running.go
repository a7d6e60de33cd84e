package aisdk

import (
	"context"
	"net/http"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Turns are the turns that a store keeps.
type Turns interface {
	// Running returns the newest running task of a user's conversation and its turn, or empty ids.
	Running(ctx context.Context, who chat.Principal, user, conversation string) (task, turn string, err error)
	// Log opens the log of a turn; nil: it is gone.
	Log(ctx context.Context, turn string) (Log, error)
	// Cancel ends a task.
	Cancel(ctx context.Context, who chat.Principal, user, task string) error
}

// Stored says how a turn was asked for; its Dialect is empty where that is our own protocol.
type Stored = dialect.StoredTurn

// Log is the log of one turn.
type Log interface {
	Stored() Stored
	// Follow calls use with the events from the first to Done, as they come, and flush behind
	// those that came together. It ends with ctx, or with the first error of flush.
	Follow(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error
}

// noContent answers a client that asks for a turn that is not under way.
func noContent() *dialect.Exchange {
	return &dialect.Exchange{Reply: &dialect.Reply{Status: http.StatusNoContent}}
}

// sought is whose turn a request without a body is about.
type sought struct {
	principal  chat.Principal
	user       string
	task, turn string // empty without a running turn
}

// findRunning finds the turn under way of the chat in the path.
func (s *Server) findRunning(r *http.Request) (f sought, err error) {
	e := new(chat.ValidationError)
	conversation := dialect.ConversationID(r.PathValue("id"), "/id", e)
	user, wrong := chat.CheckUserID(r.URL.Query().Get("user_id"))
	if e.Add("/user_id", wrong); len(e.Fields) > 0 {
		return f, e
	}
	f.principal, f.user = chat.TurnOf(r.Context()).Principal, user
	if _, ok := f.principal.For(user); !ok {
		return f, dialect.ForeignUser()
	}
	if s.cfg.Turns == nil {
		return f, nil
	}
	f.task, f.turn, err = s.cfg.Turns.Running(r.Context(), f.principal, f.user, conversation)
	return f, err
}

// followTurn reports the turn under way from its first part, as the client has lost the parts that
// it had.
func (s *Server) followTurn(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	f, err := s.findRunning(r)
	if err != nil || f.turn == "" {
		return noContent(), err
	}
	log, err := s.cfg.Turns.Log(r.Context(), f.turn)
	if err != nil || log == nil {
		return noContent(), err
	}
	x := &dialect.Exchange{Header: protocolHeader(), Encoder: reloadEncoder(log.Stored()), Followed: f.turn}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		done := false
		err := log.Follow(ctx, func(stamp stream.Stamp, ev stream.Event) {
			_ = out.WriteFrame(x.Encoder.Encode(nil, stamp, ev)) // its error is that of Flush
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return x, nil
}

// stopTurn ends the turn under way. A turn that has just ended by itself counts as stopped.
func (s *Server) stopTurn(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	f, err := s.findRunning(r)
	if err != nil || f.task == "" {
		return noContent(), err
	}
	err = s.cfg.Turns.Cancel(r.Context(), f.principal, f.user, f.task)
	if fault.IsStoreUnavailable(err) {
		return nil, err
	}
	return noContent(), nil
}
