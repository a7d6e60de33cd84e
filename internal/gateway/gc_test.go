package gateway

import (
	"runtime"
	"runtime/debug"
	"testing"

	"sluice/internal/testnet"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 800, 4 << 20: 800, 8 << 20: 400, 64 << 20: 50, 91 << 20: 35, 92 << 20: 35, 10 << 30: 35,
	} {
		if got := gcPercent(live); got != want {
			t.Errorf("gcPercent(%d) = %d, want %d", live, got, want)
		}
	}
}

// It changes the whole process, so it must not run beside others.
func TestGCPace(t *testing.T) {
	found := debug.SetGCPercent(77)
	defer debug.SetGCPercent(found)
	stop := PaceGC("")
	live := make([]byte, 16<<20)
	testnet.Eventually(t, "the percentage follows the live heap", func() bool { // a finalizer sets it, beside us
		runtime.GC()
		n := debug.SetGCPercent(-1)
		debug.SetGCPercent(n)
		return n <= gcPercent(uint64(len(live)))
	})
	runtime.KeepAlive(live)
	stop()
	if n := debug.SetGCPercent(100); n != 77 {
		t.Errorf("after the end it is %d, want 77 as before", n)
	}
	PaceGC("200")()
	if n := debug.SetGCPercent(100); n != 100 {
		t.Errorf("with GOGC it became %d", n)
	}
}
