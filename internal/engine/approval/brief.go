// This file stores next to each question the part that a list shows. So a list neither reads the
// turn that waits nor sends texts without a bound.

package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/run"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Bounds of a page of questions, and of one question in it.
const (
	maxListed = store.MaxPage
	// maxListedBytes bounds the JSON of a page, and maxReadBytes the records that are read for it.
	maxListedBytes = store.MaxPageBytes - 64<<10
	maxReadBytes   = 1 << 20
	// maxBriefText bounds a text, maxBriefCalls the arguments of all calls, maxBriefCount the calls.
	maxBriefText  = 2 << 10
	maxBriefCalls = 8 << 10
	maxBriefCount = 16
)

// briefKey is the member of a stored question that a list reads. It comes first in the JSON.
const briefKey = "brief"

// briefRecord returns the part of a record that a list needs, with cut texts.
func (r *record) briefRecord() *record {
	b := &record{ID: r.ID, Kind: r.Kind, Expires: r.Expires, Task: r.Task, Turn: r.Turn, Node: r.Node, entitled: r.entitled}
	b.Conversation = r.Conversation
	b.Prompt, b.Truncated = chat.Truncate(r.Prompt, maxBriefText)
	if b.Fill = r.Fill; len(b.Fill) > maxBriefText {
		b.Fill, b.Truncated = nil, true
	}
	room := maxBriefCalls
	for i, c := range r.Calls {
		if i == maxBriefCount {
			b.Truncated = true
			break
		}
		c.Arguments, c.Truncated = cutArguments(c.Arguments, room)
		room -= len(c.Arguments)
		b.Calls = append(b.Calls, c)
	}
	return b
}

// cutArguments returns the arguments of a call with texts of at most maxBriefText bytes, and in all at
// most room bytes or an empty object. It reports whether anything is missing.
func cutArguments(args string, room int) (string, bool) {
	if len(args) <= min(maxBriefText, room) {
		return args, false
	}
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(argumentsObject(args))))
	if _, err := dec.ReadToken(); err != nil {
		return "{}", true
	}
	out := []byte{'{'}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			break
		}
		name = name.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		value = cutValue(value)
		if len(out)+len(name)+len(value)+3 > room {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return string(append(out, '}')), true
}

// cutValue returns a value as it is, or the begin of its text as a string.
func cutValue(v jsontext.Value) jsontext.Value {
	if len(v) <= maxBriefText {
		return v
	}
	text := []byte(v)
	if v.Kind() == '"' {
		text, _ = jsontext.AppendUnquote(nil, v) // it was read as a string
	}
	head, _ := chat.Truncate(string(text), maxBriefText)
	cut, err := jsontext.AppendQuote(nil, head)
	if err != nil {
		return jsontext.Value(`""`)
	}
	return cut
}

// readBrief returns the part of a stored question that a list needs, without a look at the rest; nil:
// a former version stored the question, or it does not wait any more.
func readBrief(data []byte) *record {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != '{' {
		return nil
	}
	if name, err := dec.ReadToken(); err != nil || name.String() != briefKey {
		return nil
	}
	value, err := dec.ReadValue()
	if err != nil {
		return nil
	}
	b := new(record)
	if json.Unmarshal(value, b) != nil || b.ID == "" {
		return nil
	}
	return b
}

// Listing is a page of questions that is being made.
type Listing struct {
	Approvals   []*stream.Approval
	bytes, read int
}

// IsFull reports whether so many more questions exceed a page. An empty page is never full.
func (l *Listing) IsFull(more int) bool {
	return len(l.Approvals) > 0 && len(l.Approvals)+more > maxListed || l.bytes >= maxListedBytes || l.read >= maxReadBytes
}

// addQuestion adds a question.
func (l *Listing) addQuestion(r *record) {
	q := r.questionEvent()
	l.Approvals = append(l.Approvals, q)
	l.bytes += len(q.Prompt) + len(q.Schema) + 400
	for i := range q.Calls {
		l.bytes += len(q.Calls[i].Arguments) + len(q.Calls[i].Tool) + 300
	}
}

// loadBrief is loadRecord for a list: the record has cut texts and no turn.
func (s *Service) loadBrief(ctx context.Context, id string, l *Listing) (r *record, over, err error) {
	v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, unavailableFault(err)
	}
	l.read += len(v.Data)
	if r = readBrief(v.Data); r != nil {
		return r, nil, nil
	}
	if r, over, err = readStored(id, v.Data); err == nil && r != nil && over == nil {
		r = r.briefRecord()
	}
	return r, over, err
}

// List adds those of some questions that wait and that c may see, without tokens and with cut texts.
func (s *Service) List(ctx context.Context, c Caller, ids []string, l *Listing) error {
	if s.cfg.Store == nil {
		return nil
	}
	for _, id := range ids {
		if len(l.Approvals) >= maxListed {
			return nil
		}
		r, over, err := s.loadBrief(ctx, id, l)
		if isUnavailable(err) {
			return err
		}
		if err == nil && over == nil && c.isShown(r) {
			l.addQuestion(r)
		}
	}
	return nil
}

// isUnread reports whether only another version can read a question.
func isUnread(err error) bool { return errors.Is(err, run.ErrVersion) }
