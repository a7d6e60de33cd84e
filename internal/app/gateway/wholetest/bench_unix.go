//go:build unix

package wholetest

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sluice/internal/state/store/redis/redistest"
)

// StoreFor returns a value of SLUICE_STORE for a store that ends with the benchmark.
func StoreFor(b *testing.B, kind string) string {
	b.Helper()
	switch kind {
	case "redis":
		return "unix://" + redistest.Start(b, "redis-server", false).Socket
	case "sqlite":
		return "sqlite:" + filepath.Join(b.TempDir(), "state.db")
	}
	return kind
}

// Alternate runs two functions in turns and reports their CPU times as a ratio. The ratio holds on
// a busy machine, too. The server's share is in both. The first one alternates: the second one of a
// pair pays for the garbage of the first, and a function alongside itself was 1.08 times as dear.
func Alternate(b *testing.B, reference, measured func()) {
	var ref, own time.Duration
	turn := func(run func(), spent *time.Duration) {
		began := SpentCPU(b)
		run()
		*spent += SpentCPU(b) - began
	}
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			turn(reference, &ref)
			turn(measured, &own)
		} else {
			turn(measured, &own)
			turn(reference, &ref)
		}
	}
	b.ReportMetric(float64(ref)/float64(b.N), "plain-cpu-ns/op")
	b.ReportMetric(float64(own)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(own)/float64(ref), "x-plain")
	b.ReportMetric(0, "ns/op")
}

// SpentCPU returns the CPU time of the process so far. A busy machine does not change it.
func SpentCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
