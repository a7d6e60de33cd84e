package stream_test

import (
	"errors"
	"regexp"

	"sluice/stream"
)

// The grammar a second time, as a language over letters: what a client may have
// seen at some moment, and what it has seen when the turn is over.
var (
	begun    = regexp.MustCompile(`^(S[TDMRe+p-]*(E?|X|Ex|A+|A+Q))?$`)
	complete = regexp.MustCompile(`^S[TDMRe+p-]*(X|Ex|A+Q|A+Ex)$`)
)

// letters writes events as letters: S start, T thinking, D delta, M another model, e and E errors
// that are not and are fatal, + and - a tool call that begins and ends, p its
// progress, A a question to a person and Q the done that follows it, X and x a done that
// is another success and that is none, R text that is taken back, ? what is not an event of a turn.
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
	case *stream.ModelChanged:
		return either(ev.Step > 0 && ev.Key != "" && ev.Previous != "" && ev.Key != ev.Previous && ev.Reason != "", 'M', '?')
	case *stream.Reset:
		return either(ev.Reason != "", 'R', '?')
	case *stream.Error:
		return either(ev.Fatal, 'E', 'e')
	case *stream.ToolStarted:
		return '+'
	case *stream.ToolProgress:
		return 'p'
	case *stream.ToolCompleted, *stream.ToolFailed, *stream.ToolUnknown:
		return '-'
	case *stream.Approval:
		return either(ev.ID != "" && ev.Token != "" && len(ev.Calls) > 0, 'A', '?')
	case *stream.Done:
		switch ev.Reason {
		case "approval_required":
			return 'Q'

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
// once, ended before the turn is, and has progress only in between.
func legal(events []stream.Event, language *regexp.Regexp) bool {
	if !language.MatchString(letters(events)) {
		return false
	}
	open, used := 0, map[string]int{}
	text, resets := "", 0
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
		case 'p':
			if used[callID(ev)] != 1 {
				return false
			}
		case 'E', 'X', 'A':
			if open > 0 {
				return false
			}
		case 'D':
			text += ev.(*stream.Delta).Text
		case 'R':
			stays := ev.(*stream.Reset).Accumulated
			if resets++; resets > 8 || len(stays) >= len(text) {
				return false
			}
			text = stays
		}
	}
	return true
}

func callID(ev stream.Event) string {
	switch ev := ev.(type) {
	case *stream.ToolStarted:
		return ev.ID
	case *stream.ToolProgress:
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

// recorder keeps what it gets and fails when asked to.
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
