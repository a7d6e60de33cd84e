package memory

import (
	"context"
	"sort"
	"time"

	"sluice/internal/state/store"
)

// log is the events of one turn, in order. The log of an ended turn is one piece of memory, and not
// one for each flush, since the garbage collector looks at each piece.
type log struct {
	data  []byte // of all entries, one behind the other
	ends  []end
	until expiry
	share *share // nil: its writer named no task
}

// end is where an entry ends, and the number of its last event.
type end struct{ n, at int }

// firstData and firstEnds are room for the first events of a turn, without its answer.
const firstData, firstEnds = 1 << 10, 8

// lastNumber returns the number of the last event, 0 for an empty log. It works on nil.
func (l *log) lastNumber() int {
	if l == nil || len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1].n
}

// add adds an entry. Entries that were read do not change: growth copies the data, and an append
// without growth writes behind them.
func (l *log) add(n int, data []byte) {
	if l.ends == nil {
		l.ends = make([]end, 0, firstEnds)
	}
	if most := len(l.data) + len(data); most > cap(l.data) {
		l.data = append(make([]byte, 0, max(firstData, 2*cap(l.data), most)), l.data...)
	}
	l.data = append(l.data, data...)
	l.ends = append(l.ends, end{n, len(l.data)})
}

// trimRoom gives back the room of a log to which nothing is added any more.
func (l *log) trimRoom() {
	l.data, l.ends = withoutSpare(l.data), withoutSpare(l.ends)
}

// withoutSpare returns a copy without room for more, or s itself if that has hardly any.
func withoutSpare[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/8 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// readEntries returns up to limit entries from the one with index from on.
func (l *log) readEntries(from, limit int) []store.Entry {
	begin, some := 0, l.ends[from:min(from+limit, len(l.ends))]
	if from > 0 {
		begin = l.ends[from-1].at
	}
	entries := make([]store.Entry, 0, len(some))
	for _, e := range some {
		entries = append(entries, store.Entry{N: e.n, Data: l.data[begin:e.at:e.at]})
		begin = e.at
	}
	return entries
}

// findLog returns a log, or nil. The caller must hold mu.
func (s *Store) findLog(turn string) *log {
	l := s.logs[turn]
	if l != nil && l.until.hasPassed(s.now) {
		s.removeLog(turn)
		return nil
	}
	return l
}

// removeLog drops a log and its counts. The caller must hold mu, as for all functions of this file.
func (s *Store) removeLog(turn string) {
	if l := s.logs[turn]; l != nil {
		delete(s.logs, turn)
		s.countShare(l.share, -len(l.data)-overhead, -1)
	}
}

// AppendLog adds to a log.
func (s *Store) AppendLog(ctx context.Context, turn string, a store.Append) (err error) {
	defer func() { s.cfg.Calls.Wrote("append_log", len(a.Data), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.appendEntry(turn, a)
}

// appendEntry adds an entry if the task is still held by the writer and the log ends
// where the writer thinks. A log that grows too large is dropped whole: a
// reader must not take a part for all.
func (s *Store) appendEntry(turn string, a store.Append) error {
	var of *share
	if a.Task != "" {
		t, err := s.liveTask(a.Task)
		if err != nil || t.Holder != a.Holder {
			return store.ErrConflict
		}
		if t.Turn == turn {
			turn = t.Turn // one text for both
		}
		of = t.share
	}
	l := s.findLog(turn)
	switch end := l.lastNumber(); {
	case end == 0 && a.At != 0:
		return store.ErrNotFound
	case end != a.At:
		return &store.EndError{End: end}
	}
	if l == nil {
		l = &log{}
	}
	if a.N == a.At {
		return s.changeSide(a.Side, a.TTL, turn)
	}
	if len(l.data)+len(a.Data) > store.MaxLog {
		s.removeLog(turn)
		s.hub.Signal(store.LogTopic(turn))
		return store.ErrTooLarge
	}
	if !s.makeRoom(len(a.Data)+overhead+len(a.Side.Item)+overhead, turn) {
		return store.ErrFull
	}
	if err := s.changeSide(a.Side, a.TTL, turn); err != nil {
		return err
	}
	if s.logs[turn] == nil {
		s.logs[turn] = l
		l.share = of
		s.countShare(of, overhead, 1)
	}
	l.add(a.N, a.Data)
	l.until = s.expiryAfter(a.TTL)
	s.countShare(l.share, len(a.Data), 0)
	s.hub.Signal(store.LogTopic(turn))
	return nil
}

// ReadLog returns entries.
func (s *Store) ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error) {
	if err := s.lockStore(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.findLog(turn)
	if l == nil {
		return nil, store.ErrNotFound
	}
	return l.readEntries(sort.Search(len(l.ends), func(i int) bool { return l.ends[i].n > after }), limit), nil
}

// LogLeft returns how long a log is kept.
func (s *Store) LogLeft(ctx context.Context, turn string) (time.Duration, error) {
	if err := s.lockStore(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	l := s.findLog(turn)
	if l == nil {
		return 0, store.ErrNotFound
	}
	return l.until.remaining(s.now), nil
}

// DropLog removes a log.
func (s *Store) DropLog(ctx context.Context, turn string) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.removeLog(turn)
	s.hub.Signal(store.LogTopic(turn))
	return nil
}
