// This file asks models for structured answers in the names of the router and of workflows'
// critics. The ways to ask (a schema of the provider's, a tool, plain JSON) are package
// model's.

package providers

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/router"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// schemas compiles the schemas of questions. A question mostly has the schema of the previous one.
// It is safe for concurrent use.
//
// It keeps one schema for each name. A schema that lists the agents changes when they do,
// and is compiled again then.
type schemas struct {
	mu   sync.Mutex // guards the field below
	last map[string]compiled
}

// compiled is a schema with its text. The text changes with the agents that can be chosen.
type compiled struct {
	text   string
	schema *model.Schema
}

// get returns the schema of a name.
//
// The lock is held while it compiles, so that several turns which begin together compile
// once.
func (s *schemas) get(name string, text jsontext.Value, open []string) (*model.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.last[name]; ok && c.text == string(text) {
		return c.schema, nil
	}
	schema, err := model.NewSchema(name, text, open...)
	if err != nil {
		return nil, err
	}
	if s.last == nil {
		s.last = map[string]compiled{}
	}
	s.last[name] = compiled{string(text), schema}
	return schema, nil
}

// Asker is a router.Asker over models. Critics of workflows ask in the same way.
type Asker struct {
	models  *Models
	schemas schemas
}

// NewAsker returns one that has compiled no schema yet.
func NewAsker(m *Models) *Asker { return &Asker{models: m} }

// Ask implements router.Asker.
//
// The error of an answer that never fits the schema wraps router.ErrUnreadable.
func (a *Asker) Ask(ctx context.Context, q *router.Question) (router.Reply, error) {
	schema, err := a.schemas.get("route", q.Schema, q.Open)
	if err != nil {
		return router.Reply{}, err
	}
	req := chat.ModelRequest{
		System:      q.System,
		Messages:    []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: q.User}}}},
		Step:        1,
		Temperature: q.Temperature,
		MaxTokens:   q.MaxTokens,
		Thinking:    q.Thinking,
	}
	got, err := a.models.Forms().Ask(ctx, a.models.Link(q.Model), &req, schema, model.AskOptions{Attempts: q.MaxAttempts, Lenient: true})
	reply := router.Reply{JSON: got.JSON, Usage: got.Usage, Attempts: got.Attempts, Model: cmp.Or(got.Key, model.DefaultKey)}
	reply.Unreadable = max(reply.Attempts-1, 0)
	if invalid, ok := errors.AsType[*model.Invalid](err); ok {
		err = errors.Join(router.ErrUnreadable, invalid)
		reply.Unreadable = reply.Attempts
	}
	return reply, err
}
