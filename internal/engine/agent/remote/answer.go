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
	// blind says that the stream was taken up, and that no event has shown yet where it
	// continues: pieces may be missing, so that only the task itself can be believed.
	blind bool
}

// artifact is one text of an answer.
type artifact struct {
	shown []byte
	// at is how much of the text has come. It is less than what was shown where the agent
	// begins again.
	at    int
	whole bool // its last piece has come
	again bool // all of it was taken back, and what stands in front of it stays
	// restarted says that the agent has begun the text again: what follows need not be what was shown.
	restarted bool
}

// resumed says that the stream is taken up.
func (a *answer) resumed() { a.blind = true }

// of returns an artifact.
func (a *answer) of(id sdk.ArtifactID) *artifact {
	t := a.artifacts[id]
	if t == nil {
		t = &artifact{}
		a.artifacts[id] = t
	}
	return t
}

// more returns what is new in the next piece of an artifact.
func (t *artifact) more(piece string) string {
	skip := min(max(len(t.shown)-t.at, 0), len(piece))
	t.at += len(piece)
	return strings.ToValidUTF8(piece[skip:], "")
}

// all returns what is new in the whole text of an artifact. A text that does not continue where
// the one before ended is a new one: what is shown cannot be taken back.
func (t *artifact) all(text string) string {
	switch {
	case strings.HasPrefix(text, string(t.shown)):
		rest := text[len(t.shown):]
		t.at = len(text)
		return rest
	case bytes.HasPrefix(t.shown, []byte(text)): // the task lags behind the stream
		t.at = len(text)
		return ""
	}
	t.shown, t.at = nil, len(text)
	return text
}

// diverges says whether a text that begins behind at differs from what was shown.
func (t *artifact) diverges(at int, text string) bool {
	n := min(len(t.shown)-at, len(text))
	return n > 0 && string(t.shown[at:at+n]) != text[:n]
}

// agrees returns how many bytes at the begin of a text were shown.
func (t *artifact) agrees(text string) (n int) {
	for n < min(len(t.shown), len(text)) && t.shown[n] == text[n] {
		n++
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// retract takes back what was shown of an artifact behind at. It returns false if that cannot be
// done: nobody knows the word for it, or something else was shown behind it.
func (c *call) retract(t *artifact) bool {
	gone := t.shown[t.at:]
	if !c.retracts || t != c.answer.last || c.over || c.sinkErr != nil {
		return false
	}
	if len(gone) > 0 {
		c.sinkErr = c.sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: len(gone), Runes: utf8.RuneCount(gone)})
	}
	c.answer.size -= len(gone)
	t.shown, t.again = t.shown[:t.at:t.at], t.at == 0
	return true
}

// accept takes an event, and says whether the reply is over. What comes after the end, and of
// other tasks, nobody asked for.
func (c *call) accept(ev sdk.Event) bool {
	switch e := ev.(type) {
	case *sdk.Message:
		c.say(nil, textOf(e.Parts))
		c.finish(stream.Stop)
	case *sdk.Task:
		if e != nil && c.isOurs(e.ID) {
			c.whole(e)
		}
	case *sdk.TaskArtifactUpdateEvent:
		if e != nil && e.Artifact != nil && c.isOurs(e.TaskID) && !c.answer.blind {
			c.piece(e)
		}
	case *sdk.TaskStatusUpdateEvent:
		if e != nil && c.isOurs(e.TaskID) {
			c.state(&e.Status)
		}
	}
	return c.over || c.sinkErr != nil
}

// whole takes a task with all that it has so far.
func (c *call) whole(task *sdk.Task) {
	c.answer.blind = false
	for _, a := range task.Artifacts {
		if a != nil {
			t := c.answer.of(a.ID)
			t.restarted = false
			c.say(t, t.all(textOf(a.Parts)))
		}
	}
	c.state(&task.Status)
}

// piece takes a piece of an artifact.
func (c *call) piece(e *sdk.TaskArtifactUpdateEvent) {
	t := c.answer.of(e.Artifact.ID)
	if t.whole && e.Append {
		return // it is reported twice
	}
	text := textOf(e.Artifact.Parts)
	if !e.Append {
		c.replace(t, text)
	} else {
		if t.restarted && t.diverges(t.at, text) {
			c.retract(t)
		}
		c.say(t, t.more(text))
	}
	if t.whole = e.LastChunk; t.whole && t.restarted && t.at < len(t.shown) {
		c.retract(t)
	}
}

// replace takes the whole text of an artifact so far. One that is another than what was shown
// begins again, if that can be shown.
func (c *call) replace(t *artifact, text string) {
	if t.diverges(0, text) {
		at := t.at
		if t.at = t.agrees(text); c.retract(t) {
			c.say(t, t.more(text[t.at:]))
			return
		}
		t.at = at
	}
	t.restarted = c.retracts
	c.say(t, t.all(text))
}

// isOurs says whether an event is about the task of this message, which the first one
// names.
func (c *call) isOurs(id sdk.TaskID) bool {
	if c.task == "" && id != "" {
		c.task = id
		c.keep()
	}
	return id == c.task && id != ""
}

// state takes a state of the task. One that it waits in, or that is final, ends the reply.
func (c *call) state(s *sdk.TaskStatus) {
	if c.over || c.sinkErr != nil {
		return
	}
	if c.answer.blind && s.State != sdk.TaskStateWorking && s.State != sdk.TaskStateSubmitted {
		if task, err := c.get(); err == nil {
			c.accept(task) // with the text that was missed
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
			c.say(nil, message)
		}
		c.finish(stream.Stop)
	case sdk.TaskStateInputRequired:
		c.ask(message)
	case sdk.TaskStateAuthRequired, sdk.TaskStateRejected:
		c.fail(refusedMessage, errors.New("the task is "+string(s.State)), false)
	case sdk.TaskStateCanceled, sdk.TaskStateFailed:
		c.fail(failedMessage, errors.New("the task is "+string(s.State)), false)
	}
}

// ask ends the reply with a question, unless the answer ends with it already.
func (c *call) ask(question string) {
	if last := c.answer.last; last == nil || !bytes.HasSuffix(bytes.TrimSpace(last.shown), []byte(strings.TrimSpace(question))) {
		c.say(&artifact{}, question)
	}
	c.finish(stream.InputRequired)
}

func (c *call) finish(reason stream.FinishReason) {
	if !c.over && c.sinkErr == nil {
		c.over, c.reason = true, reason
	}
}

// say emits a piece of text. t is the artifact that it belongs to; nil: none.
func (c *call) say(t *artifact, text string) {
	if t == nil {
		t = &artifact{}
	}
	if text == "" || c.over || c.sinkErr != nil {
		return
	}
	a := &c.answer
	if a.size+len(text) > maxReply {
		c.fail(brokenMessage, errTooLarge, true)
		return
	}
	c.delta.Text = text
	if a.last != nil && len(t.shown) == 0 && !t.again {
		c.delta.Text = "\n\n" + text
	}
	t.again = false
	if a.last == nil {
		c.delta.Text = strings.TrimLeft(text, "\n")
	}
	a.size, a.last = a.size+len(text), t
	t.shown = append(t.shown, text...)
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
