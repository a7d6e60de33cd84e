//go:build !unix

package judges

import (
	"testing"
	"time"
)

func used(t testing.TB) time.Duration {
	t.Skip("the CPU time of a process is not known here")
	return 0
}
