package run

import "sluice/stream"

// Voice emits the texts of several speakers as one answer: one after the other in the order of
// Lines, the text of the first that has not ended as it comes. So the answer does not depend on
// which speaker is faster. A single goroutine uses it.
type Voice struct {
	Out     *Out
	Lines   []Line // never moved once texts have come
	Speaker int    // the line whose text is emitted as it comes; len(Lines): all have ended
	Emitted Join   // what is out
	Natural bool   // short sentences are joined in one paragraph
	// Begun is called before the first text of a line; nil: nobody asks.
	Begun func(line int)

	delta stream.Delta // reused for each event
}

// Line is one speaker's part in an answer.
type Line struct {
	Attribution stream.Attribution
	Pending     []string                     // texts that wait for the speakers before
	Seams       map[int]*stream.ModelChanged // by the pending text that follows them
	Spoke       bool                         // some of its text is out
}

// Text emits a piece of a line's text, or stores it until those before have ended. The caller
// bounds the stored pieces.
func (v *Voice) Text(line int, text string) {
	if text == "" {
		return
	}
	if l := &v.Lines[line]; line != v.Speaker {
		l.Pending = append(l.Pending, text)
		return
	}
	v.speakText(line, text)
}

// speakText emits a text. Before the first one of a line comes what joins it to the text so far;
// that belongs to no speaker.
func (v *Voice) speakText(line int, text string) {
	l := &v.Lines[line]
	if !l.Spoke {
		l.Spoke = true
		if v.Begun != nil {
			v.Begun(line)
		}
		v.EmitPlain(v.Emitted.Between(text, v.Natural))
	}
	v.Emitted.Add(text)
	if v.delta.Attribution != l.Attribution { // cheaper than to write it for each piece
		v.delta.Attribution = l.Attribution
	}
	v.delta.Text = text
	_ = v.Out.Emit(&v.delta)
}

// Reset takes back the end of a line's text: of its pending pieces, or else, by an event, of its
// emitted text. A line is out to its end or not at all.
func (v *Voice) Reset(line int, ev *stream.Reset) {
	if l := &v.Lines[line]; line != v.Speaker {
		l.Pending = Cut(l.Pending, ev.Back)
		return
	}
	v.Emitted.Cut(ev.Runes)
	_ = v.Out.Emit(ev)
}

// ChangeModel emits that another model answers for a line. A seam waits for the text before it.
func (v *Voice) ChangeModel(line int, ev *stream.ModelChanged) {
	l := &v.Lines[line]
	if line == v.Speaker || !ev.Continued {
		_ = v.Out.Emit(ev)
		return
	}
	if l.Seams == nil {
		l.Seams = map[int]*stream.ModelChanged{}
	}
	l.Seams[len(l.Pending)] = ev
}

// Cut returns the pieces of a text without so many bytes at its end.
func Cut(pieces []string, back int) []string {
	for n := len(pieces); n > 0 && back > 0; n-- {
		last := pieces[n-1]
		if back < len(last) {
			pieces[n-1] = last[:len(last)-back]
			break
		}
		pieces, back = pieces[:n-1], back-len(last)
	}
	return pieces
}

// EmitPlain emits a text that is not a speaker's own.
func (v *Voice) EmitPlain(text string) {
	if text != "" {
		v.Emitted.Add(text)
		_ = v.Out.Emit(&stream.Delta{Text: text})
	}
}

// Advance moves on to the first line that has not ended, and emits the pending texts of the lines
// up to it. It is called after each end of a line.
func (v *Voice) Advance(ended func(line int) bool) {
	for v.Speaker < len(v.Lines) {
		v.releaseLine(v.Speaker)
		if !ended(v.Speaker) {
			return
		}
		v.Speaker++
	}
}

// FlushEnded emits the pending texts of all lines that have ended, though earlier lines have not:
// those wait for a person.
func (v *Voice) FlushEnded(ended func(line int) bool) {
	for line := range v.Lines {
		if ended(line) {
			v.releaseLine(line)
		}
	}
}

// releaseLine emits the pending texts of a line.
func (v *Voice) releaseLine(line int) {
	pending, seams := v.Lines[line].Pending, v.Lines[line].Seams
	v.Lines[line].Pending, v.Lines[line].Seams = nil, nil
	for i := range len(pending) + 1 {
		if ev := seams[i]; ev != nil {
			_ = v.Out.Emit(ev)
		}
		if i < len(pending) {
			v.speakText(line, pending[i])
		}
	}
}
