package task

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/stream"
)

// cutOutput is an output whose writes fail, and that counts calls.
type cutOutput struct {
	err             error
	writes, flushes int
}

func (f *cutOutput) Write(stream.Stamp, stream.Event) error { f.writes++; return f.err }
func (f *cutOutput) Flush() error                           { f.flushes++; return f.err }
func (*cutOutput) Blocked() time.Duration                   { return 0 }

// A client that has left is written to no more, and is no error of a turn that continues
// without it, which is counted once until it is over.
func TestReceiverThatLeaves(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	for _, detached := range []bool{true, false} {
		out, alone := &cutOutput{err: cut}, new(atomic.Int64)
		c := receiver{next: out, detached: detached, alone: alone}
		for range 2 {
			if err := errors.Join(c.write(stream.Stamp{}, nil), c.flush()); errors.Is(err, cut) == detached {
				t.Errorf("detached %v: %v", detached, err)
			}
			c.countDetached()
		}
		calls, counted := out.writes+out.flushes, alone.Load()
		if detached && (calls != 1 || counted != 1) || !detached && (calls != 4 || counted != 0) {
			t.Errorf("detached %v: %d calls of what failed, %d turns alone", detached, calls, counted)
		}
		c.endDetached()
		if c.countDetached(); alone.Load() != 0 {
			t.Errorf("detached %v: %d turns alone when it is over", detached, alone.Load())
		}
	}
}

// A stream that breaks off ends with what may be sent, and drops the rest once.
func TestReceiverIsBrokenOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		all, left bool
		flushes   int
	}{{true, false, 1}, {false, false, 0}, {true, true, 0}} {
		out, dropped := new(cutOutput), 0
		c := receiver{next: out, hasLeft: test.left, discard: func() { dropped++ }}
		if err := errors.Join(c.leaveOff(test.all), c.breakOff()); !errors.Is(err, ErrBroken) || !c.broken {
			t.Errorf("%+v: %v, broken %v", test, err, c.broken)
		}
		if out.flushes != test.flushes || dropped != 1 {
			t.Errorf("%+v: %d flushes, dropped %d times", test, out.flushes, dropped)
		}
	}
}
