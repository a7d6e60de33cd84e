package memory

import (
	"iter"
	"maps"

	"sluice/internal/state/store"
)

// A record that makes room is found without a search, since a full store removes something with
// nearly every write.

// ages are the records of which the oldest make room, in the order of their last writes, the oldest
// first. Its zero value is empty. Like all of a Store it is guarded by mu.
type ages struct{ first, last *age }

// age is the place of a record among ages, and a part of it: so it costs the garbage
// collector nothing of its own. Its zero value stands nowhere.
type age struct {
	key          string // empty: it stands nowhere
	older, newer *age
}

// moveToEnd puts a record behind all others.
func (a *ages) moveToEnd(at *age, key string) {
	a.removeRecord(at)
	*at = age{key: key, older: a.last}
	if a.last != nil {
		a.last.newer = at
	} else {
		a.first = at
	}
	a.last = at
}

// removeRecord takes a record out, if it is in.
func (a *ages) removeRecord(at *age) {
	if at.key == "" {
		return
	}
	if at.older != nil {
		at.older.newer = at.newer
	} else {
		a.first = at.newer
	}
	if at.newer != nil {
		at.newer.older = at.older
	} else {
		a.last = at.older
	}
	*at = age{}
}

// oldestKey returns the first key that may be removed, or "". spared is called for few keys: at
// most one record at a time is being written.
func (a *ages) oldestKey(spared func(key string) bool) string {
	for at := a.first; at != nil; at = at.newer {
		if !spared(at.key) {
			return at.key
		}
	}
	return ""
}

// conversation is whose tasks a new turn of it may have to look at. The zero value is of no
// user and no conversation, and then nothing is listed.
type conversation struct{ tenant, user, id string }

// conversationOf returns the conversation of a task.
func conversationOf(m store.Meta) conversation {
	if m.Conversation == "" {
		return conversation{}
	}
	return conversation{m.Tenant, m.User, m.Conversation}
}

// addToConversation makes a new task one of its conversation, which never changes.
func (s *Store) addToConversation(t *task, m store.Meta) {
	c := conversationOf(m)
	if c == (conversation{}) {
		return
	}
	s.named[c.id]++
	t.older = s.newest[c]
	if t.older != nil {
		t.older.newer = t
	}
	s.newest[c] = t
}

// removeFromConversation takes a task out of its conversation.
func (s *Store) removeFromConversation(t *task) {
	c := conversationOf(t.Meta)
	if s.named[c.id]--; s.named[c.id] <= 0 {
		delete(s.named, c.id)
	}
	switch {
	case t.newer != nil:
		t.newer.older = t.older
	case t.older != nil:
		s.newest[c] = t.older
	default:
		delete(s.newest, c)
	}
	if t.older != nil {
		t.older.newer = t.newer
	}
	t.older, t.newer = nil, nil
}

// candidatesOf returns the tasks that a query may ask for: those of its conversation, or all.
func (s *Store) candidatesOf(q store.Query) iter.Seq[*task] {
	if q.Conversation == "" {
		return maps.Values(s.tasks)
	}
	return func(yield func(*task) bool) {
		for t := s.newest[conversation{q.Tenant, q.User, q.Conversation}]; t != nil && yield(t); {
			t = t.older
		}
	}
}
