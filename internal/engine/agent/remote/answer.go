package remote

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/stream"
)

// answer is the text of a reply so far.
type answer struct {
	artifacts map[sdk.ArtifactID]*artifact
	last      *artifact // the one that was reported last
	size      int       // bytes of all text
	// blind says that the stream was resumed, and that its position is not known yet. Pieces may be
	// missing, so that only the task itself can be believed.
	blind bool
}

// artifact is one text of an answer.
type artifact struct {
	shownText []byte
	// at is how much of the text has come. It is less than the length of shownText if the agent
	// begins again.
	at        int
	complete  bool // its last piece has come
	retracted bool // all of it was taken back, and the text in front of it stays
	// restarted says that the agent has begun the text again: the next pieces may differ from the
	// emitted text.
	restarted bool
}

// markResumed says that the stream is taken up.
func (a *answer) markResumed() { a.blind = true }

// artifactOf returns an artifact.
func (a *answer) artifactOf(id sdk.ArtifactID) *artifact {
	t := a.artifacts[id]
	if t == nil {
		t = &artifact{}
		a.artifacts[id] = t
	}
	return t
}

// newInPiece returns the new text in the next piece of an artifact.
func (t *artifact) newInPiece(piece string) string {
	skip := min(max(len(t.shownText)-t.at, 0), len(piece))
	t.at += len(piece)
	return strings.ToValidUTF8(piece[skip:], "")
}

// newInText returns the new text in the full text of an artifact. If the text does not continue the
// emitted one, it is a new text: the emitted one cannot be taken back.
func (t *artifact) newInText(text string) string {
	switch {
	case strings.HasPrefix(text, string(t.shownText)):
		rest := text[len(t.shownText):]
		t.at = len(text)
		return rest
	case bytes.HasPrefix(t.shownText, []byte(text)): // the task lags behind the stream
		t.at = len(text)
		return ""
	}
	t.shownText, t.at = nil, len(text)
	return text
}

// differsFrom reports whether a text that begins after at differs from the emitted text.
func (t *artifact) differsFrom(at int, text string) bool {
	n := min(len(t.shownText)-at, len(text))
	return n > 0 && string(t.shownText[at:at+n]) != text[:n]
}

// commonLength returns how many bytes at the begin of a text were shown.
func (t *artifact) commonLength(text string) (n int) {
	for n < min(len(t.shownText), len(text)) && t.shownText[n] == text[n] {
		n++
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// retractText takes back the emitted text of an artifact after at. It returns false if that cannot
// be done: the client cannot show it, or a later text was emitted.
func (c *call) retractText(t *artifact) bool {
	gone := t.shownText[t.at:]
	if !c.retracts || t != c.answer.last || c.isComplete || c.sinkErr != nil {
		return false
	}
	if len(gone) > 0 {
		c.sinkErr = c.sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: len(gone), Runes: utf8.RuneCount(gone)})
	}
	c.answer.size -= len(gone)
	t.shownText, t.retracted = t.shownText[:t.at:t.at], t.at == 0
	return true
}

// acceptEvent takes an event, and says whether the reply is over. Events after the end, and of
// other tasks, are ignored.
func (c *call) acceptEvent(ev sdk.Event) bool {
	switch e := ev.(type) {
	case *sdk.Message:
		c.emitText(nil, textOf(e.Parts))
		c.endReply(stream.Stop)
	case *sdk.Task:
		if e != nil && c.isOurs(e.ID) {
			c.acceptTask(e)
		}
	case *sdk.TaskArtifactUpdateEvent:
		if e != nil && e.Artifact != nil && c.isOurs(e.TaskID) && !c.answer.blind {
			c.acceptPiece(e)
		}
	case *sdk.TaskStatusUpdateEvent:
		if e != nil && c.isOurs(e.TaskID) {
			c.acceptState(&e.Status)
		}
	}
	return c.isComplete || c.sinkErr != nil
}

// acceptTask takes a task with all that it has so far.
func (c *call) acceptTask(task *sdk.Task) {
	c.answer.blind = false
	for _, a := range task.Artifacts {
		if a != nil {
			t := c.answer.artifactOf(a.ID)
			t.restarted = false
			c.emitText(t, t.newInText(textOf(a.Parts)))
		}
	}
	c.acceptState(&task.Status)
}

