package memory

import (
	linked "container/list"
	"iter"
	"maps"

	"sluice/store"
)

// What gives way when there is too much is found without a search: a store that is full
// removes something with nearly every write.

// ages are keys in the order in which their records were written last, the oldest first.
// Its zero value has none. Like all of a Store it is guarded by mu.
type ages struct{ keys linked.List }

// place is where a key stands among ages; nil: nowhere.
type place = *linked.Element

// renew puts a key behind all others. It returns where the key stands now.
func (a *ages) renew(at place, key string) place {
	if at == nil {
		return a.keys.PushBack(key)
	}
	a.keys.MoveToBack(at)
	return at
}

// leave takes a key out. The result is the place of a key that stands nowhere.
func (a *ages) leave(at place) place {
	if at != nil {
		a.keys.Remove(at)
	}
	return nil
}

// oldest returns the first key that may be removed; "" if there is none. spared is asked of
// few: of what is being written there is one at a time.
func (a *ages) oldest(spared func(key string) bool) string {
	for e := a.keys.Front(); e != nil; e = e.Next() {
		if key := e.Value.(string); !spared(key) {
			return key
		}
	}
	return ""
}

// dropTask removes the oldest task that nobody runs, with its log and its trace: without
// them it would leave behind more than it takes along. It returns false if there is none.
func (s *Store) dropTask(spared string) bool {
	oldest := s.idle.oldest(func(id string) bool { return id == spared || s.tasks[id].Turn == spared })
	if oldest == "" {
		return false
	}
	turn := s.tasks[oldest].Turn
	s.removeTask(oldest)
	s.removeLog(turn)
	if key := store.TraceKey(oldest); key != spared {
		s.removeList(key)
	}
	return true
}

// dropList makes room by the list that was changed longest ago, never the one
// that is written. It returns false if there is none.
func (s *Store) dropList(spared string) bool {
	oldest := s.changed.oldest(func(key string) bool { return key == spared })
	s.removeList(oldest)
	return oldest != ""
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

// enlist makes a new task one of its conversation, which never changes.
func (s *Store) enlist(t *task, m store.Meta) {
	c := conversationOf(m)
	if c == (conversation{}) {
		return
	}
	t.older = s.said[c]
	if t.older != nil {
		t.older.newer = t
	}
	s.said[c] = t
}

// delist takes a task out of its conversation.
func (s *Store) delist(t *task) {
	c := conversationOf(t.Meta)
	switch {
	case t.newer != nil:
		t.newer.older = t.older
	case t.older != nil:
		s.said[c] = t.older
	default:
		delete(s.said, c)
	}
	if t.older != nil {
		t.older.newer = t.newer
	}
	t.older, t.newer = nil, nil
}

// candidates returns the tasks among which a query's are: those of its conversation, or all.
func (s *Store) candidates(q store.Query) iter.Seq[*task] {
	if q.Conversation == "" {
		return maps.Values(s.tasks)
	}
	return func(yield func(*task) bool) {
		for t := s.said[conversation{q.Tenant, q.User, q.Conversation}]; t != nil && yield(t); {
			t = t.older
		}
	}
}
