package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"sluice/store"
)

// log is the events of one turn, in order.
type log struct {
	entries []store.Entry
	bytes   int
	until   expiry
}

// end is the number of the last event, 0 if there is none. It works on nil.
func (l *log) end() int {
	if l == nil || len(l.entries) == 0 {
		return 0
	}
	return l.entries[len(l.entries)-1].N
}

// log returns a log, or nil. It needs mu.
func (s *Store) log(turn string) *log {
	l := s.logs[turn]
	if l != nil && l.until.passed(time.Now()) {
		s.removeLog(turn)
		return nil
	}
	return l
}

// removeLog drops a log and what it counted. The caller holds mu, as for all
// functions of this file.
func (s *Store) removeLog(turn string) {
	if l := s.logs[turn]; l != nil {
		s.bytes -= l.bytes + overhead
		delete(s.logs, turn)
	}
}

// AppendLog adds to a log.
func (s *Store) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.append(turn, a)
}

// append adds an entry if the task is still held by the writer and the log ends
// where the writer thinks. A log that grows too large is dropped whole: a
// reader must not take a part for all.
func (s *Store) append(turn string, a store.Append) error {
	if a.Task != "" {
		if t, err := s.task(a.Task); err != nil || t.Holder != a.Holder {
			return store.ErrConflict
		}
	}
	l := s.log(turn)
	switch end := l.end(); {
	case end == 0 && a.At != 0:
		return store.ErrNotFound
	case end != a.At:
		return &store.EndError{End: end}
	}
	if l == nil {
		l = &log{}
	}
	if l.bytes+len(a.Data) > store.MaxLog {
		s.removeLog(turn)
		s.hub.Signal(store.LogTopic(turn))
		return store.ErrTooLarge
	}
	if !s.room(len(a.Data)+overhead, turn) {
		return store.ErrFull
	}
	if s.logs[turn] == nil {
		s.logs[turn] = l
		s.bytes += overhead
	}
	l.entries = append(l.entries, store.Entry{N: a.N, Data: slices.Clone(a.Data)})
	l.bytes += len(a.Data)
	l.until = after(a.TTL)
	s.bytes += len(a.Data)
	s.hub.Signal(store.LogTopic(turn))
	return nil
}

// ReadLog returns entries.
func (s *Store) ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.log(turn)
	if l == nil {
		return nil, store.ErrNotFound
	}
	from := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].N > after })
	return slices.Clone(l.entries[from:min(from+limit, len(l.entries))]), nil
}

// DropLog removes a log.
func (s *Store) DropLog(ctx context.Context, turn string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.removeLog(turn)
	s.hub.Signal(store.LogTopic(turn))
	return nil
}
