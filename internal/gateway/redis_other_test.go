//go:build !unix

package gateway

import "testing"

func startRedis(t *testing.T) string {
	t.Helper()
	t.Skip("needs Unix sockets")
	return ""
}
