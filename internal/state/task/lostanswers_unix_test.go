//go:build unix

package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
)

// The same holds of SQLite.
func TestLostAnswersOfSQLiteRunNothingTwice(t *testing.T) {
	t.Parallel()
	for what, op := range operations() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			one := func(t *testing.T, c lostCase) (calls map[string]int) {
				path := filepath.Join(t.TempDir(), "state.db")
				synctest.Test(t, func(t *testing.T) {
					in, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
					if err != nil {
						t.Fatal(err)
					}
					calls, err = (&losing{in: in, brief: true}).run(t.Context(), op, c)
					if err = errors.Join(err, in.Close()); err != nil {
						t.Error(err)
					}
				})
				return calls
			}
			for _, c := range lostCases(one(t, lostCase{}), 1) {
				t.Run(c.String(), func(t *testing.T) { one(t, c) })
			}
		})
	}
}

// The same holds of Redis, where time passes by itself: the cases wait side by side.
func TestLostAnswersOfRedisRunNothingTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	running := make(chan struct{}, 48)
	var all sync.WaitGroup
	one := func(op operation, prefix string, c lostCase) (map[string]int, error) {
		running <- struct{}{}
		defer func() { <-running }()
		in := redis.New(redis.Config{Location: server.Location(), Prefix: prefix, Calls: store.NewCalls(store.CallsConfig{Timeout: slowMachine})})
		defer in.Close()
		return (&losing{in: in, real: true}).run(t.Context(), op, c)
	}
	for what, op := range operations() {
		all.Go(func() {
			calls, err := one(op, what+":", lostCase{})
			if err != nil {
				t.Errorf("%s: %v", what, err)
				return
			}
			for _, c := range lostCases(calls, 1) {
				if c.stall > 0 && !c.once { // nothing passes time here
					continue
				}
				all.Go(func() {
					name := fmt.Sprintf("%s, %s", what, c)
					if _, err := one(op, name+":", c); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		})
	}
	all.Wait()
}
