package process

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway/gatewaytest"
)

// fickle is a stdout whose reader is gone now and then, and which takes what there
// is room for.
type fickle struct {
	gatewaytest.LogTail
	paused atomic.Bool
	room   int
}

func (f *fickle) Write(p []byte) (int, error) {
	if !f.paused.Load() {
		return f.LogTail.Write(p)
	}
	n := min(f.room, len(p))
	f.room -= n
	_, _ = f.LogTail.Write(p[:n])
	return n, errors.Join(os.ErrClosed, syscall.EPIPE)
}

// What is logged while nobody reads is kept as far as there is room, also the second
// half of a line; the rest is counted, and the reader that comes back finds their number.
func TestLogLinesAreDroppedAndReportedWhenTheReaderIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &fickle{room: 1500}
		out.paused.Store(true)
		w := NewLogWriter(out, nil)
		log := OwnLogger(NewLogger(w, "info"))
		const lines = 10_000
		filler := strings.Repeat("x", 1000)
		for range lines {
			log.Info().Dict("details", zerolog.Dict().Str("filler", filler)).Msg("said")
			synctest.Wait()
		}
		if n := len(out.All("said")); n != 1 {
			t.Errorf("%d lines are out, want 1", n)
		}
		out.paused.Store(false)
		time.Sleep(2 * logRetry)
		synctest.Wait()
		out.Check(t) // whole lines, all of them
		kept := len(out.All("said"))
		got := out.All("log_lines_dropped")
		if len(got) != 1 {
			t.Fatalf("the loss was told %d times", len(got))
		}
		dropped, _ := got[0].Fields["details"].(map[string]any)["count"].(float64)
		if kept+int(dropped) != lines || dropped == 0 || kept*1000 < maxBacklog/2 {
			t.Errorf("of %d lines %d were kept and %v counted as dropped", lines, kept, dropped)
		}
		w.Close()
	})
}
