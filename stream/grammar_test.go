package stream_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// foreign satisfies Event by embedding one, although it is none of the package's.
type foreign struct{ *stream.Delta }

// anyEvent returns any event at all. Few ids, so that they come again.
func anyEvent(r *rand.Rand) stream.Event {
	call := stream.Call{ID: []string{"", "a", "b", "c"}[r.IntN(4)], Tool: "t"}
	reasons := []stream.FinishReason{stream.Stop, stream.MaxTokens, stream.MaxSteps, stream.Failed, stream.TimedOut, stream.Cancelled, stream.Shutdown, stream.ApprovalRequired, stream.ApprovalRequired, ""}
	change := stream.ModelChanged{Step: 1, Key: "b", Model: "m", Previous: "a", Reason: "timeout"}
	none, back, first, why := change, change, change, change
	none.Key, back.Key, first.Step, why.Reason = "", "a", 0, ""
	changes := []stream.Event{&change, &change, &change, &none, &back, &first, &why}
	asks := stream.Approval{ID: "q", Kind: "tool", ExpiresAt: "soon", Token: "t", Calls: []stream.ApprovalCall{{CallID: "d"}}}
	mute := asks
	mute.Token = ""
	events := []stream.Event{
		&asks, &asks, &mute,
		&stream.Start{}, &stream.Thinking{Content: "t"}, &stream.Thinking{}, &stream.Delta{Text: "d"}, &stream.Delta{},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call},
		&stream.ToolUnknown{Call: call}, &stream.ToolProgress{Call: call}, &stream.ToolProgress{Call: call}, &stream.Error{}, &stream.Error{Fatal: true}, &stream.Done{Reason: reasons[r.IntN(len(reasons))]},
		foreign{&stream.Delta{Text: "d"}}, nil, &stream.Reset{Accumulated: strings.Repeat("d", r.IntN(3)), Reason: stream.ResetFallback}, &stream.Reset{}, changes[r.IntN(len(changes))],
	}
	return events[r.IntN(len(events))]
}

// Whatever is sent: exactly the events that the grammar allows reach the sink.
func TestGuardPassesWhatIsLegalAndNothingElse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	finished := 0
	for range 2_500 {
		sink := &recorder{}
		guard := stream.NewGuard(sink)
		for range 1 + r.IntN(24) {
			before := slices.Clone(sink.events)
			ev := anyEvent(r)
			if len(before) == 0 && r.IntN(2) == 0 {
				ev = &stream.Start{}
			}
			want := legal(append(before, ev), begun)
			err := guard.Emit(ev)
			if (err == nil) != want || !want && !errors.Is(err, stream.ErrGrammar) {
				t.Fatalf("after %q, Emit(%T %+v) = %v; legal: %v", letters(before), ev, ev, err, want)
			}
			if want {
				before = append(before, ev)
			}
			if !slices.Equal(before, sink.events) {
				t.Fatalf("sent %q, the sink got %q", letters(before), letters(sink.events))
			}
		}
		ended := legal(sink.events, complete)
		if guard.Ended() != ended {
			t.Fatalf("after %q: Ended() = %v", letters(sink.events), guard.Ended())
		}
		if ended {
			finished++
		}
	}
	if finished < 100 {
		t.Errorf("only %d of the sequences were whole turns: the test proves little", finished)
	}
}

func TestGuardPassesWholeTurnsUnchanged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 1_500 {
		turn := wholeTurn(r)
		if !legal(turn, complete) {
			t.Fatalf("the test's own turn %q is not legal", letters(turn))
		}
		sink := &recorder{}
		guard := stream.NewGuard(sink)
		for i, ev := range turn {
			if err := guard.Emit(ev); err != nil {
				t.Fatalf("event %d of %q: %v", i, letters(turn), err)
			}
		}
		if err := guard.Fail(errors.New("too late")); err != nil {
			t.Fatalf("Fail after Done: %v", err)
		}
		if !slices.Equal(turn, sink.events) || !guard.Ended() {
			t.Fatalf("sent %q, the sink got %q, ended: %v", letters(turn), letters(sink.events), guard.Ended())
		}
	}
}

// wholeTurn makes a turn as the grammar describes it.
func wholeTurn(r *rand.Rand) []stream.Event {
	turn := []stream.Event{&stream.Start{}}
	var open []string
	ids := 0
	end := func() {
		i := r.IntN(len(open))
		call := stream.Call{ID: open[i]}
		open = slices.Delete(open, i, i+1)
		turn = append(turn, []stream.Event{&stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call}, &stream.ToolUnknown{Call: call}}[r.IntN(3)])
	}
	text, resets := 0, 0
	for range r.IntN(60) {
		switch r.IntN(9) {
		case 0:
			turn = append(turn, &stream.Thinking{Content: "t"})
		case 1:
			turn = append(turn, &stream.Delta{Text: "d"})
			text++
		case 7, 8:
			if text > 0 && resets < 8 {
				text, resets = r.IntN(text), resets+1
				turn = append(turn, &stream.Reset{Accumulated: strings.Repeat("d", text), Reason: stream.ResetTakenOver})
			}
		case 2:
			turn = append(turn, &stream.Error{Type: fault.ToolFailed})
		case 3:
			ids++
			open = append(open, strconv.Itoa(ids))
			turn = append(turn, &stream.ToolStarted{Call: stream.Call{ID: strconv.Itoa(ids)}})
		case 4:
			if len(open) > 0 {
				end()
			}
		case 5:
			turn = append(turn, &stream.ModelChanged{Step: 1, Key: "b", Previous: "a", Reason: "timeout"})
		case 6:
			if len(open) > 0 {
				turn = append(turn, &stream.ToolProgress{Call: stream.Call{ID: open[r.IntN(len(open))]}})
			}
		}
	}
	for len(open) > 0 {
		end()
	}
	if r.IntN(2) == 0 {
		return append(turn, &stream.Done{Reason: stream.MaxSteps})
	}
	return append(turn, &stream.Error{Fatal: true}, &stream.Done{Reason: stream.TimedOut})
}
