package process

import (
	"testing"
	"time"

	"sluice/e2e/proc"
)

// CPU returns the CPU time that the gateway has used so far. The test is skipped on a system
// without a clock of each process.
func (g *Gateway) CPU(t testing.TB) time.Duration {
	t.Helper()
	used, err := proc.CPU(g.PID())
	if err != nil {
		t.Skip(err)
	}
	return used
}

// Memory returns the resident memory of the gateway, in bytes. The test is skipped where it cannot
// be read.
func (g *Gateway) Memory(t testing.TB) int64 {
	t.Helper()
	resident, err := proc.Memory(g.PID())
	if err != nil {
		t.Skip(err)
	}
	return resident
}
