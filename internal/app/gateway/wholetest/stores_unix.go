//go:build unix

package wholetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
)

// Fragile is a store whose process is killed at a point: before or behind one of its
// writes of tasks, logs and runs.
type Fragile struct {
	store.Store
	At    int64
	Point *atomic.Int64
}

// Write does one write, and ends the process if its point is reached.
func (f Fragile) Write(do func() error) error {
	f.reachPoint()
	err := do()
	f.reachPoint()
	return err
}

// reachPoint is called before and behind a write.
func (f Fragile) reachPoint() {
	if f.Point.Add(1) == f.At {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// CreateTask is a write.
func (f Fragile) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return f.Write(func() error { return f.Store.CreateTask(ctx, id, t, ttl) })
}

// UpdateTask is a write.
func (f Fragile) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return f.Write(func() error { return f.Store.UpdateTask(ctx, id, t, ttl) })
}

// AppendLog is a write.
func (f Fragile) AppendLog(ctx context.Context, turn string, a store.Append) error {
	return f.Write(func() error { return f.Store.AppendLog(ctx, turn, a) })
}

// PutValue is a write.
func (f Fragile) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (there store.Value, err error) {
	err = f.Write(func() error {
		there, err = f.Store.PutValue(ctx, key, v, ttl)
		return err
	})
	return there, err
}

// KeepValue is a write.
func (f Fragile) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	return f.Write(func() error { return f.Store.KeepValue(ctx, key, ttl) })
}

// PushList is a write.
func (f Fragile) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	return f.Write(func() error { return f.Store.PushList(ctx, key, item, b, ttl) })
}

// PutIndex is a write.
func (f Fragile) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) error {
	return f.Write(func() error { return f.Store.PutIndex(ctx, name, m, ttl) })
}

// RemoveIndex is a write.
func (f Fragile) RemoveIndex(ctx context.Context, name, id string) error {
	return f.Write(func() error { return f.Store.RemoveIndex(ctx, name, id) })
}

// StateOf returns the state of a task, or an empty text without one.
func StateOf(t *testing.T, in store.Store, id string) string {
	t.Helper()
	got, err := in.Task(t.Context(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return got.State
}

// AlongsideRedis returns the store of a server of Redis as a process that runs next to its gateways sees
// it.
func AlongsideRedis(t *testing.T, server *redistest.Server) store.Store {
	t.Helper()
	s := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Cut is a store that one gateway cannot reach any more.
type Cut struct {
	store.Store
	Off   atomic.Bool
	Why   error
	After atomic.Int64 // writes of runs until then; 0: never
}

// PutValue fails while the store is cut off.
func (c *Cut) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if strings.HasPrefix(key, store.RunKey("")) && c.After.Add(-1) == 0 {
		c.Off.Store(true)
	}
	if c.Off.Load() {
		return store.Value{}, c.Why
	}
	return c.Store.PutValue(ctx, key, v, ttl)
}

// AppendLog fails while the store is cut off.
func (c *Cut) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if c.Off.Load() {
		return c.Why
	}
	return c.Store.AppendLog(ctx, turn, a)
}

// UpdateTask fails while the store is cut off.
func (c *Cut) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	if c.Off.Load() {
		return c.Why
	}
	return c.Store.UpdateTask(ctx, id, t, ttl)
}

// Only returns the one task that a store has.
func Only(t *testing.T, in store.Store) string {
	t.Helper()
	page, err := in.Tasks(t.Context(), store.Query{Limit: 10})
	if err != nil || len(page.IDs) != 1 {
		t.Fatal(err, page.IDs)
	}
	return page.IDs[0]
}

// OpenFile opens the store in a folder.
func OpenFile(t *testing.T, dir string) store.Store {
	t.Helper()
	in, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return in
}
