package chatkit

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"sluice/stream"
)

// base makes what begins an item. Its id is made of the request, so that the same
// events make the same frames again; the thread's id in it makes it hard to guess.
func (e *encoder) base(prefix, kind string) base {
	t := e.turn
	if e.seed == nil {
		seed := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", t.requestID, t.began.UnixNano(), t.thread.ID))
		e.seed = seed[:]
	}
	e.ids++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(e.seed[:32:32], e.ids))
	id := prefix + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return base{id, t.thread.ID, timestamp(t.began.Add(e.now)), kind}
}

// named gives the items of a turn that is kept ids of that turn, and its thread the id that it
// began with: a request that repeats an idempotency key gets the same ones.
func (e *encoder) named(ev *stream.Start) {
	if ev.TurnID == "" {
		return
	}
	seed := sha256.Sum256([]byte(ev.TurnID))
	e.seed, e.turn.thread.ID = seed[:], ev.ConversationID
}

// begin writes what opens the stream.
func (e *encoder) begin(dst []byte) []byte {
	t := e.turn
	if t.create {
		t.thread.CreatedAt = t.began.Add(e.now)
		if t.server.cfg.Store != nil {
			t.thread.Title = shortened(t.input, titleLength)
			thread := t.thread
			e.effect(func(ctx context.Context, s Store) error { return s.Create(ctx, t.owner, thread) })
		}
		dst = frame(dst, threadEvent{"thread.created", t.thread.body(noItems())})
	}
	if t.said != nil {
		dst = e.message(dst)
	} else {
		e.effect(func(ctx context.Context, s Store) error { return s.RemoveAfter(ctx, t.owner, t.thread.ID, t.itemID) })
	}
	return append(dst, options...)
}

// message writes the user's message, which now has an id.
func (e *encoder) message(dst []byte) []byte {
	t := e.turn
	item := userItem{base: e.base("msg", "user_message"), Content: t.said.content, QuotedText: t.said.quoted}
	t.itemID = item.ID
	e.keep(item.ID, t.input, item)
	return frame(dst, itemEvent{"thread.item.done", item})
}

// left adds what was said to a client that left.
func (e *encoder) left() {
	if e.begun && !e.over && e.said != nil && !e.said.blank() {
		item := e.said.item()
		e.keep(item.ID, "", item)
	}
}

// keep adds an item that is complete to what is to be stored.
func (e *encoder) keep(id, input string, item any) {
	t := e.turn
	e.effect(func(ctx context.Context, s Store) error {
		return s.Append(ctx, t.owner, t.thread.ID, Item{ID: id, Input: input, Body: appendJSON(nil, item)})
	})
}

// effect keeps a change of the store until the frame that reports it was written. Without a
// store there is nothing to change.
func (e *encoder) effect(f effect) {
	if e.turn.server.cfg.Store != nil {
		e.effects = append(e.effects, f)
	}
}
