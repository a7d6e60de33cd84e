package chatkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// What a Memory keeps. When there is too much, the thread goes that was not touched
// for the longest time; a thread by itself loses its oldest items.
const (
	maxThreads  = 1000
	maxItems    = 500      // of one thread
	maxStored   = 32 << 20 // bytes of all items
	threadLives = 24 * time.Hour
)

// Memory is a Store in this process, for development: it is bounded, forgets a
// thread a day after its last change, and ends with the process. Its zero value is
// ready.
type Memory struct {
	mu      sync.Mutex // guards the fields below
	threads map[string]*stored
	bytes   int
}

// stored is a thread with its items. bytes is what it counts against the bound of the
// memory, changed what decides which thread goes first.
type stored struct {
	Thread
	owner   string
	items   []Item
	bytes   int
	changed time.Time
}

// Create adds a thread.
func (m *Memory) Create(_ context.Context, owner string, t Thread) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.threads == nil {
		m.threads = map[string]*stored{}
	}
	if m.threads[t.ID] != nil {
		return fmt.Errorf("thread %s is there already", t.ID)
	}
	m.threads[t.ID] = &stored{Thread: t, owner: owner, changed: time.Now()}
	m.shrink()
	return nil
}

// Thread returns a thread.
func (m *Memory) Thread(_ context.Context, owner, threadID string) (Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, threadID)
	if err != nil {
		return Thread{}, err
	}
	return t.Thread, nil
}

// Threads lists an owner's threads.
func (m *Memory) Threads(_ context.Context, owner string, q Query) ([]Thread, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shrink()
	var all []Thread
	for _, t := range m.threads {
		if t.owner == owner {
			all = append(all, t.Thread)
		}
	}
	slices.SortFunc(all, func(a, b Thread) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	list, more := paged(all, func(t Thread) string { return t.ID }, q)
	return list, more, nil
}

// Rename gives a thread another title.
func (m *Memory) Rename(_ context.Context, owner, threadID, title string) (Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, threadID)
	if err != nil {
		return Thread{}, err
	}
	t.Title, t.changed = title, time.Now()
	return t.Thread, nil
}

// Delete removes a thread.
func (m *Memory) Delete(_ context.Context, owner, threadID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, threadID)
	if err != nil {
		return err
	}
	m.remove(t)
	return nil
}

// Append adds an item to a thread.
func (m *Memory) Append(_ context.Context, owner, threadID string, item Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, threadID)
	if err != nil {
		return err
	}
	t.changed = time.Now()
	t.items = append(t.items, item)
	m.grow(t, item.size())
	for len(t.items) > maxItems || t.bytes > maxStored && len(t.items) > 1 {
		m.grow(t, -t.items[0].size())
		t.items = slices.Delete(t.items, 0, 1)
	}
	m.shrink()
	return nil
}

// Item returns one item.
func (m *Memory) Item(_ context.Context, owner, threadID, itemID string) (Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, i, err := m.findItem(owner, threadID, itemID)
	if err != nil {
		return Item{}, err
	}
	return t.items[i], nil
}

// Items lists the items of a thread.
func (m *Memory) Items(_ context.Context, owner, threadID string, q Query) ([]Item, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, threadID)
	if err != nil {
		return nil, false, err
	}
	list, more := paged(slices.Clone(t.items), func(i Item) string { return i.ID }, q)
	return list, more, nil
}

// RemoveAfter removes the items behind one.
func (m *Memory) RemoveAfter(_ context.Context, owner, threadID, itemID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, at, err := m.findItem(owner, threadID, itemID)
	if err != nil {
		return err
	}
	for _, item := range t.items[at+1:] {
		m.grow(t, -item.size())
	}
	t.items = slices.Delete(t.items, at+1, len(t.items))
	t.changed = time.Now()
	return nil
}

// size is about what an item takes.
func (i Item) size() int { return len(i.ID) + len(i.Input) + len(i.Body) + 100 }

// find needs mu.
func (m *Memory) find(owner, threadID string) (*stored, error) {
	m.shrink()
	t := m.threads[threadID]
	if t == nil || t.owner != owner {
		return nil, fmt.Errorf("thread %s: %w", threadID, ErrNotFound)
	}
	return t, nil
}

// findItem needs mu.
func (m *Memory) findItem(owner, threadID, itemID string) (*stored, int, error) {
	t, err := m.find(owner, threadID)
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(t.items, func(i Item) bool { return i.ID == itemID })
	if at < 0 {
		return nil, 0, fmt.Errorf("item %s: %w", itemID, ErrNotFound)
	}
	return t, at, nil
}

// grow needs mu. It counts bytes that were added, or removed if by is negative.
func (m *Memory) grow(t *stored, by int) {
	t.bytes += by
	m.bytes += by
}

// remove needs mu.
func (m *Memory) remove(t *stored) {
	m.bytes -= t.bytes
	delete(m.threads, t.ID)
}

// shrink removes what is too old or too much. It needs mu.
func (m *Memory) shrink() {
	now := time.Now()
	for {
		oldest := m.expire(now)
		if oldest == nil || len(m.threads) <= maxThreads && m.bytes <= maxStored {
			return
		}
		m.remove(oldest)
	}
}

// expire removes what is too old, and returns the oldest of the rest; nil: none is left. It needs
// mu.
func (m *Memory) expire(now time.Time) (oldest *stored) {
	for _, t := range m.threads {
		switch {
		case now.Sub(t.changed) >= threadLives:
			m.remove(t)
		case oldest == nil || t.changed.Before(oldest.changed):
			oldest = t
		}
	}
	return oldest
}

// paged returns a page of all, which it may reverse.
func paged[T any](all []T, id func(T) string, q Query) (list []T, more bool) {
	if q.Descending {
		slices.Reverse(all)
	}
	if q.After != "" {
		at := slices.IndexFunc(all, func(v T) bool { return id(v) == q.After })
		if at < 0 {
			return nil, false
		}
		all = all[at+1:]
	}
	if len(all) > q.Limit {
		return all[:q.Limit], true
	}
	return all, false
}
