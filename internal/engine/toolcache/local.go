package toolcache

import (
	"container/list"
	"context"
	"sync"
	"time"

	"sluice/internal/state/store"
)

// maxLocal bounds the values in this process, in bytes of keys and results.
const maxLocal = 16 << 20

// local is the Keeper of a process without a store. The oldest value goes first.
type local struct {
	mu       sync.Mutex // guards the fields below
	values   map[string]*list.Element
	order    *list.List // of kept, the oldest first
	bytes    int
	counters map[string]int64 // one for each server: they do not expire
}

// localValue is a value in this process.
type localValue struct {
	key     string
	data    []byte
	expires time.Time
}

// sizeInBytes counts 200 bytes for the map, the list and the headers.
func (k *localValue) sizeInBytes() int { return len(k.key) + len(k.data) + 200 }

// newLocal returns an empty cache of this process.
func newLocal() *local {
	return &local{values: map[string]*list.Element{}, order: list.New(), counters: map[string]int64{}}
}

// Value returns a value that has not expired.
func (l *local) Value(_ context.Context, key string) (store.Value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.values[key]
	if e == nil {
		return store.Value{}, store.ErrNotFound
	}
	k := e.Value.(*localValue)
	if !time.Now().Before(k.expires) {
		l.removeElement(e)
		return store.Value{}, store.ErrNotFound
	}
	return store.Value{Data: k.data, Version: 1}, nil
}

// PutValue keeps a value in the place of the one before.
func (l *local) PutValue(_ context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.values[key]; e != nil {
		l.removeElement(e)
	}
	k := &localValue{key, v.Data, time.Now().Add(ttl)}
	l.values[key] = l.order.PushBack(k)
	l.bytes += k.sizeInBytes()
	for l.bytes > maxLocal {
		l.removeElement(l.order.Front())
	}
	return store.Value{Data: v.Data, Version: 1}, nil
}

// removeElement needs mu.
func (l *local) removeElement(e *list.Element) {
	k := l.order.Remove(e).(*localValue)
	delete(l.values, k.key)
	l.bytes -= k.sizeInBytes()
}

// AddCounter counts.
func (l *local) AddCounter(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counters[key] += delta
	return l.counters[key], nil
}

// Counter returns the count.
func (l *local) Counter(_ context.Context, key string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counters[key], nil
}
