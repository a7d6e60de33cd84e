package memory

import (
	"context"
	"slices"
	"time"

	"sluice/internal/state/store"
)

// value is a stored value with its expiry.
type value struct {
	store.Value
	until expiry
}

// list is a stored list.
type list struct {
	items [][]byte
	bytes int
	until expiry
	share *share // nil: it is not a task's
}

// index is a sorted set: ids by their scores. It is sorted when it is read.
type index struct {
	scores map[string]int64
	until  expiry
}

// hasMember reports whether the index has a member. It works on nil.
func (x *index) hasMember(id string) bool {
	if x == nil {
		return false
	}
	_, there := x.scores[id]
	return there
}

// liveValue returns a value that is there. The caller must hold mu.
func (s *Store) liveValue(key string) (*value, error) {
	v := s.values[key]
	if v == nil || v.until.hasPassed(s.now) {
		return nil, store.ErrNotFound
	}
	return v, nil
}

// removeValue drops a value and its bytes.
func (s *Store) removeValue(key string) {
	if v := s.values[key]; v != nil {
		s.bytes -= len(v.Data) + overhead
		delete(s.values, key)
	}
}

// Value returns a record.
func (s *Store) Value(ctx context.Context, key string) (store.Value, error) {
	if err := s.lockStore(ctx); err != nil {
		return store.Value{}, err
	}
	defer s.mu.Unlock()
	v, err := s.liveValue(key)
	if err != nil {
		return store.Value{}, err
	}
	return v.Value, nil
}

// PutValue replaces or makes a record.
func (s *Store) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (there store.Value, err error) {
	defer func() { s.cfg.Calls.Wrote("put_value", len(v.Data), err) }()
	if err := s.lockStore(ctx); err != nil {
		return store.Value{}, err
	}
	defer s.mu.Unlock()
	var before store.Value
	if b, err := s.liveValue(key); err == nil {
		before = b.Value
	}
	if before.Version != v.Version {
		return before, store.ErrConflict
	}
	grows := len(v.Data) + overhead
	if b := s.values[key]; b != nil { // it goes, even if it has expired
		grows -= len(b.Data) + overhead
	}
	if !s.makeRoom(grows, key) {
		return store.Value{}, store.ErrFull
	}
	s.removeValue(key)
	s.bytes += len(v.Data) + overhead
	v.Version++
	s.values[key] = &value{v, s.expiryAfter(ttl)}
	return v, nil
}

// KeepValue changes how long a record is kept.
func (s *Store) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	v, err := s.liveValue(key)
	if err == nil {
		v.until = s.expiryAfter(ttl)
	}
	return err
}

// DeleteValue removes a record.
func (s *Store) DeleteValue(ctx context.Context, key string) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.removeValue(key)
	return nil
}

// findList returns a list that is there, or nil. The caller must hold mu.
func (s *Store) findList(key string) *list {
	l := s.lists[key]
	if l != nil && l.until.hasPassed(s.now) {
		s.removeList(key)
		return nil
	}
	return l
}

// removeList drops a list and its counts.
func (s *Store) removeList(key string) {
	if l := s.lists[key]; l != nil {
		delete(s.lists, key)
		s.countShare(l.share, -l.bytes-len(l.items)*overhead, -1)
	}
}

