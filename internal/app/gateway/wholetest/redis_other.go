//go:build !unix

package wholetest

import "testing"

// StartRedis skips the test: this system lacks Unix sockets.
func StartRedis(t *testing.T) string {
	t.Helper()
	t.Skip("needs Unix sockets")
	return ""
}
