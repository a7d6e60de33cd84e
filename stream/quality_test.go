package stream_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/stream"
)

// phases is the language of the phases of a turn, a letter each: those of a second
// attempt in lower case.
var phases = regexp.MustCompile(`^P*X*C*F*V*([S!]|Rf*v*[s?]?)?$`)

func phaseLetter(q *stream.Quality) string {
	letters := map[stream.Phase]string{stream.Planning: "P", stream.Extracting: "X", stream.Composing: "C", stream.Formatting: "F",
		stream.Validating: "V", stream.Sending: "S", stream.Failing: "!"}
	switch l := letters[q.Phase]; {
	case q.Phase == stream.Refining && q.Attempt == 2:
		return "R"
	case q.Attempt == 1 && l != "":
		return l
	case q.Attempt == 2 && l == "!":
		return "?"
	case q.Attempt == 2 && l != "":
		return strings.ToLower(l)
	}
	return "#"
}

// checkedIsLegal judges a turn that is checked or formatted, by the rules of the contract
// and not by those of the Guard.
func checkedIsLegal(events []stream.Event) bool {
	got, attempt, messages, total, answered := "", 0, 0, 0, false
	for _, ev := range events {
		switch ev := ev.(type) {
		case *stream.Delta:
			if messages > 0 {
				return false
			}
			answered = true
		case *stream.Reset:
			if ev.Accumulated != "" || !answered || messages > 0 {
				return false
			}
			answered = false
		case *stream.Quality:
			if got += phaseLetter(ev); ev.Attempt < attempt {
				return false
			}
			attempt = ev.Attempt
		case *stream.InnerDelta:
			if ev.Delta == "" || ev.Attempt > 2 || ev.Attempt < 0 || ev.Attempt > 0 && (answered || ev.Attempt < attempt) {
				return false
			}
			attempt = max(attempt, ev.Attempt)
		case *stream.ChannelMessage:
			if messages++; ev.Sequence != messages || ev.Sequence > ev.Total || messages > 1 && ev.Total != total {
				return false
			}
			total = ev.Total
		case *stream.Done:
			if messages != total {
				return false
			}
		}
	}
	return phases.MatchString(got)
}

func anyChecked(r *rand.Rand) stream.Event {
	all := []stream.Phase{stream.Planning, stream.Extracting, stream.Composing, stream.Formatting, stream.Validating, stream.Refining, stream.Sending, stream.Failing, "lunch"}
	switch r.IntN(9) {
	case 0:
		return &stream.Delta{Text: "d"}
	case 8:
		return &stream.Reset{Reason: stream.ResetTakenOver}
	case 1:
		return &stream.InnerDelta{Delta: []string{"d", ""}[r.IntN(8)/7], Attempt: r.IntN(4)}
	case 2, 3:
		return &stream.ChannelMessage{Sequence: 1 + r.IntN(3), Total: r.IntN(4)}
	case 4:
		return &stream.Done{Reason: stream.Stop}
	}
	return &stream.Quality{Phase: all[r.IntN(len(all))], Attempt: r.IntN(4)}
}

// Whatever is sent of an answer that is checked: what the contract allows passes, and
// nothing else.
func TestGuardOfCheckedAnswers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	ended, refined := 0, 0
	for range 30_000 {
		sink := &recorder{}
		guard := stream.NewGuard(sink)
		_ = guard.Emit(&stream.Start{})
		for range 1 + r.IntN(24) {
			ev := anyChecked(r)
			want := !guard.Ended() && checkedIsLegal(append(slices.Clone(sink.events), ev))
			if err := guard.Emit(ev); (err == nil) != want {
				t.Fatalf("after %+v, Emit(%T %+v) = %v; legal: %v", sink.events, ev, ev, err, want)
			}
			if q, ok := ev.(*stream.Quality); ok && want && q.Phase == stream.Refining {
				refined++
			}
		}
		if guard.Ended() {
			ended++
		}
		if err := guard.Fail(errSink); err != nil || !guard.Ended() {
			t.Fatalf("Fail after %+v: %v", sink.events, err)
		}
	}
	if ended < 100 || refined < 100 {
		t.Errorf("only %d turns ended and %d were refined: the test proves little", ended, refined)
	}
}

// A draft has no number, so those of the others are without gaps.
func TestDraftsHaveNoNumber(t *testing.T) {
	t.Parallel()
	var got stamps
	s := stream.NewStamper(&got, time.Now())
	for _, ev := range []stream.Event{&stream.Start{}, &stream.InnerDelta{Delta: "d", Attempt: 1}, &stream.InnerDelta{Delta: "d"}, &stream.Delta{Text: "d"}} {
		_ = s.Emit(ev)
	}
	var numbers []int
	for _, at := range got {
		numbers = append(numbers, at.N)
	}
	if want := []int{1, 0, 2, 3}; !slices.Equal(numbers, want) {
		t.Errorf("numbers %v, want %v", numbers, want)
	}
}
