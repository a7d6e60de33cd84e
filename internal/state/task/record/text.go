package record

import (
	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

const (
	// maxField bounds a text of a trace.
	maxField = 8 << 10
	// maxLooked is how much of a text is looked at, and maxTail how much of its end is left
	// out when there was more: what is hidden may have been cut in two there.
	maxLooked, maxTail = 16 << 10, 1 << 10
	// usualText is room for what is mostly said.
	usualText = 512
)

// kinds are hidden in every trace.
const kinds = redact.AllKinds

// text gathers what somebody says.
type text struct {
	said []byte
	more bool // there was more of it
	size int  // of all of it
}

func (t *text) begun() bool { return len(t.said) > 0 }

func (t *text) add(piece string) {
	t.size += len(piece)
	if t.more {
		return
	}
	if most := len(t.said) + len(piece); most > cap(t.said) { // twice as much: it is mostly a long one then
		t.said = append(make([]byte, 0, max(usualText, 2*cap(t.said), most)), t.said...)
	}
	t.said = append(t.said, piece...)
	t.more = len(t.said) > maxLooked
}

// cut drops so many bytes at the end, as far as the text was recorded.
func (t *text) cut(back int) {
	t.size = max(0, t.size-back)
	if t.size <= len(t.said) {
		t.said, t.more = t.said[:t.size], false
	}
}

// whole returns the text, and whether there was more of it.
func (t *text) whole() (string, bool) { return string(t.said), t.more }

// payloads says whether texts are recorded, and there is room for them.
func (r *Recorder) payloads() bool { return !r.spec.NamesOnly && r.bytes < maxBytes }

// shown returns a text as it is recorded; empty if none is.
func (r *Recorder) shown(text string, more bool) string {
	if text == "" || !r.payloads() {
		return ""
	}
	text, _ = r.bounded(text, more)
	return text
}

// bounded hides what is to be hidden, and bounds the text.
func (r *Recorder) bounded(text string, more bool) (head string, cut bool) {
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
