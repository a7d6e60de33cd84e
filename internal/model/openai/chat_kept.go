// This file collects what a model wants back with its message: its reasoning. It becomes
// parts with Kept set, which only a message to the same maker carries. Reasoning that is
// too large is dropped as a whole: half of a signed text is refused.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// maxKept is how much of one answer goes back to its maker, in bytes; of a larger one
// nothing does.
const maxKept = 256 << 10

// chatKept collects what a model wants back with its message.
//
// details are copies of what the decoder read. size counts text, details and what calls
// keep.
type chatKept struct {
	field    int    // of text: 0 reasoning_content, 1 reasoning
	text     []byte // the thoughts of that field
	details  []chatDetail
	size     int
	tooLarge bool
}

// reset forgets what was collected of an answer.
func (k *chatKept) reset() {
	clear(k.details)
	*k = chatKept{text: k.text[:0], details: k.details[:0]}
}

// thought takes a thought of the fields that are returned as text.
//
// The first field that has text wins; a server that sends two sends the same thought twice.
func (k *chatKept) thought(field int, b []byte) {
	if field > 1 || (len(k.text) > 0 && field != k.field) || !k.room(len(b)) {
		return
	}
	k.field = field
	k.text = append(k.text, b...)
}

// detail takes an element of reasoning_details, and returns by how much that has made k
// larger.
func (k *chatKept) detail(el *chatDetail) (more int) {
	if k.tooLarge {
		return 0
	}
	var to *chatDetail
	for i := len(k.details) - 1; i >= 0 && to == nil; i-- {
		if last := &k.details[i]; el.continues(last) {
			to = last
		}
	}
	if to == nil {
		k.details = append(k.details, chatDetail{index: el.index, hasIndex: el.hasIndex, typ: append([]byte{}, el.typ...)})
		to = &k.details[len(k.details)-1]
		more = callOverhead + len(el.typ)
	}
	more += to.join(el)
	k.room(more)
	return more
}

// room says whether n more bytes can be kept. Once they cannot, nothing is.
//
// It counts n whatever the result.
func (k *chatKept) room(n int) bool {
	if k.size += n; k.size > maxKept {
		k.tooLarge = true
	}
	return !k.tooLarge
}

// fits says whether what is kept goes back.
func (k *chatKept) fits() bool { return !k.tooLarge }

// appendTo appends parts for what is kept, before the calls: reasoning_details, and the
// text of the thoughts if there are calls. extra is the size of what the calls keep.
//
// Thoughts as text go back only with calls; without calls they are dropped here already.
func (k *chatKept) appendTo(c *chat.Chunk, calls []chatCall, extra int) {
	if !k.room(extra) {
		return
	}
	if len(k.details) > 0 {
		b := []byte(`{"reasoning_details":`)
		for i := range k.details {
			b = append(b, "[,"[min(i, 1)])
			b = k.details[i].append(b)
		}
		keep(c, append(b, `]}`...))
	}
	if len(k.text) > 0 && len(calls) > 0 {
		b := append([]byte(`{"`), [...]string{"reasoning_content", "reasoning"}[k.field]...)
		keep(c, append(model.AppendString(append(b, `":`...), string(k.text)), '}'))
	}
}

// keep adds something for later requests to the chunk. What is not valid JSON
// would spoil them, and is dropped.
func keep(c *chat.Chunk, b []byte) {
	if jsontext.Value(b).IsValid() {
		c.Parts = append(c.Parts, chat.Part{Kept: string(b)})
	}
}
