// This file collects the reasoning that a model wants back with its message. It becomes parts with
// Kept set, which only a message to the same maker carries. Reasoning that is too large is dropped
// as a whole: half of a signed text is refused.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// maxKept is how much of one answer goes back to its maker, in bytes; of a larger one
// nothing does.
const maxKept = 256 << 10

// chatKept collects the reasoning that goes back with a message.
//
// details are copies of the decoder's elements. size counts text, details and the extra content of
// calls.
type chatKept struct {
	field    int    // of text: 0 reasoning_content, 1 reasoning
	text     []byte // the thoughts of that field
	details  []chatDetail
	size     int
	tooLarge bool
}

// reset drops the reasoning of the answer.
func (k *chatKept) reset() {
	clear(k.details)
	*k = chatKept{text: k.text[:0], details: k.details[:0]}
}

// addThought takes a thought of the fields that are returned as text.
//
// The first field that has text wins; a server that sends two sends the same thought twice.
func (k *chatKept) addThought(field int, b []byte) {
	if field > 1 || (len(k.text) > 0 && field != k.field) || !k.hasRoom(len(b)) {
		return
	}
	k.field = field
	k.text = append(k.text, b...)
}

// addDetail takes an element of reasoning_details, and returns by how much that has made k
// larger.
func (k *chatKept) addDetail(el *chatDetail) (more int) {
	if k.tooLarge {
		return 0
	}
	var to *chatDetail
	for i := len(k.details) - 1; i >= 0 && to == nil; i-- {
		if last := &k.details[i]; el.continuesDetail(last) {
			to = last
		}
	}
	if to == nil {
		k.details = append(k.details, chatDetail{index: el.index, hasIndex: el.hasIndex, typ: append([]byte{}, el.typ...)})
		to = &k.details[len(k.details)-1]
		more = callOverhead + len(el.typ)
	}
	more += to.joinPiece(el)
	k.hasRoom(more)
	return more
}

// hasRoom reports whether n more bytes can be kept. Once they cannot, nothing is.
//
// It counts n whatever the result.
func (k *chatKept) hasRoom(n int) bool {
	if k.size += n; k.size > maxKept {
		k.tooLarge = true
	}
	return !k.tooLarge
}

// canReturn reports whether the collected reasoning is small enough to go back.
func (k *chatKept) canReturn() bool { return !k.tooLarge }

// appendTo appends the kept parts before the calls: reasoning_details, and with calls the text of
// the thoughts. extra is the size of the calls' kept parts.
//
// Thoughts as text go back only with calls; without calls they are dropped here already.
func (k *chatKept) appendTo(c *chat.Chunk, calls []chatCall, extra int) {
	if !k.hasRoom(extra) {
		return
	}
	if len(k.details) > 0 {
		b := []byte(`{"reasoning_details":`)
		for i := range k.details {
			b = append(b, "[,"[min(i, 1)])
			b = k.details[i].append(b)
		}
		appendKept(c, append(b, `]}`...))
	}
	if len(k.text) > 0 && len(calls) > 0 {
		b := append([]byte(`{"`), [...]string{"reasoning_content", "reasoning"}[k.field]...)
		appendKept(c, append(model.AppendString(append(b, `":`...), string(k.text)), '}'))
	}
}

// appendKept adds something for later requests to the chunk. Invalid JSON is dropped, because it
// would spoil later requests.
func appendKept(c *chat.Chunk, b []byte) {
	if jsontext.Value(b).IsValid() {
		c.Parts = append(c.Parts, chat.Part{Kept: string(b)})
	}
}
