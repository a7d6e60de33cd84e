// This file keeps documents short. In the store a text of a document stands once: where it
// is said again, the document refers to the message of its history. What does not fit into a
// short document is in a list of texts, and the document has the beginning of each.

package task

//lint:file-ignore SA5008 the check does not know the option embed of go-json-experiment/json

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/store"
)

const (
	// maxDocument bounds a document as it is stored, and as it is listed.
	maxDocument = 64 << 10
	// maxHead bounds the beginning of a text that is not whole.
	maxHead = 2 << 10
	// cutMark ends a text that is shown cut.
	cutMark = "…"
)

// Elsewhere says where a text is that a stored document does not have: in a message of its
// history, or in the list of long texts. To is 0 if that is all of it.
type Elsewhere struct {
	Message string `json:"message,omitzero"` // its id
	Text    string `json:"text,omitzero"`    // the id of a long text
	From    int    `json:"from,omitzero"`
	To      int    `json:"to,omitzero"`
}

// Earlier are messages of a history that stand before those of a stored document, in a long text.
type Earlier struct {
	// Messages is how many of them still count: the last ones.
	Messages int    `json:"messages"`
	Text     string `json:"text"`
}

// part returns the part of a text that e means.
func (e *Elsewhere) part(of string) (string, bool) {
	to := e.To
	if to == 0 {
		to = len(of)
	}
	if e.From < 0 || e.From > to || to > len(of) {
		return "", false
	}
	return of[e.From:to], true
}

// slot is a text of a document: all of it, or if at is set its beginning.
type slot struct {
	text *string
	at   **Elsewhere
}

// said returns the texts of the history.
func (d *Document) said() (all []slot) {
	for i := range d.History {
		all = append(all, slot{&d.History[i].Content, &d.History[i].Elsewhere})
	}
	return all
}

// repeated returns the texts that often are those of the history.
func (d *Document) repeated() (all []slot) {
	for i := range d.Artifacts {
		for j := range d.Artifacts[i].Parts {
			p := &d.Artifacts[i].Parts[j]
			all = append(all, slot{&p.Text, &p.Elsewhere})
		}
	}
	for i := range d.Metadata.AgentResponses {
		r := &d.Metadata.AgentResponses[i]
		all = append(all, slot{&r.Content, &r.Elsewhere})
	}
	if q := d.Metadata.PendingQuestion; q != nil {
		for i := range q.Asked {
			all = append(all, slot{&q.Asked[i].Content, &q.Asked[i].Elsewhere})
		}
	}
	if m := d.Status.Message; m != nil {
		all = append(all, slot{&m.Content, &m.Elsewhere})
	}
	return all
}

// texts returns all texts.
func (d *Document) texts() []slot { return append(d.said(), d.repeated()...) }

// isWhole says whether the document has all of its texts.
func (d *Document) isWhole() bool {
	return len(d.Earlier) == 0 && !slices.ContainsFunc(d.texts(), func(s slot) bool { return *s.at != nil })
}

// refer has each text that repeats one of the history refer to it. It returns what undoes that.
func (d *Document) refer() (undo func()) {
	var before []func()
	for _, s := range d.repeated() {
		text, at := *s.text, *s.at
		if text == "" {
			continue
		}
		for i := len(d.History) - 1; i >= 0; i-- {
			m := &d.History[i]
			from, ok := place(text, at, m)
			if !ok || d.message(m.MessageID) != m {
				continue
			}
			e := &Elsewhere{Message: m.MessageID, From: from}
			if from > 0 || len(text) < len(m.Content) {
				e.To = from + len(text)
			}
			before = append(before, func() { *s.text, *s.at = text, at })
			*s.text, *s.at = "", e
			break
		}
	}
	return func() {
		for _, f := range before {
			f()
		}
	}
}

// place returns where in a message a text stands. Of texts that are not whole it is known
// only if they are the same.
func place(text string, at *Elsewhere, m *Message) (from int, ok bool) {
	switch {
	case at != nil || m.Elsewhere != nil:
		return 0, at != nil && m.Elsewhere != nil && *at == *m.Elsewhere
	case len(text) == len(m.Content):
		return 0, text == m.Content
	case m.Role == "user":
		return 0, false
	}
	from = strings.Index(m.Content, text)
	return from, from >= 0
}

// dereference gives back what refer has taken out. What refers to no message stays as it is.
func (d *Document) dereference() {
	for _, s := range d.repeated() {
		e := *s.at
		if e == nil || e.Message == "" {
			continue
		}
		m := d.message(e.Message)
		if m == nil {
			continue
		}
		if m.Elsewhere != nil {
			*s.text, *s.at = m.Content, m.Elsewhere
		} else if text, ok := e.part(m.Content); ok {
			*s.text, *s.at = text, nil
		}
	}
}

