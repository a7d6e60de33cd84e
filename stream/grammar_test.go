package stream_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"sluice/fault"
	"sluice/stream"
)

// The grammar a second time, as a language over letters: what a client may have
// seen at some moment, and what it has seen when the turn is over.
var (
	begun    = regexp.MustCompile(`^(S[TDe+-]*(E?|X|Ex))?$`)
	complete = regexp.MustCompile(`^S[TDe+-]*(X|Ex)$`)
)

// letters writes events as letters: S start, T thinking, D delta, e and E errors
// that are not and are fatal, + and - a tool call that begins and ends, X and x a
// done that is a success and that is none, ? what is no event of a turn.
func letters(events []stream.Event) string {
	b := make([]byte, len(events))
	for i, ev := range events {
		b[i] = letter(ev)
	}
	return string(b)
}

func letter(ev stream.Event) byte {
	switch ev := ev.(type) {
	case *stream.Start:
		return 'S'
	case *stream.Thinking:
		return 'T'
	case *stream.Delta:
		return either(ev.Text != "", 'D', '?')
	case *stream.Error:
		return either(ev.Fatal, 'E', 'e')
	case *stream.ToolStarted:
		return '+'
	case *stream.ToolCompleted, *stream.ToolFailed, *stream.ToolUnknown:
		return '-'
	case *stream.Done:
		switch ev.Reason {
		case "stop", "max_tokens", "max_steps":
			return 'X'
		case "error", "timeout", "cancelled", "shutdown":
			return 'x'
		}
	}
	return '?'
}

func either(cond bool, yes, no byte) byte {
	if cond {
		return yes
	}
	return no
}

// legal judges the order of events and that each tool call is begun once, ended
// once, and ended before the turn is.
func legal(events []stream.Event, language *regexp.Regexp) bool {
	if !language.MatchString(letters(events)) {
		return false
	}
	open, used := 0, map[string]int{}
	for _, ev := range events {
		switch letter(ev) {
		case '+':
			id := callID(ev)
			if id == "" || used[id] > 0 {
				return false
			}
			used[id] = 1
			open++
		case '-':
			if used[callID(ev)] != 1 {
				return false
			}
			used[callID(ev)] = 2
			open--
		case 'E', 'X':
			if open > 0 {
				return false
			}
		}
	}
	return true
}

func callID(ev stream.Event) string {
	switch ev := ev.(type) {
	case *stream.ToolStarted:
		return ev.ID
	case *stream.ToolCompleted:
		return ev.ID
	case *stream.ToolFailed:
		return ev.ID
	case *stream.ToolUnknown:
		return ev.ID
	}
	return ""
}

// foreign satisfies Event by embedding one, although it is none of the package's.
type foreign struct{ *stream.Delta }

// anyEvent returns any event at all. Few ids, so that they come again.
func anyEvent(r *rand.Rand) stream.Event {
	call := stream.Call{ID: []string{"", "a", "b", "c"}[r.IntN(4)], Tool: "t"}
	reasons := []stream.FinishReason{stream.Stop, stream.MaxTokens, stream.MaxSteps, stream.Failed, stream.TimedOut, stream.Cancelled, stream.Shutdown, ""}
	events := []stream.Event{
		&stream.Start{}, &stream.Thinking{Content: "t"}, &stream.Thinking{}, &stream.Delta{Text: "d"}, &stream.Delta{},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call},
		&stream.ToolUnknown{Call: call}, &stream.Error{}, &stream.Error{Fatal: true}, &stream.Done{Reason: reasons[r.IntN(len(reasons))]},
		foreign{&stream.Delta{Text: "d"}}, nil,
	}
	return events[r.IntN(len(events))]
}

// Whatever is sent: exactly the events that the grammar allows reach the sink.
func TestGuardPassesWhatIsLegalAndNothingElse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	finished := 0
	for range 4_000 {
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
		if guard.Ended() != ended || guard.Sent() != len(sink.events) {
			t.Fatalf("after %q: Ended() = %v, Sent() = %d", letters(sink.events), guard.Ended(), guard.Sent())
		}
		if ended {
			finished++
		}
	}
	if finished < 200 {
		t.Errorf("only %d of the sequences were whole turns: the test proves little", finished)
	}
}

func TestGuardPassesWholeTurnsUnchanged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
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
	for range r.IntN(30) {
		switch r.IntN(5) {
		case 0:
			turn = append(turn, &stream.Thinking{Content: "t"})
		case 1:
			turn = append(turn, &stream.Delta{Text: "d"})
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

// recorder keeps what it gets and fails when told to.
type recorder struct {
	events  []stream.Event
	flushes int
	calls   int
	failAt  int // the call that fails; 0: none
}

var errSink = errors.New("sink failed")

func (s *recorder) call() error {
	s.calls++
	if s.calls == s.failAt {
		return errSink
	}
	return nil
}

func (s *recorder) Emit(ev stream.Event) error {
	if err := s.call(); err != nil {
		return err
	}
	s.events = append(s.events, ev)
	return nil
}

func (s *recorder) Flush() error {
	s.flushes++
	return s.call()
}
