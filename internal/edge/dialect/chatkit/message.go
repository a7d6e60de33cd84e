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
	dst = frame(dst, itemEvent{"thread.item.added", assistantItem{base: m.base}})
	return m.part(dst, "added")
}

// delta costs what its own bytes cost: it is most of what a gateway does.
func (m *message) delta(dst []byte, text string) []byte {
	m.text = append(m.text, text...)
	dst = jsonline.String(append(dst, m.prefix...), text)
	return append(dst, "}}\n\n"...)
}

// end appends what closes the message, and returns the item that a store keeps.
func (m *message) end(dst []byte) ([]byte, assistantItem) {
	item := m.item()
	dst = m.part(dst, "done")
	return frame(dst, itemEvent{"thread.item.done", item}), item
}

// part appends an update of the part, with the whole text so far.
func (m *message) part(dst []byte, what string) []byte {
	return frame(dst, updateEvent{"thread.item.updated", m.ID,
		partUpdate{"assistant_message.content_part." + what, 0, newOutputText(string(m.text))}})
}

// item returns the message as it is now.
func (m *message) item() assistantItem {
	return assistantItem{base: m.base, Content: []outputText{newOutputText(string(m.text))}}
}

// blank reports whether the message shows nothing.
func (m *message) blank() bool { return len(bytes.TrimSpace(m.text)) == 0 }
