package chatkit

import (
	"bytes"

	"sluice/internal/edge/dialect/jsonline"
)

// message is an answer of the model, as long as it is written.
type message struct {
	base
	prefix []byte // of the frame of a delta
	text   []byte // so far
}

// newMessage returns an empty message. The frame of a delta begins alike each time, so its
// beginning is made once.
func newMessage(b base) *message {
	m := &message{base: b}
	m.prefix = []byte(`data: {"type":"thread.item.updated","item_id":"` + m.ID +
		`","update":{"type":"assistant_message.content_part.text_delta","content_index":0,"delta":`)
	return m
}

// begin appends what opens the message and its one part.
func (m *message) begin(dst []byte) []byte {
	dst = appendFrame(dst, itemEvent{"thread.item.added", assistantItem{base: m.base}})
	return m.updatePart(dst, "added")
}

// addDelta costs only the piece's own bytes, since pieces are most of a gateway's work.
func (m *message) addDelta(dst []byte, text string) []byte {
	m.text = append(m.text, text...)
	dst = jsonline.String(append(dst, m.prefix...), text)
	return append(dst, "}}\n\n"...)
}

// end appends what closes the message, and returns the item that a store keeps.
func (m *message) end(dst []byte) ([]byte, assistantItem) {
	item := m.currentItem()
	dst = m.updatePart(dst, "done")
	return appendFrame(dst, itemEvent{"thread.item.done", item}), item
}

// updatePart appends an update of the part, with the whole text so far.
func (m *message) updatePart(dst []byte, what string) []byte {
	return appendFrame(dst, updateEvent{"thread.item.updated", m.ID,
		partUpdate{"assistant_message.content_part." + what, 0, newOutputText(string(m.text))}})
}

// currentItem returns the message as it is now.
func (m *message) currentItem() assistantItem {
	return assistantItem{base: m.base, Content: []outputText{newOutputText(string(m.text))}}
}

// isBlank reports whether the message shows nothing.
func (m *message) isBlank() bool { return len(bytes.TrimSpace(m.text)) == 0 }
