// This file asks models in the names of the checks of answers: planner, judge, refinement.

package providers

import (
	"context"
	"errors"

	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
)

// checkAttempts is how often planner and judge are asked at most.
const checkAttempts = 2

// CheckAsker is a quality.Asker over models.
type CheckAsker struct {
	models  *Models
	schemas schemas
}

// NewCheckAsker returns one that has compiled no schema yet.
func NewCheckAsker(m *Models) *CheckAsker { return &CheckAsker{models: m} }

// Ask implements quality.Asker.
//
// The temperature is 0: a judge should say the same of the same answer.
func (a *CheckAsker) Ask(ctx context.Context, q *quality.Question) (quality.Reply, error) {
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
	purpose := record.Judge
	if q.Name == "plan" {
		purpose = record.Planner
	}
	got, err := a.models.Forms().Ask(record.For(ctx, purpose), a.models.Link(q.Model), &req, schema, model.AskOptions{Attempts: checkAttempts, Lenient: true})
	return quality.Reply{JSON: got.JSON, Usage: got.Usage}, err
}

// Why a refinement cannot be used, although the model answered.
var (
	errBeganAgain = errors.New("the model began again when a part of its text was out")
	errNoFinish   = errors.New("the text ended without a finish reason")
)

// Writer is a quality.Writer over models.
type Writer struct {
	models *Models
	keys   map[string]string // of agents; none: default
}

// NewWriter returns one that asks the models of agents by keys.
func NewWriter(m *Models, keys map[string]string) *Writer { return &Writer{models: m, keys: keys} }

// Write implements quality.Writer.
//
// Thoughts and calls of the model are dropped. A model that falls back or begins again before its
// first text is not an error. Afterwards half of a text is out, and the error is errBeganAgain. The
// turn's budget counts the model's usage in every case.
func (w *Writer) Write(ctx context.Context, o *quality.Order, yield func(string) error) (out quality.Written, err error) {
	req := chat.ModelRequest{System: o.System, Messages: o.Messages, Step: 1}
	budget := chat.TurnOf(ctx).Budget
	defer func() { budget.Spend(out.Usage) }()
	began := false
	ctx = record.For(ctx, record.Refinement)
	err = w.models.Link(w.keys[o.Agent]).Stream(ctx, &req, func(c *chat.Chunk) error {
		if c.Usage != nil {
			out.Usage = *c.Usage
		}
		if c.Finish != chat.FinishNone {
			out.Finish = c.Finish
		}
		if c.Restarted && began || c.Switch != nil && began {
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
