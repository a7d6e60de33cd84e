//go:build !unix

package threads

import "testing"

func openRedis(t *testing.T) Engine {
	t.Skip("needs Unix sockets")
	return nil
}
