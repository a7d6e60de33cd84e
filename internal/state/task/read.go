package task

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
)

// readDocument reads a task, also one that others wrote. Unreadable members are kept as they are.
func readDocument(id string, t store.Task) *document {
	d, err := new(document), errors.New("not ours")
	if t.Version > 0 { // a name of the client's context may be one of ours but for its case
		err = json.Unmarshal(t.Doc, d, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	}
	if err != nil || !IsState(d.Status.State) {
		d = new(document)
		err = json.Unmarshal(t.Doc, d, lenientOptions())
	}
	if err != nil {
		d = readForeign(t.Doc)
	}
	d.resolveReferences()
	d.ID = id
	if conversation := cmp.Or(d.ContextID, d.SessionID, t.Conversation); conversation != "" {
		d.SessionID, d.ContextID = conversation, conversation
	}
	d.Status.State = readState(d.Status.State)
	return d
}

// readState returns the state of that name, of which capitals, - and _ do not count: other programs
// write InputRequired. Any other name is unknown.
func readState(name string) string {
	plain := func(s string) string { return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)) }
	for _, state := range []string{submitted, Working, InputRequired, Completed, Failed, Canceled} {
		if name == state || plain(name) == plain(state) {
			return state
		}
	}
	return unknown
}

// encode returns the document as JSON.
func (d *document) encode() []byte {
	d.dropReplaced()
	text, err := json.Marshal(d, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), json.Deterministic(true))
	if err != nil {
		text, _ = json.Marshal(document{ID: d.ID, SessionID: d.SessionID, ContextID: d.ContextID, Status: status{State: d.Status.State, Timestamp: d.Status.Timestamp}})
	}
	return text
}

// beginOfTurn returns when a turn began, as far as the document says.
func (d *document) beginOfTurn(turn string, created time.Time) time.Time {
	for _, m := range d.History {
		if m.TurnID == turn || m.MessageID == turn+":user" {
			if at, err := time.Parse(time.RFC3339, m.Timestamp); err == nil {
				return at
			}
		}
	}
	if len(d.Metadata.Turns) > 0 && d.Metadata.Turns[0] != turn { // a person's answer began it
		if at, err := time.Parse(time.RFC3339, d.Status.Timestamp); err == nil {
			return at
		}
	}
	return created
}
