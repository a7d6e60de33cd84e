package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// stamps keeps the stamps of what it receives.
type stamps []stream.Stamp

func (s *stamps) Write(at stream.Stamp, _ stream.Event) error { *s = append(*s, at); return nil }
func (*stamps) Flush() error                                  { return nil }
func (*stamps) Blocked() time.Duration                        { return 0 }

// Pieces of the answer that come together share a time; everything else, and the first
// piece after a Flush, has its own.
func TestStampsOfPiecesThatComeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got stamps
		s := stream.NewStamper(&got, time.Now())
		emit := func(evs ...stream.Event) {
			for _, ev := range evs {
				time.Sleep(time.Second)
				_ = s.Emit(ev)
			}
		}
		piece := &stream.Delta{Text: "a"}
		emit(&stream.Start{}, piece, piece)
		_ = s.Flush()
		emit(piece, &stream.Thinking{}, piece, &stream.Done{})
		want := stamps{{1, time.Second}, {2, 2 * time.Second}, {3, 2 * time.Second}, {4, 4 * time.Second},
			{5, 5 * time.Second}, {6, 6 * time.Second}, {7, 7 * time.Second}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stamps (-want +got):\n%s", diff)
		}
		if event, delta := s.First(); event != time.Second || delta != 2*time.Second {
			t.Errorf("First = %v, %v", event, delta)
		}
	})
}
