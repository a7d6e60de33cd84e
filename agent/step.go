package agent

import (
	"strings"

	"sluice/chat"
	"sluice/stream"
	"sluice/tool"
)

// maxCalls is how many calls of one answer are taken. The rest are dropped and
// only counted.
const maxCalls = 128

// step collects the answer of one model call: what goes back to the model with
// the next one, and the calls in it.
type step struct {
	parts    []chat.Part
	calls    []tool.Call
	dropped  int          // calls beyond maxCalls
	pending  []string     // unsigned text that is not yet a part; the events share it
	delta    stream.Delta // reused for each event
	answered bool         // text of this step was shown
	thoughts int          // bytes of thought summaries
}

func (s *step) reset() {
	s.parts, s.calls, s.dropped = nil, nil, 0
	s.pending = nil
	s.answered, s.thoughts = false, 0
}

// text joins unsigned pieces into one part. A signature must go back on the very
// part that it came with, so a signed piece stays alone, even an empty one.
func (s *step) text(p *chat.Part) {
	s.answered = s.answered || p.Text != ""
	if p.Signature == "" {
		if p.Text != "" {
			s.pending = append(s.pending, p.Text)
		}
		return
	}
	s.seal()
	s.parts = append(s.parts, *p)
}

// call keeps a call, or counts it if there are enough. A dropped call goes with its
// signature: the model is not shown that it made it.
func (s *step) call(p *chat.Part) {
	if len(s.calls) == maxCalls {
		s.dropped++
		return
	}
	s.seal()
	c := *p.Call
	c.Arguments = c.Arguments.Clone() // bytes, unlike strings, are the chunk's own
	s.calls = append(s.calls, c)
	s.parts = append(s.parts, chat.Part{Call: &c, Signature: p.Signature})
}

// seal makes a part of the pending text.
func (s *step) seal() {
	if len(s.pending) == 0 {
		return
	}
	s.parts = append(s.parts, chat.Part{Text: strings.Join(s.pending, "")})
	s.pending = nil
}
