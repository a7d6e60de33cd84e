// This file connects package quality with models, channels, style and receivers. Each
// adapter here is one interface of quality's over one package that it may not import.

package gateway

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/agent"
	"sluice/channel"
	"sluice/chat"
	"sluice/model"
	"sluice/quality"
	"sluice/stream"
)

// checkAttempts is how often planner and judge are asked at most.
const checkAttempts = 2

// newQuality makes what checks and formats the answers of a registry.
//
// It is made with each registry. A Checker without criteria costs a request the look at
// Applies.
func (g *Gateway) newQuality(file Config, r *registry) *quality.Checker {
	cfg := quality.Config{
		Spec:        file.Quality,
		Formatters:  map[string]quality.Formatter{},
		Asker:       &checkAsker{models: g.models},
		Writer:      &writer{models: g.models, keys: modelsOf(r)},
		Agents:      g.catalogue(r),
		Location:    g.cfg.Timezone,
		Metrics:     g.metrics,
		LogPayloads: g.cfg.LogPayloads,
	}
	if g.cfg.TurnTokens > 0 {
		cfg.Spent = func(ctx context.Context) bool { return model.TurnBudgetOf(ctx).Reached(chat.Usage{}) }
	}
	specs := channel.ByName(file.Forms())
	for name, spec := range specs {
		cfg.Formatters[name] = nil
		if spec.Form != channel.Web {
			cfg.Formatters[name] = formatter{channel.New(spec)}
		}
	}
	if file.Style != nil {
		cfg.Style = &voice{file.Style, file.Style.Prompter(), specs}
	}
	cfg.Senders = g.webhooks(file.Webhooks)
	return quality.New(cfg)
}

// checked returns what answers, and checks and formats its answers. The calls of models
// that this takes count for the turn's budget.
func (r *registry) checked(inner stream.Runner, agent string) stream.Runner {
	return model.Budgeted{Runner: r.quality.Around(inner, agent), Tokens: r.tokens}
}

// catalogue returns who may answer, as the planner sees it.
//
// A hidden agent is listed only for a request that names it.
func (g *Gateway) catalogue(r *registry) func(context.Context, *chat.Request) []quality.Agent {
	return func(ctx context.Context, req *chat.Request) (all []quality.Agent) {
		if len(r.spec.Agents) == 0 {
			return []quality.Agent{{ID: "assistant", Tools: toolNames(ctx, g.toolsOf(toolsOfPlanner, g.tools))}}
		}
		for _, a := range r.spec.Agents {
			if req.Agent == a.ID || req.Agent == "" && !a.Hidden {
				all = append(all, quality.Agent{ID: a.ID, Description: a.Description, Tools: toolNames(ctx, g.toolsOf(toolsOfPlanner+a.ID, g.tools.Select(a.Tools)))})
			}
		}
		return all
	}
}

// toolNames lists the names of tools as an agent sees them now.
func toolNames(ctx context.Context, from agent.Tools) (names []string) {
	for _, spec := range from.Tools(ctx).Specs {
		names = append(names, spec.Name)
	}
	return names
}

// modelsOf returns the keys of the agents' models.
func modelsOf(r *registry) map[string]string {
	keys := map[string]string{}
	for _, a := range r.spec.Agents {
		keys[a.ID] = a.Model
	}
	return keys
}

// checkAsker is a quality.Asker over the models of the gateway.
type checkAsker struct {
	models  *Models
	schemas schemas
}

// Ask implements quality.Asker.
//
// The temperature is 0: a judge should say the same of the same answer.
func (a *checkAsker) Ask(ctx context.Context, q *quality.Question) (quality.Reply, error) {
	schema, err := a.schemas.get(q.Name, q.Schema, q.Open)
	if err != nil {
		return quality.Reply{}, err
	}
	var cold float64
	req := chat.ModelRequest{
		System:      q.System,
		Messages:    []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: q.User}}}},
		Step:        1,
		Temperature: &cold,
	}
	got, err := a.models.Forms().Ask(ctx, a.models.Link(q.Model), &req, schema, model.AskOptions{Attempts: checkAttempts, Lenient: true})
	return quality.Reply{JSON: got.JSON, Usage: got.Usage}, err
}

// Why a refinement cannot be used, although the model answered.
var (
	errBeganAgain = errors.New("the model began again when a part of its text was out")
	errNoFinish   = errors.New("the text ended without a finish reason")
)

// writer is a quality.Writer over the models of the gateway.
type writer struct {
	models *Models
	keys   map[string]string // of agents; none: default
}

// Write implements quality.Writer.
//
// Thoughts and calls of the model are dropped. A model that falls back or begins again
// before its first text is no error; afterwards half of the first text is out, and it is
// errBeganAgain. What it used counts for the turn's budget in every case.
func (w *writer) Write(ctx context.Context, o *quality.Order, yield func(string) error) (out quality.Written, err error) {
	req := chat.ModelRequest{System: o.System, Messages: o.Messages, Step: 1}
	budget := model.TurnBudgetOf(ctx)
	defer func() { budget.Spend(out.Usage) }()
	began := false
	err = w.models.Link(w.keys[o.Agent]).Stream(ctx, &req, func(c *chat.Chunk) error {
		if c.Usage != nil {
			out.Usage = *c.Usage
		}
		if c.Finish != chat.FinishNone {
			out.Finish = c.Finish
		}
		if c.Again && began || c.Switch != nil && began {
			return errBeganAgain
		}
		for i := range c.Parts {
			if p := &c.Parts[i]; p.Call == nil && !p.Thought && p.Text != "" {
				began = true
				if err := yield(p.Text); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil && out.Finish == chat.FinishNone {
		err = errNoFinish
	}
	return out, err
}

// formatter is a quality.Formatter over package channel.
type formatter struct{ *channel.Formatter }

// Form implements quality.Formatter.
func (f formatter) Form() string { return f.Spec().Form }

// Format implements quality.Formatter.
//
// The whole response is encoded only if somebody asks for it: most turns send messages
// alone.
func (f formatter) Format(in quality.Text) *quality.Formatted {
	r := f.Formatter.Format(channel.Input{RequestID: in.RequestID, Text: in.Markdown, Before: in.Before, After: in.After, Subject: in.Subject, Locale: in.Locale, At: in.At, Source: in.Source})
	out := &quality.Formatted{
		Content: r.Content, IsSplit: r.IsSplit, Metadata: r.Metadata.JSON(), Truncated: r.Metadata.Truncated,
		Response: func() jsontext.Value {
			text, _ := json.Marshal(r, jsontext.AllowInvalidUTF8(true))
			return text
		},
	}
	if !r.IsSplit {
		out.Messages = append(out.Messages, channelMessage(r, 1, 1, r.Content, "", &r.Own))
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		out.Messages = append(out.Messages, channelMessage(r, p.Sequence, len(r.Parts), p.Content, p.Indicator, &p.Own))
	}
	for i := range out.Messages {
		out.Segments += out.Messages[i].Segments
	}
	return out
}

// channelMessage is one message of n of a response, as an event.
func channelMessage(r *channel.Response, n, of int, content, indicator string, own *channel.Own) stream.ChannelMessage {
	return stream.ChannelMessage{
		Channel: r.Channel, Sequence: n, Total: of, Content: content, ContentType: r.ContentType(), Indicator: indicator,
		Encoding: string(own.Encoding), Segments: own.Segments, Units: own.Units, Chars: own.Chars,
		Card: own.Card, Bytes: own.Bytes, Subject: own.Subject, Text: own.Text, HTML: own.HTML,
	}
}
