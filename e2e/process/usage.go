package process

import (
	"testing"
	"time"

	"sluice/e2e/proc"
)

// CPU is the time that the gateway has used so far. Where a process has no clock of its own the test
// is skipped.
func (g *Gateway) CPU(t testing.TB) time.Duration {
	t.Helper()
	used, err := proc.CPU(g.PID())
	if err != nil {
		t.Skip(err)
	}
	return used
}

// Memory is what the gateway has in memory, in bytes. Where that cannot be read the test is skipped.
func (g *Gateway) Memory(t testing.TB) int64 {
	t.Helper()
	resident, err := proc.Memory(g.PID())
	if err != nil {
		t.Skip(err)
	}
	return resident
}
