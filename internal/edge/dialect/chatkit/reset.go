package chatkit

import "context"

// shown is an item of a turn that is complete: a message of the model, or a workflow.
type shown struct {
	id   string
	item any
	size int // bytes of its text; 0: it is a workflow
}

// complete stores an item that the client has whole.
func (e *encoder) complete(id string, item any, size int) {
	e.shown = append(e.shown, shown{id, item, size})
	e.keep(id, "", item)
}

// reset takes back all text behind the first bytes. A message cannot become shorter: those that
// say too much are removed, and what stays of the first of them begins a new one.
func (e *encoder) reset(dst []byte, size int) []byte {
	first := -1 // of the complete items that are removed
	for i, s := range e.shown {
		if s.size > size {
			first = i
			break
		}
		size -= s.size
	}
	var rest []byte
	if first >= 0 {
		rest = []byte(e.shown[first].item.(assistantItem).Content[0].Text)[:size]
		dst = e.remove(dst, first)
	}
	if m := e.said; m != nil && (first >= 0 || len(m.text) > size) {
		if first < 0 {
			rest = m.text[:size]
		}
		dst, e.said = frame(dst, removedEvent{"thread.item.removed", m.ID}), nil
	}
	if len(rest) > 0 {
		dst = e.delta(dst, string(rest))
	}
	return dst
}

// remove removes the messages among the complete items from one on. In the thread that is kept
// the workflows between them are appended once more: it has no other way.
func (e *encoder) remove(dst []byte, first int) []byte {
	t, before := e.turn, e.turn.itemID
	if first > 0 {
		before = e.shown[first-1].id
	}
	e.effect(func(ctx context.Context, s Store) error { return s.RemoveAfter(ctx, t.owner, t.thread.ID, before) })
	gone := e.shown[first:]
	e.shown = e.shown[:first:first]
	for _, s := range gone {
		if s.size > 0 {
			dst = frame(dst, removedEvent{"thread.item.removed", s.id})
			continue
		}
		e.complete(s.id, s.item, 0)
	}
	return dst
}
