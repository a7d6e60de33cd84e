//go:build !unix

package toolcache

import "testing"

func openRedis(t *testing.T) Keeper {
	t.Skip("needs Unix sockets")
	return nil
}
