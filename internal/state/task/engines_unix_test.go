//go:build unix

package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// slowMachine bounds a command to an engine here.
const slowMachine = 10 * time.Second

// onEngines runs a test on every engine. here and there are one store, as two gateways see
// it; only Redis has two.
func onEngines(t *testing.T, test func(t *testing.T, here, there Store)) {
	calls := func() *store.Calls { return store.NewCalls(store.CallsConfig{Timeout: slowMachine}) }
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memory.New(memory.Config{})
		test(t, s, s)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "state.db"), Calls: calls()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		test(t, s, s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
		here := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		defer here.Close()
		there := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		defer there.Close()
		test(t, here, there)
	})
}

// wholeTurn has all kinds of events; nil is a flush.
func wholeTurn() []stream.Event {
	call := stream.Call{ID: "c1", Tool: "todo", Arguments: jsontext.Value(`{"a":1}`)}
	piece := func(n int) *stream.Delta {
		return &stream.Delta{Text: fmt.Sprintf("piece %d \u2028<\"\\\x00ü", n)}
	}
	return []stream.Event{
		&stream.Start{Model: "m"}, &stream.Thinking{Content: "hm"}, piece(1), piece(2), nil, piece(3), nil,
		&stream.ToolStarted{Call: call, Repeatable: true}, nil,
		&stream.ToolCompleted{Call: call, Duration: 5, Result: strings.Repeat("ü", 1000)}, piece(4), nil,
		&stream.Error{Type: fault.ToolFailed, Message: "\u2028<b>"}, nil, piece(5),
		&stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1}}, nil,
	}
}

// emitAll reports a turn's events; between is called at each flush.
func emitAll(t *testing.T, turn *Turn, out stream.Output, events []stream.Event, between func(n int)) {
	t.Helper()
	s := stream.NewStamper(turn.Before(out), time.Now())
	for i, ev := range events {
		if ev != nil {
			if err := s.Emit(ev); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if between != nil {
			between(i)
		}
	}
}

// beginAt begins a turn.
func beginAt(t *testing.T, s *Service) *Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", ConversationID: "conv_1"}, RequestID: "req_1", Cancel: func(error) {}, Detached: true})
	if err != nil || turn == nil {
		t.Fatal(turn, err)
	}
	return turn
}

// On every engine a log is the turn: for a reader while it is written, and for one who
// comes later and begins behind any of its events.
func TestLogIsTheTurn(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, there Store) {
		one, two := New(Config{Store: here}), New(Config{Store: there})
		defer one.Close()
		defer two.Close()
		turn, own := beginAt(t, one), new(client)
		var live []string
		var reading sync.WaitGroup
		emitAll(t, turn, own, wholeTurn(), func(n int) {
			if n == 4 { // the log has begun
				reading.Go(func() {
					var err error
					if live, err = follow(t.Context(), two, turn.ID(), 0); err != nil {
						t.Error(err)
					}
				})
			}
		})
		turn.End()
		reading.Wait()
		if diff := cmp.Diff(own.lines, live); diff != "" {
			t.Errorf("read while it was written (-told +read):\n%s", diff)
		}
		for after := range len(own.lines) + 3 {
			got, err := follow(t.Context(), two, turn.ID(), after)
			if err != nil {
				t.Fatal(err)
			}
			want := own.lines[min(after, len(own.lines)):]
			if after > len(own.lines) { // more than there is: the end
				want = own.lines[len(own.lines)-1:]
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("read behind %d (-told +read):\n%s", after, cmp.Diff(want, got))
			}
		}
		if got, err := there.Task(t.Context(), turn.Task()); err != nil || got.State != Completed || got.Owner != "" {
			t.Errorf("the task: %+v, %v", got.Meta, err)
		}
	})
}

// A client never has what the log does not, on any engine.
func TestEventsAreWrittenBeforeTheyAreDelivered(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, there Store) {
		s := New(Config{Store: here})
		defer s.Close()
		turn := beginAt(t, s)
		seen := 0
		own := &flushed{}
		own.onFlush = func() error {
			entries, err := there.ReadLog(t.Context(), turn.ID(), 0, 1000)
			if err != nil || len(entries) == 0 || entries[len(entries)-1].N < own.last {
				return fmt.Errorf("event %d is not in the log: %w", own.last, err)
			}
			seen++
			return nil
		}
		emitAll(t, turn, own, wholeTurn(), nil)
		turn.End()
		if seen < 5 { // a piece may wait for what comes behind it
			t.Errorf("%d flushes were looked at, want 5 or 6", seen)
		}
	})
}

// flushed is a client that looks at what it has at each flush.
type flushed struct {
	last    int
	onFlush func() error
}

func (f *flushed) Write(s stream.Stamp, _ stream.Event) error { f.last = s.N; return nil }
func (f *flushed) Flush() error                               { return f.onFlush() }
func (*flushed) Blocked() time.Duration                       { return 0 }

// On every engine: a turn whose process is gone is closed once, by one of those that look.
func TestOneOfManyCloses(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, there Store) {
		dead := New(Config{Store: here})
		turn := beginAt(t, dead)
		emitAll(t, turn, nowhere{}, wholeTurn()[:9], nil)
		dead.Close()
		one, two := New(Config{Store: here}), New(Config{Store: there})
		defer one.Close()
		defer two.Close()
		one.failed.Store(nil)
		var closing sync.WaitGroup
		errs := make(chan error, 8)
		for _, s := range []*Service{one, two, one, two} {
			closing.Go(func() { errs <- s.closeOrphan(t.Context(), turn.Task()) })
		}
		closing.Wait()
		close(errs)
		closed := 0
		for err := range errs {
			if err == nil {
				closed++
			} else if !errors.Is(err, store.ErrConflict) {
				t.Error(err)
			}
		}
		lines, err := follow(t.Context(), two, turn.ID(), 0)
		if n := strings.Count(strings.Join(lines, "\n"), `"done"`); closed != 1 || n != 1 || err != nil {
			t.Errorf("closed %d times, %d times done, %v", closed, n, err)
		}
	})
}
