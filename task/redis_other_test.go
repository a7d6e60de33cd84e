//go:build !unix

package task

import (
	"testing"

	"sluice/store"
)

func openRedis(t *testing.T) store.Store {
	t.Skip("needs Unix sockets")
	return nil
}
