// This file writes documents as they mostly are: each turn that is kept writes two. What it writes
// is what package json would, which looks up each type and compares each name.

package task

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// written are buffers in which documents are written. What is stored is a copy without room for more.
var written = new(buffers)

// writes returns the document as JSON; nil: it has something that append does not know.
func (d *document) writes() []byte {
	if !d.isPlain() {
		return nil
	}
	buf := written.get()
	defer written.put(buf)
	*buf = d.append(*buf)
	return bytes.Clone(*buf)
}

// isPlain says whether append knows all that the document has: a task of no team, which asks nothing.
func (d *document) isPlain() bool {
	if d.Others != nil || len(d.Earlier) > 0 || d.Status.Others != nil || d.Status.Message != nil && d.Status.Message.Others != nil {
		return false
	}
	return d.Metadata.isPlain() && !slices.ContainsFunc(d.History, func(m message) bool { return m.Others != nil }) &&
		!slices.ContainsFunc(d.Artifacts, func(a artifact) bool {
			return a.Others != nil || slices.ContainsFunc(a.Parts, func(p part) bool { return p.Others != nil })
		})
}

func (m *metadata) isPlain() bool {
	return m.Turns != nil && len(m.AgentSelections) == 0 && len(m.AgentResponses) == 0 && m.RoutingConfidence == 0 &&
		m.Routing == nil && m.PendingQuestion == nil && m.RetentionDays == nil && m.Others == nil
}

// append appends the document.
func (d *document) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"id":`...), d.ID)
	dst = appendMember(dst, `,"sessionId":`, d.SessionID)
	dst = appendMember(dst, `,"contextId":`, d.ContextID)
	dst = d.Status.append(append(dst, `,"status":`...))
	for i := range d.History {
		dst = d.History[i].append(append(dst, opening(i, `,"history":[`)...))
	}
	dst = endList(dst, len(d.History))
	for i := range d.Artifacts {
		dst = d.Artifacts[i].append(append(dst, opening(i, `,"artifacts":[`)...))
	}
	dst = endList(dst, len(d.Artifacts))
	return append(d.Metadata.append(append(dst, `,"metadata":{`...)), "}}"...)
}

// append appends the members of metadata that is plain.
func (m *metadata) append(dst []byte) []byte {
	begin := len(dst)
	dst = appendTexts(dst, `,"turns":[`, m.Turns)
	dst = appendMember(dst, `,"lastAgent":`, m.LastAgent)
	dst = appendMember(dst, `,"workflow":`, m.Workflow)
	dst = appendMember(dst, `,"kind":`, m.Kind)
	dst = appendMember(dst, `,"parentTaskId":`, m.ParentTaskID)
	if len(dst) > begin { // the first one has no comma
		dst = append(dst[:begin], dst[begin+1:]...)
	}
	return dst
}

func (s *status) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"state":`...), s.State)
	if s.Message != nil {
		dst = s.Message.append(append(dst, `,"message":`...))
	}
	dst = appendMember(dst, `,"timestamp":`, s.Timestamp)
	return append(appendTexts(dst, `,"approvals":[`, s.Approvals), '}')
}

func (m *message) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"role":`...), m.Role)
	dst = appendText(append(dst, `,"content":`...), m.Content)
	dst = appendMember(dst, `,"timestamp":`, m.Timestamp)
	dst = appendMember(dst, `,"messageId":`, m.MessageID)
	dst = appendMember(dst, `,"turnId":`, m.TurnID)
	dst = appendMember(dst, `,"agentId":`, m.AgentID)
	return append(m.Elsewhere.append(dst), '}')
}

func (a *artifact) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"artifactId":`...), a.ArtifactID)
	dst = appendMember(dst, `,"name":`, a.Name)
	for i := range a.Parts {
		p := &a.Parts[i]
		dst = appendText(append(append(dst, opening(i, `,"parts":[`)...), `{"text":`...), p.Text)
		dst = append(p.Elsewhere.append(dst), '}')
	}
	return append(endList(dst, len(a.Parts)), '}')
}

// append appends the member elsewhere, if it is not nil.
func (e *elsewhere) append(dst []byte) []byte {
	if e == nil {
		return dst
	}
	dst = append(dst, `,"elsewhere":{`...)
	begin := len(dst)
	dst = appendMember(dst, `,"message":`, e.Message)
	dst = appendMember(dst, `,"text":`, e.Text)
	if e.From != 0 {
		dst = strconv.AppendInt(append(dst, `,"from":`...), int64(e.From), 10)
	}
	if e.To != 0 {
		dst = strconv.AppendInt(append(dst, `,"to":`...), int64(e.To), 10)
	}
	if len(dst) > begin {
		dst = append(dst[:begin], dst[begin+1:]...)
	}
	return append(dst, '}')
}

// appendText appends a text. What is not UTF-8 becomes U+FFFD.
func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// appendMember appends a member with a comma before it, unless it is empty.
func appendMember(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(append(dst, name...), text)
}

// appendTexts appends a list of texts, which begins with first, unless it is empty.
func appendTexts(dst []byte, first string, texts []string) []byte {
	for i, text := range texts {
		dst = appendText(append(dst, opening(i, first)...), text)
	}
	return endList(dst, len(texts))
}

// opening returns what stands before the element of a list: first before the first one.
func opening(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// endList ends a list of n elements, of which nothing was written if there are none.
func endList(dst []byte, n int) []byte {
	if n == 0 {
		return dst
	}
	return append(dst, ']')
}
