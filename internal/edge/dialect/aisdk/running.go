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
	// Running returns the newest task of a user's conversation that is under way, and its
	// turn; empty: there is none.
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
	// Rest calls use with the events from the first to Done, as they come, and flush behind
	// those that came together. It ends with ctx, or with the first error of flush.
	Rest(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error
}

// nothing answers a client that asks for what is not under way.
func nothing() *dialect.Exchange {
	return &dialect.Exchange{Reply: &dialect.Reply{Status: http.StatusNoContent}}
}

// sought is whose turn a request without a body is about.
type sought struct {
	who        chat.Principal
	user       string
	task, turn string // empty: there is none
}

// seek finds the turn under way of the chat in the path.
func (s *Server) seek(r *http.Request) (f sought, err error) {
	e := new(chat.ValidationError)
	conversation := dialect.ConversationID(r.PathValue("id"), "/id", e)
	user, wrong := chat.CheckUserID(r.URL.Query().Get("user_id"))
	if e.Add("/user_id", wrong); len(e.Fields) > 0 {
		return f, e
	}
	f.who, f.user = chat.TurnOf(r.Context()).Principal, user
	if _, ok := f.who.For(user); !ok {
		return f, dialect.ForeignUser()
	}
	if s.cfg.Turns == nil {
		return f, nil
	}
	f.task, f.turn, err = s.cfg.Turns.Running(r.Context(), f.who, f.user, conversation)
	return f, err
}

// follow reports the turn under way from its first part: what the client had of it is lost.
func (s *Server) follow(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	f, err := s.seek(r)
	if err != nil || f.turn == "" {
		return nothing(), err
	}
	log, err := s.cfg.Turns.Log(r.Context(), f.turn)
	if err != nil || log == nil {
		return nothing(), err
	}
	x := &dialect.Exchange{Header: head(), Encoder: reload(log.Stored()), Followed: f.turn}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		done := false
		err := log.Rest(ctx, func(stamp stream.Stamp, ev stream.Event) {
			_ = out.WriteFrame(x.Encoder.Encode(nil, stamp, ev)) // its error is that of Flush
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return x, nil
}

// stop ends the turn under way. One that has just ended by itself has what the client wants.
func (s *Server) stop(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	f, err := s.seek(r)
	if err != nil || f.task == "" {
		return nothing(), err
	}
	err = s.cfg.Turns.Cancel(r.Context(), f.who, f.user, f.task)
	if fault.IsStoreUnavailable(err) {
		return nil, err
	}
	return nothing(), nil
}
