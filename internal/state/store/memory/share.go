package memory

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"sluice/internal/state/store"
)

// Only tasks that have ended make room, with the records that stand on them. The share
// that has most gives first, so a flood of one tenant costs another tenant nothing.

// shareKey names a share: a tenant, or a user without a tenant.
type shareKey struct{ tenant, user string }

// share is the part of a Store that belongs to a tenant, or to a user without a tenant.
type share struct {
	key     shareKey
	bytes   int  // of its tasks, and of their logs and lists
	records int  // these tasks, logs and lists
	ended   ages // ids of its tasks that have ended
	place   int  // in the heap of shares with such a task, or -1
}

// shareOf returns the share of a task, and makes it if it is missing.
func (s *Store) shareOf(m *store.Meta) *share {
	key := shareKey{tenant: m.Tenant}
	if m.Tenant == "" {
		key.user = m.User
	}
	of := s.shares[key]
	if of == nil {
		of = &share{key: key, place: -1}
		s.shares[key] = of
	}
	return of
}

// shareOfKey returns the share of the task at the end of a list's key, or nil.
func (s *Store) shareOfKey(key string) *share {
	if t := s.tasks[key[strings.LastIndexByte(key, ':')+1:]]; t != nil {
		return t.share
	}
	return nil
}

// countShare adds bytes and records to the Store and to a share, if of is not nil. It removes a
// share without records.
func (s *Store) countShare(of *share, bytes, records int) {
	s.bytes += bytes
	if of == nil {
		return
	}
	of.bytes += bytes
	of.records += records
	switch {
	case of.records == 0 && s.shares[of.key] == of:
		delete(s.shares, of.key)
	case of.place >= 0:
		heap.Fix(&s.ended, of.place)
	}
}

// enterEnded makes a task the newest one of its share that can make room.
func (s *Store) enterEnded(t *task) {
	t.share.ended.moveToEnd(&t.age, t.id)
	if t.share.place < 0 {
		heap.Push(&s.ended, t.share)
	}
}

// leaveEnded removes a task from those that can make room, if it is one of them.
func (s *Store) leaveEnded(t *task) {
	t.share.ended.removeRecord(&t.age)
	if t.share.ended.first == nil && t.share.place >= 0 {
		heap.Remove(&s.ended, t.share.place)
	}
}

// makeRoom makes room for so many more bytes. It never removes the record named spared, nor a turn's
// log of that name. It reports whether there is room now.
func (s *Store) makeRoom(bytes int, spared string) bool {
	for s.bytes+bytes > s.cfg.Bytes {
		if !s.dropTask(spared) {
			return false
		}
	}
	return true
}

// dropTask removes the oldest ended task of the largest share, with its records. It returns false if
// no task can make room.
func (s *Store) dropTask(spared string) bool {
	if len(s.ended) == 0 {
		return false
	}
	oldest := s.oldestOf(s.ended[0], spared)
	if oldest == nil { // the record being written is the only one there
		for _, of := range slices.SortedFunc(slices.Values(s.ended[1:]), compareSize) {
			if oldest = s.oldestOf(of, spared); oldest != nil {
				break
			}
		}
	}
	if oldest == nil {
		return false
	}
	s.dropRecords(oldest, spared)
	return true
}

// oldestOf returns the oldest ended task of a share that may be removed, or nil.
func (s *Store) oldestOf(of *share, spared string) *task {
	return s.tasks[of.ended.oldestKey(func(id string) bool { return id == spared || s.tasks[id].Turn == spared })]
}

// dropRecords removes a task and the records that stand on it alone: without them, the task would
// leave more behind than it takes along. A conversation's memory and thread go with its last task.
func (s *Store) dropRecords(t *task, spared string) {
	id, turn, of := t.id, t.Turn, conversationOf(t.Meta)
	lists := []string{
		store.TraceKey(id), store.LongKey(id), store.CheckpointsKey(id), store.MessagesKey(id), store.SessionsKey(id), store.ResponsesKey(id),
	}
	values := []string{store.RunKey(id)}
	for _, session := range s.itemsOf(store.SessionsKey(id)) {
		values = append(values, store.SessionKey(string(session)))
	}
	for _, turn := range s.itemsOf(store.ResponsesKey(id)) {
		values = append(values, store.ResponseKey(store.ResponseID(string(turn))))
	}
	s.removeTask(id)
	s.removeLog(turn)
	if of.id != "" && s.newest[of] == nil {
		lists = append(lists, store.MemoryKey(of.tenant, of.user, of.id))
	}
	if of.id != "" && s.named[of.id] == 0 {
		lists, values = append(lists, store.ThreadItemsKey(of.id)), append(values, store.ThreadKey(of.id))
	}
	for _, key := range lists {
		if key != spared {
			s.removeList(key)
		}
	}
	for _, key := range values {
		if key != spared {
			s.removeValue(key)
		}
	}
}

// itemsOf returns the items of a list, if it is there.
func (s *Store) itemsOf(key string) [][]byte {
	if l := s.lists[key]; l != nil {
		return l.items
	}
	return nil
}

// largest is a heap of shares, the largest first.
type largest []*share

// compareSize orders shares, the largest first.
func compareSize(a, b *share) int { return cmp.Compare(b.bytes, a.bytes) }

// Len implements heap.Interface.
func (l largest) Len() int { return len(l) }

// Less implements heap.Interface.
func (l largest) Less(i, j int) bool { return compareSize(l[i], l[j]) < 0 }

// Swap implements heap.Interface.
func (l largest) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i, j
}

// Push implements heap.Interface.
func (l *largest) Push(of any) {
	last := of.(*share)
	last.place = len(*l)
	*l = append(*l, last)
}

// Pop implements heap.Interface.
func (l *largest) Pop() any {
	n := len(*l) - 1
	last := (*l)[n]
	(*l)[n], last.place = nil, -1
	*l = (*l)[:n]
	return last
}
