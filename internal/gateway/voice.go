// This file connects quality with the style of a file, and with the receivers of channels
// (webhooks).

package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"sluice/channel"
	"sluice/chat"
	"sluice/deliver"
	"sluice/quality"
	"sluice/quality/style"
	"sluice/stream"
)

// voice is a quality.Style over package style.
type voice struct {
	guide *style.Guide
	told  style.Prompter // of guide
	specs map[string]channel.Spec
}

// reader is for whom a text is. A channel that allows no greeting gets no frame.
func (v *voice) reader(req *chat.Request, channel string) style.Reader {
	return style.Reader{Locale: req.Locale, Name: req.UserName, Frames: v.specs[channel].Greeting}
}

// Version implements quality.Style.
func (v *voice) Version() string { return v.guide.Version }

// Instruction implements quality.Style. The agent tells the user's name by itself.
func (v *voice) Instruction(req *chat.Request, channel string) string {
	r := v.reader(req, channel)
	r.Name = ""
	return v.told.Prompt(r)
}

// Around implements quality.Style.
func (v *voice) Around(req *chat.Request, channel string) (before, after string) {
	return v.guide.Frame(v.reader(req, channel))
}

// Failure implements quality.Style.
func (v *voice) Failure(req *chat.Request) string { return v.guide.FailureText(v.reader(req, "")) }

// Language implements quality.Style.
func (v *voice) Language(req *chat.Request) string { return v.guide.Language(v.reader(req, "")) }

// webhooks returns the senders of channels, by name.
//
// They are made with each registry.
func (g *Gateway) webhooks(all []deliver.Config) map[string]quality.Sender {
	senders := map[string]quality.Sender{}
	for _, cfg := range all {
		cfg.Proxy, cfg.Metrics = g.cfg.Proxy.Func(), g.metrics
		cfg.Transport = g.with.taped(cfg.Transport, func() http.RoundTripper { return deliver.NewTransport(cfg.Proxy) }, "")
		sender, err := deliver.New(cfg)
		if err != nil { // the file was checked
			g.log.Error().Dict("details", zerolog.Dict().Str("channel", cfg.Channel).AnErr("cause", err)).Msg("delivery_not_configured")
			continue
		}
		senders[cfg.Channel] = webhook{sender}
	}
	return senders
}

// webhook is a quality.Sender over package deliver.
type webhook struct{ sender *deliver.Sender }

// Send implements quality.Sender.
//
// The id is made of the turn's, so that a turn that is taken over by another process
// delivers under the same id and the receiver can drop the second. It returns when the
// receiver took it or the tries are over.
func (w webhook) Send(ctx context.Context, m *quality.Message) stream.Delivery {
	content := deliver.Content{Response: m.Response, UserID: m.Request.UserID, ConversationID: m.Request.ConversationID}
	if m.Outcome != "" {
		content.Quality = &deliver.Quality{Passed: m.Passed, Outcome: string(m.Outcome)}
	}
	id := deliver.NewID()
	if turn := chat.TurnID(ctx); turn != "" {
		id = deliver.ID(turn)
	}
	body, err := deliver.Body(content, time.Now())
	if err != nil {
		return stream.Delivery{Status: deliver.Failed, ID: id}
	}
	r := w.sender.Send(ctx, deliver.Message{ID: id, Body: body})
	return stream.Delivery{Status: r.Status, Attempts: r.Attempts, Millis: r.MS, ID: r.ID}
}
