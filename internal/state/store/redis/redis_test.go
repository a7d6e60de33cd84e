//go:build unix

package redis_test

import (
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/storetest"
)

// patience bounds a command here.
const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// required says that a server that is missing is a failure, as in the gate.
func required() bool { return os.Getenv("SLUICE_REQUIRE_PEERS") != "" }

// The tests of the suite share a server, each below a prefix of its own.
func TestRedis(t *testing.T) {
	t.Parallel()
	suite(t, redistest.Start(t, "redis-server", required()))
}

func TestValkey(t *testing.T) {
	t.Parallel()
	suite(t, redistest.Start(t, "valkey-server", false)) // Debian 12 has none
}

func suite(t *testing.T, server *redistest.Server) {
	var n atomic.Int64
	storetest.Run(t, func(*testing.T) store.Store {
		return redis.New(redis.Config{
			Location: server.Location(), Prefix: "test" + strconv.FormatInt(n.Add(1), 10) + ":", Calls: patient(),
		})
	})
}

// patient returns Calls for a machine that is busy with other tests.
func patient() *store.Calls { return store.NewCalls(store.CallsConfig{Timeout: patience}) }
