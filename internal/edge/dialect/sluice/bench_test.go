package sluice_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
	"sluice/stream/sse"
)

// null is a server's writer to which everything costs nothing.
type null struct{ header http.Header }

func (n null) Header() http.Header               { return n.header }
func (null) WriteHeader(int)                     {}
func (null) Write(p []byte) (int, error)         { return len(p), nil }
func (null) FlushError() error                   { return nil }
func (null) SetWriteDeadline(at time.Time) error { return nil }

func nullWriter(accumulated bool) *turn {
	out := sse.NewWriter(null{http.Header{}}, sse.Config{
		Encoder: sluice.NewEncoder("req_0123456789ab", accumulated, 0), Heartbeat: time.Hour, WriteTimeout: time.Hour,
	})
	return &turn{out, stream.NewStamper(out, time.Now())}
}

// Once its buffers have grown, a Writer sends a delta without allocating.
func TestSteadyDeltaCostsNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool lose what it holds, on purpose")
	}
	for _, accumulated := range []bool{false, true} {
		s := nullWriter(accumulated)
		delta := &stream.Delta{Text: "a piece of \"text\", 漢字 😀\n"}
		for range 200 {
			emit(t, s, delta)
		}
		// The text so far grows without end, but by doubling: seldom enough to be
		// no allocation on the average, which AllocsPerRun rounds down.
		n := testing.AllocsPerRun(100, func() {
			_ = s.Emit(delta)
			_ = s.Flush()
		})
		if n != 0 {
			t.Errorf("accumulated %v: %v allocations a delta", accumulated, n)
		}
		_ = s.Close()
	}
}

// Without accumulated, the text of an answer is not copied before done: a client that
// stops reading costs what the kernel takes of it once, not twice.
func TestTextOfALongAnswerIsHeldOnce(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool lose what it holds, on purpose")
	}
	const pieces, size = 500, 2 << 10
	delta := &stream.Delta{Text: strings.Repeat("x", size)}
	s := nullWriter(false)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range pieces {
		emit(t, s, delta)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > pieces*size/4 {
		t.Errorf("%d bytes were allocated for an answer of %d", got, pieces*size)
	}
	_ = s.Close()
}

func BenchmarkEncode(b *testing.B) {
	call := stream.Call{ID: "call_1", Tool: "create_todo", Server: "todo", Arguments: jsontext.Value(`{"title":"milk","due":"2026-11-22T15:00:00"}`)}
	for _, ev := range []stream.Event{
		&stream.Start{ConversationID: "conv_1", UserID: "u", Model: "gemini-flash-latest"},
		&stream.Thinking{Content: "**Plan**\n\nlook at the list first"},
		&stream.ToolStarted{Call: call},
		&stream.ToolCompleted{Call: call, Duration: time.Millisecond, Result: `{"id":"todo_1","title":"milk"}`},
		&stream.ToolCompleted{Call: call, Result: strings.Repeat("long result ", 1000)},
		&stream.ToolFailed{Call: call, Message: "The tool answered with an error"},
		&stream.ToolUnknown{Call: call, Message: "The tool timed out"},
		&stream.Error{Type: fault.Timeout, Message: "The tool timed out", Recoverable: true, Service: "mcp:todo"},
		&stream.Done{Reason: stream.Stop, Model: []time.Duration{time.Second, time.Second}, Tools: []stream.ToolTiming{{Tool: "create_todo"}}},
	} {
		name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "*stream.")
		if c, ok := ev.(*stream.ToolCompleted); ok && len(c.Result) > 1000 {
			name += "Long"
		}
		b.Run(name, func(b *testing.B) {
			s := nullWriter(false)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%1000 == 999 { // the names of the tools called are kept: begin again
					_ = s.Close()
					s = nullWriter(false)
				}
				_ = s.Emit(ev)
				_ = s.Flush()
			}
		})
	}
}

// BenchmarkDelta sends answers of 200 deltas of 25 characters; the figures are
// for one delta.
func BenchmarkDelta(b *testing.B) {
	for _, accumulated := range []bool{false, true} {
		b.Run(fmt.Sprintf("accumulated=%v", accumulated), func(b *testing.B) {
			delta := &stream.Delta{Text: "five and twenty letters, "}
			s := nullWriter(accumulated)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%200 == 199 {
					_ = s.Close()
					s = nullWriter(accumulated)
				}
				_ = s.Emit(delta)
				_ = s.Flush()
			}
		})
	}
}
