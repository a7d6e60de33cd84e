package process

import (
	"runtime"
	"runtime/debug"
	"testing"

	"sluice/internal/base/testnet"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 400, 4 << 20: 400, 8 << 20: 200, 32 << 20: 50, 45 << 20: 35, 46 << 20: 35, 10 << 30: 35,
	} {
		if got := gcPercent(live, 0); got != want {
			t.Errorf("gcPercent(%d, 0) = %d, want %d", live, got, want)
		}
	}
	for _, tt := range []struct {
		live, kept uint64
		want       int
	}{{80 << 20, 64 << 20, 60}, {40 << 20, 16 << 20, 60}, {10 << 30, 64 << 20, 35}, {10 << 20, 64 << 20, 210}} {
		if got := gcPercent(tt.live, tt.kept); got != tt.want {
			t.Errorf("gcPercent(%d, %d) = %d, want %d", tt.live, tt.kept, got, tt.want)
		}
	}
}

func TestIsGrowing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		last, live uint64
		want       bool
	}{{0, 100, false}, {100, 100, false}, {100, 125, false}, {100, 126, true}, {100, 50, false}} {
		if got := isGrowing(tt.last, tt.live); got != tt.want {
			t.Errorf("isGrowing(%d, %d) = %v", tt.last, tt.live, got)
		}
	}
}

// It changes the whole process, so it must not run at the same time as others.
func TestGCPace(t *testing.T) {
	found := debug.SetGCPercent(77)
	defer debug.SetGCPercent(found)
	asked := make(chan bool, 1)
	stop := PaceGC("", func() uint64 {
		select {
		case asked <- true:
		default:
		}
		return 0
	})
	live := make([]byte, 16<<20)
	testnet.Eventually(t, "the percentage follows the live heap", func() bool { // a cleanup sets it, next to us
		runtime.GC()
		n := debug.SetGCPercent(-1)
		debug.SetGCPercent(n)
		return n <= gcPercent(uint64(len(live)), 0)
	})
	runtime.KeepAlive(live)
	<-asked
	stop()
	if n := debug.SetGCPercent(100); n != 77 {
		t.Errorf("after the end it is %d, want 77 as before", n)
	}
	PaceGC("200", nil)()
	if n := debug.SetGCPercent(100); n != 100 {
		t.Errorf("with GOGC it became %d", n)
	}
}

// BenchmarkGCPace makes garbage as a gateway with few streams does: 4 KiB at a time, next to
// live memory of 8 MiB. Without the pace it is Go's own rule.
func BenchmarkGCPace(b *testing.B) {
	for _, on := range []bool{true, false} {
		b.Run(map[bool]string{true: "on", false: "off"}[on], func(b *testing.B) {
			live := make([]*[64]byte, 128<<10)
			for i := range live {
				live[i] = new([64]byte)
			}
			if on {
				defer PaceGC("", func() uint64 { return 0 })()
			}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var garbage []byte
			n := 0
			for b.Loop() {
				garbage = make([]byte, 4<<10)
				n++
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.NumGC-before.NumGC)*1e6/float64(n), "cycles/1e6")
			runtime.KeepAlive(garbage)
			runtime.KeepAlive(live)
		})
	}
}
