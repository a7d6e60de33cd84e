package quality

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Formatter words an answer for one channel. It may be used at the same time.
type Formatter interface {
	// Form is the one of the built-in channels that it is, or extends.
	Form() string
	// Format returns an error only if ctx has ended, and then soon.
	Format(ctx context.Context, text Text) (*Formatted, error)
}

// Text is the input of a Formatter.
type Text struct {
	RequestID string
	Markdown  string
	// Before and After are the style's texts; they are not part of a subject.
	Before, After string
	Subject       string // of an e-mail; empty: made of the text
	Locale        string
	At            time.Time
	// Source is Before, Markdown and After together, shared with others that read it; nil: not
	// shared.
	Source *markdown.Source
}

// Formatted is a text in the form of a channel.
type Formatted struct {
	Content   string // the whole, without indicators
	IsSplit   bool
	Messages  []stream.ChannelMessage // at least one
	Metadata  jsontext.Value
	Truncated bool // text behind the last message is lost
	Segments  int  // of all messages of an SMS
	// Response is the whole FormattedResponse.
	Response func() jsontext.Value
}

// Question is one whose answer is an object that a schema describes.
type Question struct {
	Name         string // of the schema
	Model        string // a key; empty: default
	System, User string
	Schema       jsontext.Value
	Open         []string // members that the schema is not to be strict about
}

// Reply is the answer to a Question.
type Reply struct {
	JSON  jsontext.Value
	Usage chat.Usage // also without JSON
}

// Asker asks a model for structured answers, twice at most.
type Asker interface {
	Ask(ctx context.Context, q *Question) (Reply, error)
}

// Order is a text that a model is to write, without tools.
type Order struct {
	Agent    string // who wrote the first attempt; empty: the only one there is
	System   string
	Messages []chat.Message
}

// Written is what became of an Order.
type Written struct {
	Usage  chat.Usage // also with an error
	Finish chat.Finish
}

// Writer has a model write a text, and hands it on in pieces. An error of yield is
// returned as it is.
type Writer interface {
	Write(ctx context.Context, o *Order, yield func(text string) error) (Written, error)
}

// Style words what code adds to an answer.
type Style interface {
	Version() string
	// Instruction is for the model that writes.
	Instruction(req *chat.Request, channel string) string
	// Around returns the texts in front of an answer and behind it, in Markdown, with their
	// separators.
	Around(req *chat.Request, channel string) (before, after string)
	// Failure is sent in place of an answer that did not pass; empty: the built-in text.
	Failure(req *chat.Request) string
	// Language is that of the request, as a tag; empty: any.
	Language(req *chat.Request) string
}

// Message is the input of a Sender.
type Message struct {
	Request   *chat.Request
	RequestID string
	Response  jsontext.Value // the FormattedResponse
	Passed    bool
	Outcome   stream.Outcome // empty: nothing was checked
	Segments  int
	Parts     int
}

// Sender delivers messages of one channel to who receives them. It is not stopped by
// the end of ctx.
type Sender interface {
	Send(ctx context.Context, m *Message) stream.Delivery
}

// Agent is one of those that may answer, as the planner sees it.
type Agent struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools,omitempty"`
}

// Config describes a Checker. Everything may be zero that no settings need.
type Config struct {
	Spec Spec
	// Formatters are the channels except Web, by name. A nil Formatter extends Web: its text is
	// Markdown that streams, and it cannot be delivered.
	Formatters map[string]Formatter
	Asker      Asker
	Writer     Writer
	Style      Style             // nil: none
	Senders    map[string]Sender // by channel
	// Agents returns the agents that may answer a request.
	Agents   func(ctx context.Context, req *chat.Request) []Agent
	Location *time.Location // of requests that name none; nil: UTC
	Metrics  *metrics.Registry
	// LogPayloads puts texts into the log, without what looks personal.
	LogPayloads bool
}

// Checker makes the runners of turns. It is safe for concurrent use. Use New.
type Checker struct {
	cfg       Config
	standards *standards
	counts    func() *instruments // registered when first used: a gateway without quality shows none
}

// New returns a Checker.
func New(cfg Config) *Checker {
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	return &Checker{cfg: cfg, standards: newStandards(), counts: sync.OnceValue(func() *instruments { return newInstruments(cfg.Metrics) })}
}

// knowsChannel reports whether an answer can have the form of a channel; without one it is the
// web's.
func (c *Checker) knowsChannel(channel string) bool {
	_, known := c.cfg.Formatters[channel]
	return known || channel == "" || channel == web
}

// Check returns the faults of the form that a request asks for, by the names of its fields. It
// returns an empty map, or nil, without a fault. agent is empty until it is certain.
func (c *Checker) Check(req *chat.Request, agent string) map[string]*chat.FieldError {
	if req.ReplyForm == (chat.ReplyForm{}) {
		return nil
	}
	faults := map[string]*chat.FieldError{}
	if !c.knowsChannel(req.Channel) {
		faults["channel"] = chat.UnknownChannel()
	} else if req.Deliver && c.cfg.Senders[req.Channel] == nil {
		faults["deliver"] = &chat.FieldError{Code: chat.CodeNotConfigured, Message: "needs a receiver, and the channel has none (channels.<name>.deliver)"}
	}
	if s := c.cfg.Spec.Settings(agent); req.Drafts == chat.Yes && s.Drafts == neverDrafts {
		faults["drafts"] = &chat.FieldError{Code: chat.CodeNotAllowed, Message: "is not allowed here (quality.drafts)"}
	}
	return faults
}

// Applies reports whether the answer to a request needs this package. Check must have found no
// fault. The settings of agent hold; an empty agent means that routing decides.
func (c *Checker) Applies(req *chat.Request, agent string) bool {
	return c.formatterOf(req) != nil || c.cfg.Style != nil || !c.cfg.Spec.isOff(agent, req.Channel)
}

// Enforces reports whether the answers of an agent on a page must pass checks. An empty agent
// stands for any agent.
func (c *Checker) Enforces(agent string) bool { return c.cfg.Spec.canEnforce(agent) }

// formatterOf returns the one of the request's channel; nil: the answer stays as it is.
func (c *Checker) formatterOf(req *chat.Request) Formatter {
	if req.Channel == "" || req.Channel == web {
		return nil
	}
	return c.cfg.Formatters[req.Channel]
}
