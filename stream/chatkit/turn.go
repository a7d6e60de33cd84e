package chatkit

import (
	"context"
	"errors"
	"time"

	"sluice/chat"
)

// storeTimeout bounds one call of the Store while a turn is streamed.
const storeTimeout = 2 * time.Second

// titleLength is how many characters of the first message become a thread's title.
const titleLength = 60

// turn is a user's message and the thread in which it is answered. Until begin it
// changes nothing.
type turn struct {
	server *Server
	ctx    context.Context // of the Store's calls: it has the request's values, and no end
	owner  string
	thread Thread
	create bool         // the thread is new
	said   *userMessage // nil: a message of before is answered anew
	itemID string       // of the message, if it was there before
	input  string
}

// openTurn prepares a turn, and sees to it that there is something to answer.
func (s *Server) openTurn(ctx context.Context, req request) (Exchange, error) {
	t := &turn{server: s, ctx: context.WithoutCancel(ctx), owner: req.owner, said: req.message, itemID: req.itemID}
	var err error
	switch req.kind {
	case threadsCreate:
		t.create, t.thread = true, Thread{ID: newID("conv")}
	case threadsAddUserMessage:
		t.thread, err = s.thread(ctx, req)
	default:
		t.thread = Thread{ID: req.threadID}
		t.input, err = s.said(ctx, req)
	}
	if err != nil {
		return Exchange{}, err
	}
	if t.said != nil {
		t.input = t.said.input
	}
	e := &encoder{turn: t}
	return Exchange{
		Request: chat.Request{Input: t.input, ConversationID: t.thread.ID, UserID: req.owner, Location: req.location},
		Encoder: e,
		Close:   e.close,
	}, nil
}

// said returns what the model was asked with a message of before.
func (s *Server) said(ctx context.Context, req request) (string, error) {
	if s.cfg.Store == nil {
		input, ok := s.recent.get(recentKey{req.owner, req.threadID, req.itemID})
		if !ok {
			return "", found(ErrNotFound, noMessage)
		}
		return input, nil
	}
	item, err := s.cfg.Store.Item(ctx, req.owner, req.threadID, req.itemID)
	if err == nil && item.Input == "" {
		err = ErrNotFound // it is nobody's message
	}
	return item.Input, found(err, noMessage)
}

// begin tells what opens the stream, and keeps it.
func (t *turn) begin(dst []byte) []byte {
	if t.create {
		t.thread.CreatedAt = time.Now()
		if t.server.cfg.Store != nil {
			t.thread.Title = shortened(t.input, titleLength)
			t.store(func(ctx context.Context, s Store) error { return s.Create(ctx, t.owner, t.thread) })
		}
		dst = frame(dst, threadEvent{"thread.created", t.thread.body(noItems)})
	}
	if t.said != nil {
		dst = t.message(dst)
	} else {
		t.store(func(ctx context.Context, s Store) error { return s.RemoveAfter(ctx, t.owner, t.thread.ID, t.itemID) })
	}
	if t.server.cfg.Store == nil {
		t.server.recent.put(recentKey{t.owner, t.thread.ID, t.itemID}, t.input)
	}
	return append(dst, options...)
}

// message tells the user's message, which now has an id.
func (t *turn) message(dst []byte) []byte {
	item := userItem{base: newBase(t.thread.ID, "msg", "user_message"), Content: t.said.content, QuotedText: t.said.quoted}
	t.itemID = item.ID
	t.keep(item.ID, t.input, item)
	return frame(dst, itemEvent{"thread.item.done", item})
}

// keep keeps an item that is complete.
func (t *turn) keep(id, input string, item any) {
	t.store(func(ctx context.Context, s Store) error {
		return s.Append(ctx, t.owner, t.thread.ID, Item{ID: id, Input: input, Body: appendJSON(nil, item)})
	})
}

func (t *turn) store(do func(context.Context, Store) error) {
	if t.server.cfg.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, storeTimeout)
	defer cancel()
	if err := do(ctx, t.server.cfg.Store); err != nil && !errors.Is(err, ErrNotFound) {
		t.server.cfg.OnError(ctx, err)
	}
}
