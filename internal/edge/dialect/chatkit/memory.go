package chatkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of a Memory. When there is too much, the thread goes that was not touched for the longest
// time; a thread by itself loses its oldest items.
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

// stored is a thread with its items. bytes counts against the memory's bound, and the thread with
// the oldest changed is removed first.
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
	m.enforceBounds()
	return nil
}

// Thread returns a thread.
func (m *Memory) Thread(_ context.Context, owner, threadID string) (Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.findThread(owner, threadID)
	if err != nil {
		return Thread{}, err
	}
	return t.Thread, nil
}

// Threads lists an owner's threads.
func (m *Memory) Threads(_ context.Context, owner string, q Query) ([]Thread, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enforceBounds()
	var all []Thread
	for _, t := range m.threads {
		if t.owner == owner {
			all = append(all, t.Thread)
		}
	}
	slices.SortFunc(all, func(a, b Thread) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	list, more := pageOf(all, func(t Thread) string { return t.ID }, q)
	return list, more, nil
}

// Rename gives a thread another title.
func (m *Memory) Rename(_ context.Context, owner, threadID, title string) (Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.findThread(owner, threadID)
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
	t, err := m.findThread(owner, threadID)
	if err != nil {
		return err
	}
	m.removeThread(t)
	return nil
}

// Append adds an item to a thread.
func (m *Memory) Append(_ context.Context, owner, threadID string, item Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.findThread(owner, threadID)
	if err != nil {
		return err
	}
	t.changed = time.Now()
	t.items = append(t.items, item)
	m.countBytes(t, item.size())
	for len(t.items) > maxItems || t.bytes > maxStored && len(t.items) > 1 {
		m.countBytes(t, -t.items[0].size())
		t.items = slices.Delete(t.items, 0, 1)
	}
	m.enforceBounds()
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
	t, err := m.findThread(owner, threadID)
	if err != nil {
		return nil, false, err
	}
	list, more := pageOf(slices.Clone(t.items), func(i Item) string { return i.ID }, q)
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
		m.countBytes(t, -item.size())
	}
	t.items = slices.Delete(t.items, at+1, len(t.items))
	t.changed = time.Now()
	return nil
}

// size returns the approximate memory of an item, in bytes.
func (i Item) size() int { return len(i.ID) + len(i.Input) + len(i.Body) + 100 }

// findThread returns a thread of an owner. The caller must hold mu.
func (m *Memory) findThread(owner, threadID string) (*stored, error) {
	m.enforceBounds()
	t := m.threads[threadID]
	if t == nil || t.owner != owner {
		return nil, fmt.Errorf("thread %s: %w", threadID, ErrNotFound)
	}
	return t, nil
}

// findItem returns a thread and the index of an item. The caller must hold mu.
func (m *Memory) findItem(owner, threadID, itemID string) (*stored, int, error) {
	t, err := m.findThread(owner, threadID)
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(t.items, func(i Item) bool { return i.ID == itemID })
	if at < 0 {
		return nil, 0, fmt.Errorf("item %s: %w", itemID, ErrNotFound)
	}
	return t, at, nil
}

// countBytes counts bytes that were added, or removed if by is negative. The caller must hold mu.
func (m *Memory) countBytes(t *stored, by int) {
	t.bytes += by
	m.bytes += by
}

// removeThread removes a thread. The caller must hold mu.
func (m *Memory) removeThread(t *stored) {
	m.bytes -= t.bytes
	delete(m.threads, t.ID)
}

// enforceBounds removes expired threads, then the oldest ones above the bounds. It needs mu.
func (m *Memory) enforceBounds() {
	now := time.Now()
	for {
		oldest := m.removeExpired(now)
		if oldest == nil || len(m.threads) <= maxThreads && m.bytes <= maxStored {
			return
		}
		m.removeThread(oldest)
	}
}

// removeExpired removes expired threads, and returns the oldest of the others, or nil. It needs mu.
func (m *Memory) removeExpired(now time.Time) (oldest *stored) {
	for _, t := range m.threads {
		switch {
		case now.Sub(t.changed) >= threadLives:
			m.removeThread(t)
		case oldest == nil || t.changed.Before(oldest.changed):
			oldest = t
		}
	}
	return oldest
}

// pageOf returns a page of all. It may reverse all.
func pageOf[T any](all []T, id func(T) string, q Query) (list []T, more bool) {
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
