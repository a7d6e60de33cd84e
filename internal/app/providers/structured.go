// This file asks models for the objects that structured answers are.

package providers

import (
	"context"
	"errors"
	"strings"
	"sync"

	"sluice/internal/model"
	"sluice/internal/quality/structured"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
)

// formAttempts is how often a model is asked for one object at most.
const formAttempts = 2

// maxFormWork bounds the compilation of a client's schema, in units of tool.Compile. It allows 64
// KiB of equal properties, or of properties with 200 different forms.
const maxFormWork = 2000

// AnswerForms makes askers of the forms that clients want. It is safe for concurrent use.
//
// The last schemas stay compiled: a program sends the same one with each request.
type AnswerForms struct {
	models *Models

	mu   sync.Mutex // guards the field below
	last []compiled // the newest last
}

// maxForms is how many schemas stay compiled.
const maxForms = 8

// NewAnswerForms returns one that has compiled no schema yet.
func NewAnswerForms(m *Models) *AnswerForms { return &AnswerForms{models: m} }

// Asker returns an asker for objects of a form, with the model of a key. An empty key is the
// default. The error names the fault of the schema.
func (f *AnswerForms) Asker(form *chat.AnswerForm, key string) (structured.Asker, error) {
	schema, err := f.compileForm(form)
	if err != nil {
		return nil, err
	}
	return &formAsker{f.models, key, schema}, nil
}

// compileForm returns a compiled schema.
//
// Other requests do not wait while one compiles; two of them may compile the same.
func (f *AnswerForms) compileForm(form *chat.AnswerForm) (*model.Schema, error) {
	name, text := strings.ToLower(form.Name), string(form.Schema)
	if s := f.findCompiled(name, text); s != nil {
		return s, nil
	}
	s, err := model.NewClientSchema(name, form.Schema, maxFormWork)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) == maxForms {
		f.last = append(f.last[:0:0], f.last[1:]...)
	}
	f.last = append(f.last, compiled{text, s})
	return s, nil
}

// findCompiled returns a compiled schema, or nil.
func (f *AnswerForms) findCompiled(name, text string) *model.Schema {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.last {
		if c.text == text && c.schema.Name() == name {
			return c.schema
		}
	}
	return nil
}

// formAsker is a structured.Asker over models.
type formAsker struct {
	models *Models
	key    string
	schema *model.Schema
}

// Ask implements structured.Asker.
//
// The limit of the request is the client's word, so that no attempt may go beyond it.
func (a *formAsker) Ask(ctx context.Context, req *chat.ModelRequest) (structured.Reply, error) {
	opts := model.AskOptions{Attempts: formAttempts, Lenient: true, MaxTokens: req.MaxTokens, Foreign: true}
	got, err := a.models.Forms().Ask(record.For(ctx, record.Structured), a.models.Link(a.key), req, a.schema, opts)
	reply := structured.Reply{JSON: got.JSON, Usage: got.Usage, Key: got.Key, Text: got.Cut}
	if invalid, ok := errors.AsType[*model.Invalid](err); ok {
		kind := structured.ErrInvalid
		if invalid.Cut {
			kind = structured.ErrCut
		}
		err = errors.Join(kind, invalid)
	}
	return reply, err
}
