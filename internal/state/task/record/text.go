package record

import (
	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

const (
	// maxField bounds a text of a trace.
	maxField = 8 << 10
	// maxLooked is the length of a text that is examined. maxTail is the length that is left out at
	// the end of a longer text: a secret may have been cut in two there.
	maxLooked, maxTail = 16 << 10, 1 << 10
	// usualText is room for a usual answer.
	usualText = 512
)

// kinds are hidden in every trace.
const kinds = redact.AllKinds

// text gathers the text of a speaker.
type text struct {
	data []byte
	more bool // there was more of it
	size int  // of all of it
}

func (t *text) hasText() bool { return len(t.data) > 0 }

func (t *text) add(piece string) {
	t.size += len(piece)
	if t.more {
		return
	}
	if most := len(t.data) + len(piece); most > cap(t.data) { // twice as much: it is mostly a long one then
		t.data = append(make([]byte, 0, max(usualText, 2*cap(t.data), most)), t.data...)
	}
	t.data = append(t.data, piece...)
	t.more = len(t.data) > maxLooked
}

// cutEnd drops so many bytes at the end, as far as the text was recorded.
func (t *text) cutEnd(back int) {
	t.size = max(0, t.size-back)
	if t.size <= len(t.data) {
		t.data, t.more = t.data[:t.size], false
	}
}

// contents returns the text, and whether there was more of it.
func (t *text) contents() (string, bool) { return string(t.data), t.more }

// recordsTexts reports whether texts are recorded, and there is room for them.
func (r *Recorder) recordsTexts() bool { return !r.spec.NamesOnly && r.bytes < maxBytes }

// recordedText returns a text as it is recorded, or "" without recorded texts.
func (r *Recorder) recordedText(text string, more bool) string {
	if text == "" || !r.recordsTexts() {
		return ""
	}
	text, _ = r.boundText(text, more)
	return text
}

// boundText hides secrets and personal data, and bounds the text.
func (r *Recorder) boundText(text string, more bool) (head string, cut bool) {
	if len(text) > maxLooked {
		text, _ = chat.Truncate(text, maxLooked)
		more = true
	}
	if r.spec.Secrets != nil {
		text = r.spec.Secrets.Text(text)
	}
	text = kinds.Payload(text)
	if more {
		text, _ = chat.Truncate(text, max(0, len(text)-maxTail))
	}
	head, cut = text, more
	if len(text) > maxField {
		head, _ = chat.Truncate(text, maxField)
		cut = true
	}
	r.bytes += len(head)
	return head, cut
}
