package agent

import (
	"strings"
	"unicode/utf8"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// maxCalls is how many calls of one answer are taken. The rest are dropped and
// only counted.
const maxCalls = 128

// Bounds of the data of answers that goes back to its maker, signatures included, in bytes. Above
// them an answer goes back as one that somebody else made.
const (
	maxKept     = 256 << 10 // of an answer
	maxTurnKept = 1 << 20   // of a turn
)

// step collects the answer of one model call: the parts that go back with the next call, and the
// calls in it.
type step struct {
	parts    []chat.Part
	calls    []tool.Call
	dropped  int          // calls beyond maxCalls
	pending  []string     // unsigned text that is not yet a part; the events share it
	delta    stream.Delta // reused for each event
	answered bool         // text of this step was shown
	thoughts int          // bytes of thought summaries

	maker     string // of the answer; empty: nothing is measured
	keptBytes int    // bytes to go back to the maker
	spare     int    // how many of these there may be; negative: none go back any more
	gave      bool   // parts of an answer came, be it one that failed
}

// reset makes the step ready for an answer, in a turn that has kept so much already.
func (s *step) reset(kept int) {
	s.parts, s.calls, s.dropped = nil, nil, 0
	s.pending = nil
	s.answered, s.thoughts = false, 0
	s.maker, s.keptBytes, s.spare = "", 0, min(maxKept, maxTurnKept-kept)
}

// setMaker records the maker of the answer.
func (s *step) setMaker(maker string) {
	if maker != "" && s.spare >= 0 {
		s.maker = maker
	}
}

// joinMakers has the answer go back as another model's: its parts lose the data of their maker, and
// calls of an answer that failed.
func (s *step) joinMakers() {
	s.sealText()
	parts := s.parts[:0]
	for _, p := range s.parts {
		if p.Text != "" && !p.Thought {
			parts = append(parts, chat.Part{Text: p.Text})
		}
	}
	s.parts, s.calls, s.dropped = parts, nil, 0
	s.maker, s.keptBytes = chat.SeamMaker, 0
}

// boundKept counts what p brings to go back, and removes that if it is too much: from p, and from
// all that came before it.
func (s *step) boundKept(p *chat.Part) {
	if s.maker == "" && s.spare >= 0 {
		return
	}
	s.keptBytes += len(p.Kept) + len(p.Signature)
	if s.keptBytes <= s.spare {
		return
	}
	s.maker, s.keptBytes, s.spare = "", 0, -1
	p.Kept, p.Signature = "", ""
	kept := s.parts[:0]
	for _, old := range s.parts {
		old.Kept, old.Signature = "", ""
		if old.Text != "" || old.Call != nil {
			kept = append(kept, old)
		}
	}
	s.parts = kept
}

// addProviderData takes provider data that belongs to no text and no call.
func (s *step) addProviderData(kept string) {
	p := chat.Part{Kept: kept}
	if s.boundKept(&p); p.Kept != "" {
		s.sealText()
		s.parts = append(s.parts, p)
	}
}

// addText joins unsigned pieces into one part. Provider data must go back on the very part that it
// came with, so a signed piece stays alone, even an empty one.
func (s *step) addText(p *chat.Part) {
	s.answered = s.answered || p.Text != ""
	if p.Signature != "" || p.Kept != "" {
		signed := *p
		if s.boundKept(&signed); signed.Signature != "" || signed.Kept != "" {
			s.sealText()
			s.parts = append(s.parts, signed)
			return
		}
	}
	if p.Text != "" {
		s.pending = append(s.pending, p.Text)
	}
}

// addCall keeps a call, or counts it if there are enough. A dropped call goes with its
// signature: the model is not shown that it made it.
func (s *step) addCall(p *chat.Part) {
	if len(s.calls) == maxCalls {
		s.dropped++
		return
	}
	s.sealText()
	c := *p.Call
	c.Arguments = c.Arguments.Clone() // bytes, unlike strings, are the chunk's own
	s.calls = append(s.calls, c)
	part := chat.Part{Call: &c, Signature: p.Signature, Kept: p.Kept}
	s.boundKept(&part)
	s.parts = append(s.parts, part)
}

// measureShown returns how much of the answer was shown, behind a text that ends with tail.
func (s *step) measureShown(tail byte) (so stale) {
	s.sealText()
	for i := range s.parts {
		text := s.parts[i].Text
		if so.bytes == 0 && text != "" && needsGap(tail, text) {
			so.add(between)
		}
		so.add(text)
	}
	return so
}

// add counts a text.
func (s *stale) add(text string) {
	s.bytes += len(text)
	s.runes += utf8.RuneCountInString(text)
}

// sealText makes a part of the pending text.
func (s *step) sealText() {
	if len(s.pending) == 0 {
		return
	}
	s.parts = append(s.parts, chat.Part{Text: strings.Join(s.pending, "")})
	s.pending = nil
}
