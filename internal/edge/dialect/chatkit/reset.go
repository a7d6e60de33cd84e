package chatkit

import "context"

// completedItem is an item of a turn that is complete: a message of the model, or a workflow.
type completedItem struct {
	id   string
	item any
	size int // bytes of its text; 0: it is a workflow
}

// completeItem stores an item that the client has whole.
func (e *encoder) completeItem(id string, item any, size int) {
	e.completed = append(e.completed, completedItem{id, item, size})
	e.storeItem(id, "", item)
}

// resetText takes back all text behind the first bytes. A message cannot become shorter: those that
// say too much are removed, and what stays of the first of them begins a new one.
func (e *encoder) resetText(dst []byte, size int) []byte {
	first := -1 // of the complete items that are removed
	for i, s := range e.completed {
		if s.size > size {
			first = i
			break
		}
		size -= s.size
	}
	var rest []byte
	if first >= 0 {
		rest = []byte(e.completed[first].item.(assistantItem).Content[0].Text)[:size]
		dst = e.removeFrom(dst, first)
	}
	if m := e.answer; m != nil && (first >= 0 || len(m.text) > size) {
		if first < 0 {
			rest = m.text[:size]
		}
		dst, e.answer = appendFrame(dst, removedEvent{"thread.item.removed", m.ID}), nil
	}
	if len(rest) > 0 {
		dst = e.addDelta(dst, string(rest))
	}
	return dst
}

// removeFrom removes the messages among the complete items from one on. In the stored thread it appends
// the workflows between them again, as a Store cannot do otherwise.
func (e *encoder) removeFrom(dst []byte, first int) []byte {
	t, before := e.turn, e.turn.itemID
	if first > 0 {
		before = e.completed[first-1].id
	}
	e.deferEffect(func(ctx context.Context, s Store) error { return s.RemoveAfter(ctx, t.owner, t.thread.ID, before) })
	gone := e.completed[first:]
	e.completed = e.completed[:first:first]
	for _, s := range gone {
		if s.size > 0 {
			dst = appendFrame(dst, removedEvent{"thread.item.removed", s.id})
			continue
		}
		e.completeItem(s.id, s.item, 0)
	}
	return dst
}
