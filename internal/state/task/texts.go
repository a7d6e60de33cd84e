// This file stores each text of a document once. A repeated text becomes a reference to the message
// of its history, or to a long text that is stored elsewhere.

package task

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"sluice/internal/turn/chat"
)

const (
	// maxDocument bounds a document as it is stored, and as it is listed.
	maxDocument = 64 << 10
	// leastReferred is the shortest text that refers to another one in a document of ordinary size,
	// and maxOrdinary the size from which on all do, both in bytes of texts. Other programs read
	// documents too, and look for the answers where they belong.
	leastReferred = 1 << 10
	maxOrdinary   = 16 << 10
	// maxHead bounds the beginning of a text that is not whole.
	maxHead = 2 << 10
	// cutMark ends a text that is shown cut.
	cutMark = "…"
)

// partOf returns the part of a text that e means.
func (e *elsewhere) partOf(of string) (string, bool) {
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
	at   **elsewhere
}

// historyTexts returns the texts of the history.
func (d *document) historyTexts() (all []slot) {
	for i := range d.History {
		all = append(all, slot{&d.History[i].Content, &d.History[i].Elsewhere})
	}
	return all
}

// repeatedTexts returns the texts that often are those of the history.
func (d *document) repeatedTexts() (all []slot) {
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
		for i := range q.Messages {
			all = append(all, slot{&q.Messages[i].Content, &q.Messages[i].Elsewhere})
		}
	}
	if m := d.Status.Message; m != nil {
		all = append(all, slot{&m.Content, &m.Elsewhere})
	}
	return all
}

// allTexts returns all texts.
func (d *document) allTexts() []slot { return append(d.historyTexts(), d.repeatedTexts()...) }

// isWhole reports whether the document has all of its texts.
func (d *document) isWhole() bool {
	return len(d.Earlier) == 0 && !slices.ContainsFunc(d.allTexts(), func(s slot) bool { return *s.at != nil })
}

// referRepeated has each long text that repeats one of the history refer to it, and in a long document
// each text. It returns the function that undoes that.
func (d *document) referRepeated() (undo func()) {
	var before []func()
	least := leastReferred
	if d.isLong() {
		least = 1
	}
	for _, s := range d.repeatedTexts() {
		text, at := *s.text, *s.at
		if text == "" || len(text) < least && at == nil {
			continue
		}
		for i := len(d.History) - 1; i >= 0; i-- {
			m := &d.History[i]
			from, ok := placeIn(text, at, m)
			if !ok || d.messageByID(m.MessageID) != m {
				continue
			}
			e := &elsewhere{Message: m.MessageID, From: from}
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

// isLong reports whether the texts of the document are more than those of an ordinary one.
func (d *document) isLong() bool {
	size := 0
	for _, s := range d.allTexts() {
		size += len(*s.text)
	}
	return size > maxOrdinary
}

// placeIn returns where in a message a text stands. For incomplete texts it finds only equal
// references.
func placeIn(text string, at *elsewhere, m *message) (from int, ok bool) {
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

// resolveReferences puts the texts back that referRepeated has replaced. A reference to a missing message stays as
// it is.
func (d *document) resolveReferences() {
	for _, s := range d.repeatedTexts() {
		e := *s.at
		if e == nil || e.Message == "" {
			continue
		}
		m := d.messageByID(e.Message)
		if m == nil {
			continue
		}
		if m.Elsewhere != nil {
			*s.text, *s.at = m.Content, m.Elsewhere
		} else if text, ok := e.partOf(m.Content); ok {
			*s.text, *s.at = text, nil
		}
	}
}

// messageByID returns the last message with that id, or nil.
func (d *document) messageByID(id string) *message {
	for i := len(d.History) - 1; i >= 0 && id != ""; i-- {
		if d.History[i].MessageID == id {
			return &d.History[i]
		}
	}
	return nil
}

// addLongTexts fills in the long texts. A text that is not there any more keeps its beginning.
func (d *document) addLongTexts(long map[string]string) {
	for i := len(d.Earlier) - 1; i >= 0; i-- {
		var messages []message
		_ = json.Unmarshal([]byte(long[d.Earlier[i].Text]), &messages, lenientOptions())
		d.History = append(messages[max(0, len(messages)-d.Earlier[i].Messages):], d.History...)
	}
	d.Earlier = nil
	for _, s := range d.allTexts() {
		if e := *s.at; e != nil {
			text, there := long[e.Text]
			if text, ok := e.partOf(text); ok && there {
				*s.text, *s.at = text, nil
			}
		}
	}
	d.cutTexts(0)
}

// cutTexts replaces each text that is incomplete, or longer than most, by its beginning and a mark.
// 0 turns the bound off.
func (d *document) cutTexts(most int) {
	for _, s := range d.allTexts() {
		if *s.at != nil || most > 0 && len(*s.text) > most {
			head, _ := chat.Truncate(*s.text, maxHead-len(cutMark))
			*s.text, *s.at = head+cutMark, nil
		}
	}
}
