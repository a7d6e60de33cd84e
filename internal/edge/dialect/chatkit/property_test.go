package chatkit_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/stream"
)

// tape is a sink that encodes, and notes what passed the guard.
type tape struct {
	enc    stream.Encoder
	frames []byte
	text   strings.Builder
	ends   []int // of the pieces in text
	resets int
}

func (s *tape) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok {
		s.text.WriteString(d.Text)
		s.ends = append(s.ends, s.text.Len())
	}
	if r, ok := ev.(*stream.Reset); ok {
		s.text.Reset()
		s.text.WriteString(r.Accumulated)
		s.resets++
		s.ends = s.ends[:slices.Index(s.ends, len(r.Accumulated))+1]
	}
	s.frames = s.enc.Encode(s.frames, stream.Stamp{}, ev)
	return nil
}

func (s *tape) Flush() error { return nil }

var words = []string{"a", " ", "\n\n", "word ", "**bold**", "\u2028", "\u0085", "漢", "\"", "\\", "€\xff"}

// anything returns any event, with few ids, so that calls end.
func anything(r *rand.Rand) stream.Event {
	call := stream.Call{ID: strconv.Itoa(r.IntN(6)), Tool: "t", Server: "s", Arguments: []byte(`{"n":1}`)}
	text := words[r.IntN(len(words))]
	events := []stream.Event{
		&stream.Thinking{Content: text}, &stream.Thinking{Content: "**T**\n" + text}, &stream.Thinking{Content: strings.Repeat(text+"x", 900)},
		&stream.Delta{Text: text}, &stream.Delta{Text: text}, &stream.Delta{Text: text},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolProgress{Call: call, Progress: 1, Message: text},
		&stream.ToolCompleted{Call: call, Result: text}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call, Message: text},
		&stream.ToolUnknown{Call: call, Message: text}, &stream.Error{Type: fault.ToolFailed, Message: "m"},
		&stream.Error{Type: fault.MCPUnavailable, Message: "m", Service: "mcp:s"},
		&stream.Error{Type: fault.Timeout, Message: "m", Fatal: true}, &stream.Done{Reason: stream.Stop}, &stream.Done{Reason: stream.MaxSteps},
	}
	return events[r.IntN(len(events))]
}

// In whatever events a turn is reported, a client can follow it and reads the same text.
func TestAnyTurnCanBeFollowed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	several, both, resets := 0, 0, 0
	for range 500 {
		server := chatkit.New(chatkit.Config{})
		x := open(t, server, create("hi"))
		out := &tape{enc: x.Encoder}
		guard := stream.NewGuard(out)
		_ = guard.Emit(&stream.Start{})
		for range r.IntN(60) {
			_ = guard.Emit(anything(r)) // what is out of place does not pass
			if n := len(out.ends); n > 0 && r.IntN(40) == 0 {
				size := append([]int{0}, out.ends...)[r.IntN(n)]
				_ = guard.Emit(&stream.Reset{Accumulated: out.text.String()[:size], Reason: stream.ResetFallback})
			}
		}
		resets += out.resets
		if err := guard.Fail(errors.New("late")); err != nil {
			t.Fatal(err)
		}
		x.Close()
		c, err := follow(string(out.frames), false)
		if err != nil || len(c.open) > 0 {
			t.Fatalf("%v; %d open at the end; in\n%s", err, len(c.open), out.frames)
		}
		if want := strings.ToValidUTF8(out.text.String(), "\ufffd"); c.answer() != want {
			t.Fatalf("the client reads %q, want %q", c.answer(), want)
		}
		if len(c.order) > 1 {
			several++
		}
		if len(c.items) > 4 {
			both++
		}
	}
	if several < 25 || both < 25 || resets < 25 {
		t.Errorf("only %d turns with several messages, %d with many items and %d resets: the test proves little", several, both, resets)
	}
}