// message returns the last message of that id; nil: there is none.
func (d *Document) message(id string) *Message {
	for i := len(d.History) - 1; i >= 0 && id != ""; i-- {
		if d.History[i].MessageID == id {
			return &d.History[i]
		}
	}
	return nil
}

// stored returns the document as it is stored, and the texts that are to be added to the list
// of its long ones; nil: none. From then on d has of those their beginning.
func (d *Document) stored() (doc, long []byte) {
	doc = d.short()
	if len(doc) <= maxDocument {
		return doc, nil
	}
	moved := map[string]string{}
	// The parts of an answer are found in it as long as it is whole.
	d.moveParts(moved)
	for _, s := range d.texts() {
		if *s.at == nil && len(*s.text) > maxHead {
			*s.at = &Elsewhere{Text: move(moved, *s.text)}
			*s.text, _ = chat.Truncate(*s.text, maxHead)
		}
	}
	for doc = d.short(); len(doc) > maxDocument && len(d.History) > 2; doc = d.short() {
		half := len(d.History) / 2
		text, err := json.Marshal(d.History[:half], jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if err != nil {
			break
		}
		d.Earlier = append(d.Earlier, Earlier{half, move(moved, string(text))})
		d.History = slices.Clone(d.History[half:])
	}
	if len(moved) > 0 {
		long, _ = json.Marshal(moved, jsontext.AllowInvalidUTF8(true))
	}
	return doc, long
}

// moveParts moves what repeats a part of a message that is to be moved.
func (d *Document) moveParts(moved map[string]string) {
	for _, s := range d.repeated() {
		for i := range d.History {
			m := &d.History[i]
			if *s.at != nil || m.Elsewhere != nil || len(m.Content) <= maxHead || len(*s.text) <= maxHead || len(*s.text) == len(m.Content) {
				continue
			}
			if from, ok := place(*s.text, nil, m); ok {
				*s.at = &Elsewhere{Text: move(moved, m.Content), From: from, To: from + len(*s.text)}
				*s.text, _ = chat.Truncate(*s.text, maxHead)
			}
		}
	}
}

// move adds a text to those that are moved, and returns its id.
func move(moved map[string]string, text string) string {
	sum := sha256.Sum256([]byte(text))
	id := base64.RawURLEncoding.EncodeToString(sum[:12])
	moved[id] = text
	return id
}

// short returns the document with each of its texts once.
func (d *Document) short() []byte {
	defer d.refer()()
	return d.encode()
}

// complete fills in the long texts. Of one that is not there any more the beginning stays.
func (d *Document) complete(long map[string]string) {
	for i := len(d.Earlier) - 1; i >= 0; i-- {
		var messages []Message
		_ = json.Unmarshal([]byte(long[d.Earlier[i].Text]), &messages, lenient())
		d.History = append(messages[max(0, len(messages)-d.Earlier[i].Messages):], d.History...)
	}
	d.Earlier = nil
	for _, s := range d.texts() {
		if e := *s.at; e != nil {
			text, there := long[e.Text]
			if text, ok := e.part(text); ok && there {
				*s.text, *s.at = text, nil
			}
		}
	}
	d.cut(0)
}

// cut makes of each text that is not whole, or longer than most, what is shown of it. 0: no
// text is too long.
func (d *Document) cut(most int) {
	for _, s := range d.texts() {
		if *s.at != nil || most > 0 && len(*s.text) > most {
			head, _ := chat.Truncate(*s.text, maxHead-len(cutMark))
			*s.text, *s.at = head+cutMark, nil
		}
	}
}

// whole returns a task's document with all of its texts.
func (s *Service) whole(ctx context.Context, id string, t store.Task) (*Document, error) {
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
func (s *Service) keepLong(ctx context.Context, d *Document, long []byte, ttl time.Duration) error {
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
func (s *Service) replaceDocument(ctx context.Context, d *Document, t store.Task, ttl time.Duration) error {
	doc, long := d.stored()
	if err := s.keepLong(ctx, d, long, ttl); err != nil {
		return err
	}
	t.Doc = doc
	return s.cfg.Store.UpdateTask(ctx, d.ID, t, ttl)
}

// listed returns the document as lists show it: its newest messages, with texts that are cut,
// and without artifacts unless they are asked for.
func (d *Document) listed(artifacts bool) []byte {
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
		text = (&Document{ID: d.ID, SessionID: d.SessionID, ContextID: d.ContextID, Status: Status{State: d.Status.State, Timestamp: d.Status.Timestamp}}).encode()
	}
	return text
}
