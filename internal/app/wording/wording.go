// Package wording gives package quality the parts that it may not import: the forms of channels,
// the voice of a style, and the receivers of messages. Each type here is one interface of quality's
// over one package.
package wording

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/quality/style"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Voice is a quality.Style over package style.
type Voice struct {
	guide  *style.Guide
	prompt style.Prompter // of guide
	specs  map[string]channel.Spec
}

// NewVoice returns the voice of a guide; specs say which channels allow a greeting.
func NewVoice(guide *style.Guide, specs map[string]channel.Spec) *Voice {
	return &Voice{guide, guide.Prompter(), specs}
}

// readerOf returns the reader of a text. The text gets a frame only if the channel allows a
// greeting.
func (v *Voice) readerOf(req *chat.Request, channel string) style.Reader {
	return style.Reader{Locale: req.Locale, Name: req.UserName, Frames: v.specs[channel].Greeting}
}

// Version implements quality.Style.
func (v *Voice) Version() string { return v.guide.Version }

// Instruction implements quality.Style.
func (v *Voice) Instruction(req *chat.Request, channel string) string {
	return v.prompt.Prompt(v.readerOf(req, channel))
}

// Around implements quality.Style.
func (v *Voice) Around(req *chat.Request, channel string) (before, after string) {
	return v.guide.Frame(v.readerOf(req, channel))
}

// Failure implements quality.Style.
func (v *Voice) Failure(req *chat.Request) string { return v.guide.FailureText(v.readerOf(req, "")) }

// Language implements quality.Style.
func (v *Voice) Language(req *chat.Request) string { return v.guide.Language(v.readerOf(req, "")) }

// Webhook is a quality.Sender over package deliver.
type Webhook struct{ Sender *deliver.Sender }

// Send implements quality.Sender.
//
// The id is made of the turn's. So a turn that another process takes over delivers under the same
// id, and the receiver can drop the second delivery. It returns when the receiver took it or the
// tries are over.
func (w Webhook) Send(ctx context.Context, m *quality.Message) stream.Delivery {
	content := deliver.Content{Response: m.Response, Tenant: m.Request.Principal.Tenant, UserID: m.Request.UserID, ConversationID: m.Request.ConversationID}
	if m.Outcome != "" {
		content.Quality = &deliver.Quality{Passed: m.Passed, Outcome: string(m.Outcome)}
	}
	id := deliver.NewID()
	if turn := m.Request.Turn; turn != "" {
		id = deliver.ID(turn)
	}
	body, err := deliver.Body(content, time.Now())
	if err != nil {
		return stream.Delivery{Status: deliver.Failed, ID: id}
	}
	r := w.Sender.Send(ctx, deliver.Message{ID: id, Body: body})
	return stream.Delivery{Status: r.Status, Attempts: r.Attempts, Millis: r.MS, ID: r.ID}
}

// Formatters returns the formatters of answers, by the names of channels. The formatter is nil for
// a channel whose answers stay as they are.
func Formatters(specs map[string]channel.Spec) map[string]quality.Formatter {
	all := map[string]quality.Formatter{}
	for name, spec := range specs {
		all[name] = nil
		if spec.Form != channel.Web {
			all[name] = formatter{channel.New(spec)}
		}
	}
	return all
}

// formatter is a quality.Formatter over package channel.
type formatter struct{ *channel.Formatter }

// Form implements quality.Formatter.
func (f formatter) Form() string { return f.Spec().Form }

// Format implements quality.Formatter.
//
// The whole response is encoded only if somebody asks for it: most turns send messages
// alone.
func (f formatter) Format(ctx context.Context, in quality.Text) (*quality.Formatted, error) {
	r, err := f.Formatter.Format(ctx, channel.Input{RequestID: in.RequestID, Text: in.Markdown, Before: in.Before, After: in.After, Subject: in.Subject, Locale: in.Locale, At: in.At, Source: in.Source})
	if err != nil {
		return nil, err
	}
	out := &quality.Formatted{
		Content: r.Content, IsSplit: r.IsSplit, Metadata: r.Metadata.JSON(), Truncated: r.Metadata.Truncated,
		Response: func() jsontext.Value {
			text, _ := json.Marshal(r, jsontext.AllowInvalidUTF8(true))
			return text
		},
	}
	if !r.IsSplit {
		out.Messages = append(out.Messages, channelMessage(r, 1, 1, r.Content, "", &r.ChannelFields))
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		out.Messages = append(out.Messages, channelMessage(r, p.Sequence, len(r.Parts), p.Content, p.Indicator, &p.ChannelFields))
	}
	for i := range out.Messages {
		out.Segments += out.Messages[i].Segments
	}
	return out, nil
}

// channelMessage is one message of n of a response, as an event.
func channelMessage(r *channel.Response, n, of int, content, indicator string, own *channel.ChannelFields) stream.ChannelMessage {
	return stream.ChannelMessage{
		Channel: r.Channel, Sequence: n, Total: of, Content: content, ContentType: r.ContentType(), Indicator: indicator,
		Encoding: string(own.Encoding), Segments: own.Segments, Units: own.Units, Chars: own.Chars,
		Card: own.Card, Bytes: own.Bytes, Subject: own.Subject, Text: own.Text, HTML: own.HTML,
	}
}
