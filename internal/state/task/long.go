// This file keeps documents short as they are stored. What does not fit into a short document is
// in a list of texts, and the document has the beginning of each.

package task

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// stored returns the document as it is stored, and the texts that are to be added to the list
// of its long ones; nil: none. From then on d has of those their beginning.
func (d *document) stored() (doc, long []byte) {
	doc = d.short()
	if len(doc) <= maxDocument {
		return doc, nil
	}
	moved := map[string]string{}
	// The parts of an answer are found in it as long as it is whole.
	d.moveParts(moved)
	d.moveTexts(moved)
	for doc = d.short(); len(doc) > maxDocument && len(d.History) > 2; doc = d.short() {
		half := len(d.History) / 2
		text, err := json.Marshal(d.History[:half], jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if err != nil {
			break
		}
		d.Earlier = append(d.Earlier, earlier{half, move(moved, string(text))})
		d.History = slices.Clone(d.History[half:])
	}
	if len(moved) > 0 {
		long, _ = json.Marshal(moved, jsontext.AllowInvalidUTF8(true))
	}
	return doc, long
}

// moveTexts moves what is long.
func (d *document) moveTexts(moved map[string]string) {
	for _, s := range d.texts() {
		if *s.at == nil && len(*s.text) > maxHead {
			*s.at = &elsewhere{Text: move(moved, *s.text)}
			*s.text, _ = chat.Truncate(*s.text, maxHead)
		}
	}
}

// moveParts moves what repeats a part of a message that is to be moved.
func (d *document) moveParts(moved map[string]string) {
	for _, s := range d.repeated() {
		for i := range d.History {
			m := &d.History[i]
			if *s.at != nil || !s.canBePart(m) {
				continue
			}
			if from, ok := place(*s.text, nil, m); ok {
				*s.at = &elsewhere{Text: move(moved, m.Content), From: from, To: from + len(*s.text)}
				*s.text, _ = chat.Truncate(*s.text, maxHead)
			}
		}
	}
}

// canBePart says whether a text can be a part of a message, of which both are long.
func (s slot) canBePart(m *message) bool {
	return m.Elsewhere == nil && len(m.Content) > maxHead && len(*s.text) > maxHead && len(*s.text) != len(m.Content)
}

// move adds a text to those that are moved, and returns its id.
func move(moved map[string]string, text string) string {
	sum := sha256.Sum256([]byte(text))
	id := base64.RawURLEncoding.EncodeToString(sum[:12])
	moved[id] = text
	return id
}

// short returns the document with each of its texts once.
func (d *document) short() []byte {
	defer d.refer()()
	return d.encode()
}

// whole returns a task's document with all of its texts.
func (s *Service) whole(ctx context.Context, id string, t store.Task) (*document, error) {
	d := readDocument(id, t)
	if d.isWhole() {
		return d, nil
	}
	long, err := s.longTexts(ctx, id)
	if err != nil {
		return nil, err
	}
	d.complete(long)
	return d, nil
}

// longPage is how many items of the list of long texts are read at once. Each may be as
// long as an answer.
const longPage = 4

// longTexts returns the long texts of a task by their ids.
func (s *Service) longTexts(ctx context.Context, id string) (map[string]string, error) {
	long := map[string]string{}
	for from := 0; ; from += longPage {
		items, err := s.cfg.Store.List(ctx, store.LongKey(id), from, longPage)
		if err != nil {
			return nil, unavailable(s.note(err))
		}
		for _, item := range items {
			_ = json.Unmarshal(item, &long, jsontext.AllowInvalidUTF8(true))
		}
		if len(items) < longPage {
			return long, nil
		}
	}
}

// keepLong adds to the long texts of a task, and keeps them as long as its document, which is
// written next. Each text that a document refers to was added with another of its messages,
// so the number of items is bounded by that of the messages.
func (s *Service) keepLong(ctx context.Context, d *document, long []byte, ttl time.Duration) error {
	var err error
	switch {
	case long != nil:
		err = s.cfg.Store.PushList(ctx, store.LongKey(d.ID), long, store.Bounds{Items: s.cfg.MaxHistory + 2*maxAsked, Task: d.ID}, ttl)
	case !d.isWhole():
		err = s.cfg.Store.KeepList(ctx, store.LongKey(d.ID), ttl)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil // the task was removed, as who writes its document finds out
	}
	return err
}

// replaceDocument writes a task with its document, the long texts first.
func (s *Service) replaceDocument(ctx context.Context, d *document, t store.Task, ttl time.Duration) error {
	doc, long := d.stored()
	if err := s.keepLong(ctx, d, long, ttl); err != nil {
		return err
	}
	t.Doc = doc
	return s.confirmWrite(ctx, d.ID, t, s.cfg.Store.UpdateTask(ctx, d.ID, t, ttl))
}

// listed returns the document as lists show it: its newest messages, with texts that are cut,
// and without artifacts unless they are asked for.
func (d *document) listed(artifacts bool) []byte {
	if !artifacts {
		d.Artifacts = nil
	}
	d.Earlier = nil
	d.cut(maxHead)
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
