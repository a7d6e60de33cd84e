// This file keeps documents short as they are stored. A list of texts holds the long ones, and the
// document has the beginning of each.

package task

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// encodeStored returns the document as it is stored, and the texts to add to the list of its long
// ones, or nil. Afterwards d has only the beginning of these texts.
func (d *document) encodeStored() (doc, long []byte) {
	doc = d.encodeShort()
	if len(doc) <= maxDocument {
		return doc, nil
	}
	moved := map[string]string{}
	// The parts of an answer are found in it as long as it is whole.
	d.moveParts(moved)
	d.moveTexts(moved)
	for doc = d.encodeShort(); len(doc) > maxDocument && len(d.History) > 2; doc = d.encodeShort() {
		half := len(d.History) / 2
		text, err := json.Marshal(d.History[:half], jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if err != nil {
			break
		}
		d.Earlier = append(d.Earlier, earlier{half, moveText(moved, string(text))})
		d.History = slices.Clone(d.History[half:])
	}
	if len(moved) > 0 {
		long, _ = json.Marshal(moved, jsontext.AllowInvalidUTF8(true))
	}
	return doc, long
}

// moveTexts moves the long texts.
func (d *document) moveTexts(moved map[string]string) {
	for _, s := range d.allTexts() {
		if *s.at == nil && len(*s.text) > maxHead {
			*s.at = &elsewhere{Text: moveText(moved, *s.text)}
			*s.text, _ = chat.Truncate(*s.text, maxHead)
		}
	}
}

// moveParts moves texts that repeat a part of a long message.
func (d *document) moveParts(moved map[string]string) {
	for _, s := range d.repeatedTexts() {
		for i := range d.History {
			m := &d.History[i]
			if *s.at != nil || !s.canBePart(m) {
				continue
			}
			if from, ok := placeIn(*s.text, nil, m); ok {
				*s.at = &elsewhere{Text: moveText(moved, m.Content), From: from, To: from + len(*s.text)}
				*s.text, _ = chat.Truncate(*s.text, maxHead)
			}
		}
	}
}

// canBePart reports whether a text can be a part of a message, of which both are long.
func (s slot) canBePart(m *message) bool {
	return m.Elsewhere == nil && len(m.Content) > maxHead && len(*s.text) > maxHead && len(*s.text) != len(m.Content)
}

// moveText adds a text to those that are moved, and returns its id.
func moveText(moved map[string]string, text string) string {
	sum := sha256.Sum256([]byte(text))
	id := base64.RawURLEncoding.EncodeToString(sum[:12])
	moved[id] = text
	return id
}

// encodeShort returns the document with each of its texts once.
func (d *document) encodeShort() []byte {
	defer d.referRepeated()()
	return d.encode()
}

// encodeListed returns the document as lists show it: its newest messages, with texts that are cut,
// and without artifacts unless they are asked for.
func (d *document) encodeListed(artifacts bool) []byte {
	if !artifacts {
		d.Artifacts = nil
	}
	d.Earlier = nil
	d.cutTexts(maxHead)
	text := d.encode()
	for len(text) > maxDocument && len(d.History) > 2 {
		d.History = d.History[len(d.History)/2:]
		text = d.encode()
	}
	if len(text) > 2*maxDocument { // another program wrote it
		text = (&document{ID: d.ID, SessionID: d.SessionID, ContextID: d.ContextID, Status: status{State: d.Status.State, Timestamp: d.Status.Timestamp}}).encode()
	}
	return text
}