// acceptPiece takes a piece of an artifact.
func (c *call) acceptPiece(e *sdk.TaskArtifactUpdateEvent) {
	t := c.answer.artifactOf(e.Artifact.ID)
	if t.complete && e.Append {
		return // it is reported twice
	}
	text := textOf(e.Artifact.Parts)
	if !e.Append {
		c.replaceText(t, text)
	} else {
		if t.restarted && t.differsFrom(t.at, text) {
			c.retractText(t)
		}
		c.emitText(t, t.newInPiece(text))
	}
	if t.complete = e.LastChunk; t.complete && t.restarted && t.at < len(t.shownText) {
		c.retractText(t)
	}
}

// replaceText takes the whole text of an artifact so far. If the text differs from the emitted one,
// it begins again, as far as a reset can be emitted.
func (c *call) replaceText(t *artifact, text string) {
	if t.differsFrom(0, text) {
		at := t.at
		if t.at = t.commonLength(text); c.retractText(t) {
			c.emitText(t, t.newInPiece(text[t.at:]))
			return
		}
		t.at = at
	}
	t.restarted = c.retracts
	c.emitText(t, t.newInText(text))
}

// isOurs reports whether an event belongs to the task of this message. The first event names the
// task.
func (c *call) isOurs(id sdk.TaskID) bool {
	if c.task == "" && id != "" {
		c.task = id
		c.storeTask()
	}
	return id == c.task && id != ""
}

// acceptState takes a state of the task. A final state, or a state in which the task waits, ends
// the reply.
func (c *call) acceptState(s *sdk.TaskStatus) {
	if c.isComplete || c.sinkErr != nil {
		return
	}
	if c.answer.blind && s.State != sdk.TaskStateWorking && s.State != sdk.TaskStateSubmitted {
		if task, err := c.getTask(); err == nil {
			c.acceptEvent(task) // with the text that was missed
			return
		}
	}
	message := ""
	if s.Message != nil {
		message = textOf(s.Message.Parts)
	}
	switch s.State {
	case sdk.TaskStateCompleted:
		if c.answer.size == 0 {
			c.emitText(nil, message)
		}
		c.endReply(stream.Stop)
	case sdk.TaskStateInputRequired:
		c.askUser(message)
	case sdk.TaskStateAuthRequired, sdk.TaskStateRejected:
		c.failReply(refusedMessage, errors.New("the task is "+string(s.State)), false)
	case sdk.TaskStateCanceled, sdk.TaskStateFailed:
		c.failReply(failedMessage, errors.New("the task is "+string(s.State)), false)
	}
}

// askUser ends the reply with a question, unless the answer ends with it already.
func (c *call) askUser(question string) {
	if last := c.answer.last; last == nil || !bytes.HasSuffix(bytes.TrimSpace(last.shownText), []byte(strings.TrimSpace(question))) {
		c.emitText(&artifact{}, question)
	}
	c.endReply(stream.InputRequired)
}

func (c *call) endReply(reason stream.FinishReason) {
	if !c.isComplete && c.sinkErr == nil {
		c.isComplete, c.reason = true, reason
	}
}

// emitText emits a piece of text. t is the artifact that it belongs to; nil: none.
func (c *call) emitText(t *artifact, text string) {
	if t == nil {
		t = &artifact{}
	}
	if text == "" || c.isComplete || c.sinkErr != nil {
		return
	}
	a := &c.answer
	if a.size+len(text) > maxReply {
		c.failReply(brokenMessage, errTooLarge, true)
		return
	}
	c.delta.Text = text
	if a.last != nil && len(t.shownText) == 0 && !t.retracted {
		c.delta.Text = "\n\n" + text
	}
	t.retracted = false
	if a.last == nil {
		c.delta.Text = strings.TrimLeft(text, "\n")
	}
	a.size, a.last = a.size+len(text), t
	t.shownText = append(t.shownText, text...)
	if c.delta.Text == "" {
		return
	}
	if c.sinkErr = c.sink.Emit(&c.delta); c.sinkErr == nil {
		c.sinkErr = c.sink.Flush()
	}
}

// textOf joins the texts of parts. Others are not taken.
func textOf(parts sdk.ContentParts) string {
	var b strings.Builder
	for _, p := range parts {
		if p != nil {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// transportError returns the error of a connection, without the URL; nil: it is another error.
func transportError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok {
		return e
	}
	return nil
}
