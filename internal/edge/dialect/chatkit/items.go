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

// newBase returns the first members of the next item. Its id is made of the request, so that equal
// events make equal frames. The thread's id in it makes it hard to guess.
func (e *encoder) newBase(prefix, kind string) base {
	t := e.turn
	if e.seed == nil {
		seed := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", t.requestID, t.began.UnixNano(), t.thread.ID))
		e.seed = seed[:]
	}
	e.ids++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(e.seed[:32:32], e.ids))
	id := prefix + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return base{id, t.thread.ID, formatTime(t.began.Add(e.now)), kind}
}

// useTurnIDs gives the items of a stored turn ids of that turn, and its thread the id that it began
// with. So a request that repeats an idempotency key gets the same ids.
func (e *encoder) useTurnIDs(ev *stream.Start) {
	if ev.TurnID == "" {
		return
	}
	seed := sha256.Sum256([]byte(ev.TurnID))
	e.turnID, e.taskID = ev.TurnID, ev.TaskID
	e.seed, e.turn.thread.ID = seed[:], ev.ConversationID
}

// beginStream writes what opens the stream.
func (e *encoder) beginStream(dst []byte) []byte {
	t := e.turn
	if t.create {
		t.thread.CreatedAt = t.began.Add(e.now)
		if t.server.cfg.Store != nil {
			t.thread.Title = shortenText(t.input, titleLength)
			thread := t.thread
			e.deferEffect(func(ctx context.Context, s Store) error { return s.Create(ctx, t.owner, thread) })
		}
		dst = appendFrame(dst, threadEvent{"thread.created", t.thread.toBody(noItems())})
	}
	if t.message != nil {
		dst = e.appendUserMessage(dst)
	} else {
		e.deferEffect(func(ctx context.Context, s Store) error { return s.RemoveAfter(ctx, t.owner, t.thread.ID, t.itemID) })
	}
	return append(dst, options...)
}

// appendUserMessage writes the user's message, which now has an id.
func (e *encoder) appendUserMessage(dst []byte) []byte {
	t := e.turn
	item := userItem{base: e.newBase("msg", "user_message"), Content: t.message.content, QuotedText: t.message.quoted}
	t.itemID = item.ID
	e.storeItem(item.ID, t.input, item)
	return appendFrame(dst, itemEvent{"thread.item.done", item})
}

// storePartial stores the unfinished answer of a client that left.
func (e *encoder) storePartial() {
	if e.begun && !e.ended && e.answer != nil && !e.answer.isBlank() {
		item := e.answer.currentItem()
		e.storeItem(item.ID, "", item)
	}
}

// storeItem stores a complete item, as an effect.
func (e *encoder) storeItem(id, input string, item any) {
	t := e.turn
	e.deferEffect(func(ctx context.Context, s Store) error {
		shown := Item{ID: id, Input: input, Body: appendJSON(nil, item), Turn: e.turnID, Task: e.taskID}
		if e.stored += len(shown.Body); e.stored > maxShown && t.server.cfg.Follows != nil {
			return nil // the turn has the text
		}
		return s.Append(ctx, t.owner, t.thread.ID, shown)
	})
}

// maxShown bounds the items of a turn that are kept as they were shown, in bytes.
const maxShown = 64 << 10

// deferEffect keeps a change of the store until the frame that reports it was written. Without a store
// it drops the change.
func (e *encoder) deferEffect(f effect) {
	if e.turn.server.cfg.Store != nil {
		e.effects = append(e.effects, f)
	}
}
