package task

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// A client that received events while the store was unavailable, and lost the connection, is
// ahead of the log, or there is no log yet. Another gateway waits for what comes behind them.
func TestReaderAheadOfTheLog(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"the log has the first event": 1, "there is no log yet": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := &failing{Store: memory.New(memory.Config{})}
				shared.down.Store(before == 0)
				owner, other := New(Config{Store: shared}), New(Config{Store: shared})
				defer owner.Close()
				defer other.Close()
				turn := begin(t, owner, nil, &stream.Start{Model: "m"})
				report := func(n int, ev stream.Event) {
					if err := errors.Join(turn.Write(stream.Stamp{N: n}, ev), turn.Flush()); err != nil {
						t.Fatal(err)
					}
				}
				shared.down.Store(true)
				report(2, &stream.Delta{Text: "a"})
				report(3, &stream.Delta{Text: "b"})
				got := make(chan []string)
				go func() { got <- readFrom(t, other, turn, 3) }()
				time.Sleep(2 * time.Second)
				shared.down.Store(false)
				report(4, &stream.Delta{Text: "c"})
				report(5, &stream.Done{Reason: stream.Stop})
				turn.End()
				if diff := cmp.Diff([]string{"skipped start", "skipped response_delta", "skipped response_delta", "response_delta", "done"}, <-got); diff != "" {
					t.Errorf("a reader who has three events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// readFrom reads a turn behind event n, at another gateway.
func readFrom(t *testing.T, s *Service, turn *Turn, n int) (lines []string) {
	log, err := s.Await(t.Context(), turn.Task(), turn.ID())
	if err != nil {
		return []string{err.Error()}
	}
	more, err := log.Skip(t.Context(), n, func(ev stream.Event) { lines = append(lines, "skipped "+stream.Name(ev)) })
	if err != nil || !more {
		return append(lines, "nothing to resume")
	}
	for events, err := range log.Events(t.Context()) {
		if err != nil {
			return append(lines, err.Error())
		}
		for _, e := range events {
			lines = append(lines, stream.Name(e.Event))
		}
	}
	return lines
}

// Nobody waits for a log that will never be: of a turn that has ended, or whose owner does
// not come back in time.
func TestNoLogToWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &failing{Store: memory.New(memory.Config{})}
		shared.down.Store(true)
		s := New(Config{Store: shared})
		defer s.Close()
		turn := begin(t, s, nil, &stream.Start{Model: "m"})
		began := time.Now()
		if _, err := s.Await(t.Context(), turn.Task(), turn.ID()); !errors.Is(err, ErrGone) || time.Since(began) > DefaultLease+2*sweepEvery {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err := s.Await(t.Context(), "task_0", turn.ID()); !errors.Is(err, ErrGone) || time.Since(began) > 0 {
			t.Errorf("of no task: %v after %v", err, time.Since(began))
		}
		turn.End()
	})
}

// Who has more than a log that another process has closed gets the end of that log, whether it
// comes before or behind the close; who has that end gets nothing.
func TestReaderAheadOfAClosedLog(t *testing.T) {
	t.Parallel()
	const done = 4 // start, a delta, the error and this
	for after, want := range map[int][]string{
		1: {"skipped start", "response_delta", "error", "done"}, done - 1: {"skipped start", "skipped response_delta", "skipped error", "done"},
		done: {"skipped start", "skipped response_delta", "skipped error", "skipped done", "nothing to resume"},
		9:    {"skipped start", "skipped response_delta", "skipped error", "done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.New(memory.Config{})
			owner, other := New(Config{Store: shared}), New(Config{Store: shared})
			defer other.Close()
			turn := begin(t, owner, nil, &stream.Start{Model: "m"}, &stream.Delta{Text: "a"})
			early := make(chan []string)
			go func() { early <- readFrom(t, other, turn, 9) }()
			synctest.Wait()
			owner.Close()
			if diff := cmp.Diff([]string{"skipped start", "skipped response_delta", "skipped error", "done"}, <-early); diff != "" {
				t.Errorf("before the close (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, readFrom(t, other, turn, after)); diff != "" {
				t.Errorf("behind event %d (-want +got):\n%s", after, diff)
			}
		})
	}
}
