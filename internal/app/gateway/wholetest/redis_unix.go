//go:build unix

package wholetest

import (
	"testing"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
)

// StartRedis starts a Redis and returns its location.
func StartRedis(t *testing.T) string {
	t.Helper()
	server := redistest.Start(t, "redis-server", false)
	testnet.Eventually(t, "Redis listens", func() bool {
		conn, err := server.Dial(t.Context(), "", "")
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
	return "unix://" + server.Socket
}
