//go:build unix

package task_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/store"
	"sluice/store/memory"
	"sluice/store/redis"
	"sluice/store/redis/redistest"
	"sluice/store/sqlite"
)

// patience bounds a command here.
const patience = 10 * time.Second

func calls() *store.Calls { return store.NewCalls(store.CallsConfig{Timeout: patience}) }

// onEngines runs a test on every engine. here and there are one store, as two gateways
// see it; only Redis has two.
func onEngines(t *testing.T, test func(t *testing.T, here, there store.Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memory.New(memory.Config{})
		test(t, s, s)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "state.db"), Calls: calls()})
		must(t, err)
		defer s.Close()
		test(t, s, s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
		here := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		defer here.Close()
		there := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		defer there.Close()
		test(t, here, there)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
