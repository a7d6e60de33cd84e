//go:build unix

package threads

import (
	"testing"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
)

func openRedis(t *testing.T) Engine {
	server := redistest.Start(t, "redis-server", false)
	s := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: testnet.Patience})})
	t.Cleanup(func() { s.Close() })
	testnet.Eventually(t, "the server answers", func() bool { _, err := s.Counter(t.Context(), "x"); return err == nil })
	return s
}
