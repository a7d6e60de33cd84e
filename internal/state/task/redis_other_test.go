//go:build !unix

package task

import (
	"testing"

	"sluice/internal/state/store"
)

func openRedis(t *testing.T) store.Store {
	t.Skip("needs Unix sockets")
	return nil
}
