package task

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// lapsing is the store of a process that is stopped for long: it does not renew its lease.
type lapsing struct {
	*memory.Store
	stopped atomic.Bool
}

func (l *lapsing) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	if l.stopped.Load() {
		return nil
	}
	return l.Store.RenewLease(ctx, h, ttl)
}

// buffered is a client's output: what is flushed has arrived.
type buffered struct {
	held, arrived []string
}

func (b *buffered) Write(_ stream.Stamp, ev stream.Event) error {
	name := stream.Name(ev)
	if d, ok := ev.(*stream.Delta); ok {
		name += " " + d.Text
	}
	b.held = append(b.held, name)
	return nil
}

func (b *buffered) Flush() error {
	b.arrived, b.held = append(b.arrived, b.held...), nil
	return nil
}

func (*buffered) Blocked() time.Duration { return 0 }

func (b *buffered) discard() { b.held = nil }

// The client of a process that was stopped past its lease gets nothing that the log does not
// have, neither what was waiting to be sent nor an end that the log has otherwise.
func TestFencedOwnerEmitsNothing(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]time.Duration{"at once": time.Second, "with pieces that wait": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				mine := &lapsing{Store: shared}
				owner, other := New(Config{Store: mine}), New(Config{Store: shared})
				defer owner.Close()
				defer other.Close()
				var cause error
				turn := begin(t, owner, func(err error) { cause = err }, &stream.Start{Model: "m"}, &stream.Delta{Text: "a"})
				client := new(buffered)
				turn.Before(client)
				turn.OnBreak(client.discard)
				mine.stopped.Store(true)
				time.Sleep(40 * time.Second)
				if got := logLines(t, other, turn.ID()); len(got) != 4 {
					t.Fatalf("the log has %q", got)
				}
				late := errors.Join(turn.Write(stream.Stamp{N: 3}, &stream.Delta{Text: "b"}), turn.Flush())
				time.Sleep(waits)
				late = errors.Join(late, turn.Write(stream.Stamp{N: 4}, &stream.Delta{Text: "c"}), turn.Flush())
				time.Sleep(time.Second)
				if end := errors.Join(turn.Write(stream.Stamp{N: 5}, &stream.Done{Reason: stream.Stop}), turn.Flush()); !errors.Is(end, ErrBroken) || !errors.Is(late, ErrBroken) {
					t.Errorf("the turn was told %v, %v", late, end)
				}
				turn.End()
				if cause == nil {
					t.Error("the turn was not cancelled")
				}
				if diff := cmp.Diff([]string(nil), append(client.arrived, client.held...)); diff != "" {
					t.Errorf("its client got (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// slow is a store that takes a second to read a task.
type slow struct{ *memory.Store }

func (s slow) Task(ctx context.Context, id string) (store.Task, error) {
	time.Sleep(time.Second)
	return s.Store.Task(ctx, id)
}

// A process that closes many turns of a dead one keeps its own lease meanwhile: else another
// process would take its turns over.
func TestLeaseIsRenewedDuringASweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		tasks, _ := orphaned(t, shared, 20)
		s := New(Config{Store: slow{shared}, Lease: 3 * time.Second})
		defer s.Close()
		for range 400 {
			time.Sleep(100 * time.Millisecond)
			if alive, err := shared.LeasesAlive(t.Context(), s.Holder()); err != nil || !alive[0] {
				t.Fatalf("its lease is over: %v", err)
			}
		}
		for _, id := range tasks {
			if got, err := shared.Task(t.Context(), id); err != nil || got.State == Working {
				t.Errorf("%s is %s: %v", id, got.State, err)
			}
		}
	})
}
