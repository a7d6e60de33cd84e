package quality

import (
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/markdown"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxPiece bounds a piece of a text that was held back, in bytes.
const maxPiece = 16 << 10

// sendText shows a text in pieces.
func (t *turn) sendText(text string) {
	for text != "" {
		head, _ := chat.Truncate(text, maxPiece)
		t.sendPiece(&stream.Delta{Text: head})
		text = text[len(head):]
	}
}

// sendPiece passes a piece of the answer on, and records when the first one went out.
func (t *turn) sendPiece(d *stream.Delta) {
	if t.sentAt.IsZero() {
		t.sentAt = time.Now()
	}
	t.sink.Emit(d)
}

// sendAttempt sends an attempt. err, if not nil, is reported before the text. The result is why the
// turn has ended, if it did so before the text had its form.
func (t *turn) sendAttempt(a *attempt, phase stream.Phase, err *fault.Error) error {
	if err := a.applyForm(t, nil); err != nil {
		return err
	}
	t.reportPhase(phase)
	if err != nil {
		t.sink.Emit(stream.NewError(err, false))
	}
	t.final = a
	t.settleInner(a.text)
	switch {
	case t.form != nil:
		t.sendMessages(a)
	case a.unchanged:
		t.sendPieces()
	default:
		t.sendText(a.styledText())
	}
	if !t.firstText.IsZero() && !t.sentAt.IsZero() {
		held := t.sentAt.Sub(t.firstText)
		t.costs.ms.Held = held.Milliseconds()
		t.counts().held.Observe(held.Seconds())
	}
	return nil
}

// sendPieces sends the pieces as they came.
func (t *turn) sendPieces() {
	t.sendText(t.before)
	t.pieces.eachPiece(func(text string, who stream.Attribution) {
		for text != "" {
			head, _ := chat.Truncate(text, maxPiece)
			t.sendPiece(&stream.Delta{Attribution: who, Text: head})
			text = text[len(head):]
		}
	})
	t.sendText(t.after)
}

// sendMessages sends an answer in the form of a channel: its text and its messages. If the request
// asks for it, the channel's sender delivers them.
func (t *turn) sendMessages(a *attempt) {
	f := a.formatted
	t.checks.Channel = &stream.Formatted{Channel: t.channel, IsSplit: f.IsSplit, Metadata: f.Metadata}
	if f.Content == "" {
		t.reportUndelivered()
		return
	}
	if f.Truncated {
		t.warn(fault.ContentTruncated, "The answer was too long for its channel and was cut")
	}
	t.checks.Markdown = a.styledText()
	t.checks.Channel.Parts = len(f.Messages)
	if !t.req.Deliver {
		t.emitMessages(a)
		return
	}
	began, m := time.Now(), t.messageOf(f)
	t.inOneAppend(func() {
		t.emitMessages(a)
		t.saveDelivery(m)
		t.sink.Flush()
	})
	t.deliverMessage(m, began)
}

// emitMessages emits the text and the messages of a form.
func (t *turn) emitMessages(a *attempt) {
	t.sendText(a.formatted.Content)
	for i := range a.formatted.Messages {
		m := &a.formatted.Messages[i]
		t.sink.Emit(m)
		t.counts().messages.Inc(t.channel)
		if m.Encoding != "" {
			t.counts().segments.Add(float64(m.Segments), m.Encoding)
		}
	}
	t.logChannel(a, a.formatted)
}

// inOneAppend has what f emits and saves go to the store in one step, if anything is saved.
func (t *turn) inOneAppend(f func()) {
	if saving := t.req.Facts.Saving; saving != nil {
		saving.Together(f)
		return
	}
	f()
}

// messageOf returns the message that is delivered for a formatted text.
func (t *turn) messageOf(f *Formatted) *Message {
	m := &Message{Request: t.req, RequestID: chat.RequestID(t.ctx), Response: f.Response(), Segments: f.Segments, Parts: len(f.Messages)}
	if t.watched { // else a question has an outcome, and no receipt that reports it
		m.Passed, m.Outcome = t.passed, t.outcome
	}
	return m
}

// deliverMessage has the messages delivered. Once begun it does not end with the client.
func (t *turn) deliverMessage(m *Message, began time.Time) {
	d := t.cfg.Senders[t.channel].Send(t.ctx, m)
	t.checks.Channel.Delivery = &d
	t.logDelivered(&d, m, began)
	if d.Status != "delivered" {
		t.warn(fault.DeliveryFailed, "The answer could not be delivered to its channel")
	}
}

// reportUndelivered reports an empty text to a client that asked for a delivery.
func (t *turn) reportUndelivered() {
	if t.req.Deliver {
		t.checks.Channel.Delivery = &stream.Delivery{Status: "failed"}
		t.warn(fault.DeliveryFailed, "There is no text that could be delivered")
	}
}

// sendUnchecked sends the held text of a turn that ends with a question. It is not an answer, so it
// is not checked.
func (t *turn) sendUnchecked() {
	if t.released {
		return
	}
	t.released, t.outcome = true, stream.NotEvaluated
	if !t.held {
		return
	}
	a := t.firstAttempt()
	if a.text == "" {
		return
	}
	t.reportPhase(stream.Formatting)
	if err := t.sendAttempt(a, stream.Sending, nil); err != nil && t.sink.Err == nil {
		t.sink.Err = err
	}
}

// firstAttempt returns the first attempt.
func (t *turn) firstAttempt() *attempt {
	return t.newAttempt(string(t.pieces.text), t.out.Reason, true)
}

// newAttempt records an answer. The style's texts are checked as well, because users see them.
func (t *turn) newAttempt(text string, reason stream.FinishReason, unchanged bool) *attempt {
	a := &attempt{text: text, reason: reason, unchanged: unchanged}
	if strings.TrimSpace(text) != "" {
		a.before, a.after = t.before, t.after
	}
	return a
}

// applyForm brings the attempt into the form of the turn's channel, if it has one. source is the
// shared source of the styled text; it may be nil. The error is why the turn has ended.
func (a *attempt) applyForm(t *turn, source *markdown.Source) (err error) {
	if t.form != nil && a.formatted == nil {
		began := time.Now()
		a.formatted, err = t.form.Format(t.ctx, Text{
			RequestID: chat.RequestID(t.ctx), Markdown: a.text, Before: a.before, After: a.after, Subject: t.req.Subject,
			Locale: t.locale, At: time.Now().Truncate(time.Millisecond), Source: source,
		})
		t.costs.ms.Format += time.Since(began).Milliseconds()
		t.counts().observeSince("format", began)
	}
	if err != nil {
		return fault.Cause(t.ctx)
	}
	return nil
}