// PushList adds an item to a list.
func (s *Store) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) (err error) {
	defer func() { s.cfg.Calls.Wrote("push_list", len(item), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if b.Task != "" {
		if _, err := s.liveTask(b.Task); err != nil {
			return err
		}
	}
	if !s.makeRoom(len(item)+overhead, key) {
		return store.ErrFull
	}
	l := s.pushItem(key, item, ttl)
	n := 0
	for kept := l.bytes; n < len(l.items)-1 && (b.Items > 0 && len(l.items)-n > b.Items || b.Bytes > 0 && kept > b.Bytes); n++ {
		kept -= len(l.items[n])
	}
	s.cutItems(l, 0, n)
	return nil
}

// pushItem adds an item to a list, for which there is room.
func (s *Store) pushItem(key string, item []byte, ttl time.Duration) *list {
	l := s.findList(key)
	if l == nil {
		l = &list{share: s.shareOfKey(key)}
		s.lists[key] = l
		s.countShare(l.share, 0, 1)
	}
	l.items = append(l.items, item)
	l.bytes += len(item)
	l.until = s.expiryAfter(ttl)
	s.countShare(l.share, len(item)+overhead, 0)
	return l
}

// changeSide changes the list of a task or a log. The record named spared stays, whatever room the
// change needs.
func (s *Store) changeSide(b store.Side, ttl time.Duration, spared string) error {
	if b.Key == "" {
		return nil
	}
	if b.Item != nil && !s.makeRoom(len(b.Item)+overhead, spared) {
		return store.ErrFull
	}
	if b.Drop {
		s.removeList(b.Key)
	}
	if b.Item != nil {
		s.pushItem(b.Key, b.Item, ttl)
	}
	return nil
}

// KeepList changes how long a list is kept.
func (s *Store) KeepList(ctx context.Context, key string, ttl time.Duration) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if l := s.findList(key); l != nil {
		l.until = s.expiryAfter(ttl)
	}
	return nil
}

// cutItems removes items of a list.
func (s *Store) cutItems(l *list, from, to int) {
	for _, item := range l.items[from:to] {
		l.bytes -= len(item)
		s.countShare(l.share, -len(item)-overhead, 0)
	}
	l.items = slices.Delete(l.items, from, to)
}

// List returns items.
func (s *Store) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	if err := s.lockStore(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.findList(key)
	if l == nil || from >= len(l.items) {
		return nil, nil
	}
	to := len(l.items)
	if limit > 0 {
		to = min(to, from+limit)
	}
	return slices.Clone(l.items[from:to]), nil
}

// CutList shortens a list.
func (s *Store) CutList(ctx context.Context, key string, length int) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if l := s.findList(key); l != nil && length < len(l.items) {
		s.cutItems(l, length, len(l.items))
	}
	return nil
}

// DeleteList removes a list.
func (s *Store) DeleteList(ctx context.Context, key string) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.removeList(key)
	return nil
}

// findIndex returns an index that is there, or nil. The caller must hold mu.
func (s *Store) findIndex(name string) *index {
	x := s.indexes[name]
	if x != nil && x.until.hasPassed(s.now) {
		s.removeIndex(name)
		return nil
	}
	return x
}

// removeIndex drops an index and its bytes.
func (s *Store) removeIndex(name string) {
	if x := s.indexes[name]; x != nil {
		s.bytes -= len(x.scores) * overhead
		delete(s.indexes, name)
	}
}

// PutIndex adds a member to an index.
func (s *Store) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) (err error) {
	defer func() { s.cfg.Calls.Wrote("put_index", len(m.ID), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	x, until := s.findIndex(name), s.expiryAfter(ttl)
	if !x.hasMember(m.ID) {
		if !s.makeRoom(overhead, "") {
			return store.ErrFull
		}
		s.bytes += overhead
	}
	if x == nil {
		x = &index{scores: map[string]int64{}, until: until}
		s.indexes[name] = x
	}
	x.scores[m.ID] = m.Score
	if ttl == 0 || !time.Time(x.until).IsZero() && time.Time(x.until).Before(time.Time(until)) {
		x.until = until
	}
	return nil
}

// RemoveIndex removes a member of an index.
func (s *Store) RemoveIndex(ctx context.Context, name, id string) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if x := s.findIndex(name); x.hasMember(id) {
		delete(x.scores, id)
		s.bytes -= overhead
	}
	return nil
}

// CountIndex returns how many members an index has.
func (s *Store) CountIndex(ctx context.Context, name string) (int64, error) {
	if err := s.lockStore(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if x := s.findIndex(name); x != nil {
		return int64(len(x.scores)), nil
	}
	return 0, nil
}

// Index returns members of an index.
func (s *Store) Index(ctx context.Context, name string, r store.Range) (found []store.Member, err error) {
	if err := s.lockStore(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	x := s.findIndex(name)
	if x == nil {
		return nil, nil
	}
	direction := 1
	if r.Descending {
		direction = -1
	}
	for id, score := range x.scores {
		m := store.Member{ID: id, Score: score}
		if score >= r.Min && score <= r.Max && (r.After == nil || direction*compareMembers(m, *r.After) > 0) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b store.Member) int { return direction * compareMembers(a, b) })
	return found[:min(len(found), r.Limit)], nil
}
