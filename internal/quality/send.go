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

// say shows a text in pieces.
func (t *turn) say(text string) {
	for text != "" {
		head, _ := chat.Truncate(text, maxPiece)
		t.piece(&stream.Delta{Text: head})
		text = text[len(head):]
	}
}

// piece passes a piece of the answer on, and notes when the first one went out.
func (t *turn) piece(d *stream.Delta) {
	if t.sentAt.IsZero() {
		t.sentAt = time.Now()
	}
	t.sink.Emit(d)
}

// send sends an attempt. err, if not nil, is reported before the text. The result is why the
// turn has ended, if it did so before the text had its form.
func (t *turn) send(a *attempt, phase stream.Phase, err *fault.Error) error {
	if err := a.format(t, nil); err != nil {
		return err
	}
	t.report(phase)
	if err != nil {
		t.sink.Emit(stream.NewError(err, false))
	}
	t.final = a
	t.keep(a.text)
	switch {
	case t.form != nil:
		t.messages(a)
	case a.unchanged:
		t.again()
	default:
		t.say(a.styled())
	}
	if !t.firstText.IsZero() && !t.sentAt.IsZero() {
		held := t.sentAt.Sub(t.firstText)
		t.costs.ms.Held = held.Milliseconds()
		t.counts().held.Observe(held.Seconds())
	}
	return nil
}

// again sends the pieces as they came.
func (t *turn) again() {
	t.say(t.before)
	t.pieces.each(func(text string, who stream.Attribution) {
		for text != "" {
			head, _ := chat.Truncate(text, maxPiece)
			t.piece(&stream.Delta{Attribution: who, Text: head})
			text = text[len(head):]
		}
	})
	t.say(t.after)
}

// messages sends the form of a channel: its text, its messages, and to who receives
// them.
func (t *turn) messages(a *attempt) {
	f := a.formatted
	t.checks.Channel = &stream.Formatted{Channel: t.channel, IsSplit: f.IsSplit, Metadata: f.Metadata}
	if f.Content == "" {
		t.undelivered()
		return
	}
	if f.Truncated {
		t.warn(fault.ContentTruncated, "The answer was too long for its channel and was cut")
	}
	t.checks.Markdown = a.styled()
	t.checks.Channel.Parts = len(f.Messages)
	if !t.req.Deliver {
		t.formatted(a)
		return
	}
	began, m := time.Now(), t.message(f)
	t.together(func() {
		t.formatted(a)
		t.saveDelivery(m)
		t.sink.Flush()
	})
	t.deliver(m, began)
}

// formatted emits the text and the messages of a form.
func (t *turn) formatted(a *attempt) {
	t.say(a.formatted.Content)
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

// together has what f emits and saves go to the store in one step, if anything is saved.
func (t *turn) together(f func()) {
	if saving := t.req.Facts.Saving; saving != nil {
		saving.Together(f)
		return
	}
	f()
}

// message returns what is delivered of a text in its form.
func (t *turn) message(f *Formatted) *Message {
	m := &Message{Request: t.req, RequestID: chat.RequestID(t.ctx), Response: f.Response(), Segments: f.Segments, Parts: len(f.Messages)}
	if t.watched { // else a question has an outcome, and no receipt that reports it
		m.Passed, m.Outcome = t.passed, t.outcome
	}
	return m
}

// deliver has the messages delivered. Once begun it does not end with the client.
func (t *turn) deliver(m *Message, began time.Time) {
	d := t.cfg.Senders[t.channel].Send(t.ctx, m)
	t.checks.Channel.Delivery = &d
	t.logDelivered(&d, m, began)
	if d.Status != "delivered" {
		t.warn(fault.DeliveryFailed, "The answer could not be delivered to its channel")
	}
}

// undelivered reports, to a client that asked for a delivery, that there is nothing to deliver.
func (t *turn) undelivered() {
	if t.req.Deliver {
		t.checks.Channel.Delivery = &stream.Delivery{Status: "failed"}
		t.warn(fault.DeliveryFailed, "There is no text that could be delivered")
	}
}

// release sends what is held back of a turn that ends with a question: as it is, since it
// is not an answer that could be checked.
func (t *turn) release() {
	if t.released {
		return
	}
	t.released, t.outcome = true, stream.NotEvaluated
	if !t.held {
		return
	}
	a := t.first()
	if a.text == "" {
		return
	}
	t.report(stream.Formatting)
	if err := t.send(a, stream.Sending, nil); err != nil && t.sink.Err == nil {
		t.sink.Err = err
	}
}

// first returns the first attempt.
func (t *turn) first() *attempt {
	return t.attempted(string(t.pieces.text), t.out.Reason, true)
}

// attempted notes an answer. What style adds around it belongs to what users
// see, and so is checked with it.
func (t *turn) attempted(text string, reason stream.FinishReason, unchanged bool) *attempt {
	a := &attempt{text: text, reason: reason, unchanged: unchanged}
	if strings.TrimSpace(text) != "" {
		a.before, a.after = t.before, t.after
	}
	return a
}

// format brings the attempt into the form of the turn's channel, if it has one. source is the
// styled text, shared with others that read it; nil: not shared. The error is why the turn has
// ended.
func (a *attempt) format(t *turn, source *markdown.Source) (err error) {
	if t.form != nil && a.formatted == nil {
		began := time.Now()
		a.formatted, err = t.form.Format(t.ctx, Text{
			RequestID: chat.RequestID(t.ctx), Markdown: a.text, Before: a.before, After: a.after, Subject: t.req.Subject,
			Locale: t.locale, At: time.Now().Truncate(time.Millisecond), Source: source,
		})
		t.costs.ms.Format += time.Since(began).Milliseconds()
		t.counts().step("format", began)
	}
	if err != nil {
		return fault.Cause(t.ctx)
	}
	return nil
}
