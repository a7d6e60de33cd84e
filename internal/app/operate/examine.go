// This file tries the abilities that a gateway needs of a model, for sluice doctor: a word, a call
// of a tool, a structured answer. Members of requests that the models refuse on the way are learned
// as in a running gateway, and reported.

package operate

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Examined has the results of the trials of a model.
//
// A trial that was not made, because the model gave no word, has Tried false.
type Examined struct {
	Key, Provider, Model string
	Word, Call, Object   Trial
	// Forced says that the model called the tool only when it was obliged to.
	Forced  bool
	Mode    string   // how it is asked for structured answers
	Learned []string // the members that its requests go without
	Context int      // tokens, as configured; 0: not known
}

// Trial is one thing that a model was asked for.
type Trial struct {
	Tried   bool  // false if an earlier trial has failed
	Err     error // nil: it came
	Elapsed time.Duration
	Usage   chat.Usage
}

// Class returns the class of the trial's error, as for a fallback, or an empty text.
func (t Trial) Class() string { return model.Class(t.Err) }

// errNoCall is the error of an answer without the call that was asked for.
var errNoCall = errors.New("the answer held no call of the tool")

// ExamineModels asks each model of cfg for a word, a call of a tool and an object, one
// after the other, and calls show with each model at once. Nothing falls back.
//
// A failing model is not an error: its trials report that. The error is that of models that cannot
// be opened, or of ctx.
func ExamineModels(ctx context.Context, cfg settings.Config, show func(Examined), log zerolog.Logger) error {
	models, err := openModels(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer models.Close()
	for _, m := range models.All() {
		e := examination{ctx: log.WithContext(ctx), cfg: cfg, forms: models.Forms(), model: m}
		show(e.runTrials())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// examination is that of one model.
type examination struct {
	ctx   context.Context
	cfg   settings.Config
	forms *model.Forms
	model providers.Model
}

// runTrials tries the abilities one after the other. Once the model has given a word, a failure
// does not prevent the other trials.
func (e *examination) runTrials() Examined {
	key := e.model.Key()
	out := Examined{Key: key, Provider: e.model.Provider(), Model: e.model.Name()}
	for _, spec := range e.cfg.Models {
		if spec.Key == key {
			out.Context = spec.Context
		}
	}
	out.Word = e.makeTrial(e.askWord)
	if out.Word.Err == nil {
		out.Call = e.makeTrial(func(ctx context.Context, t *Trial) error { return e.askCall(ctx, t, false) })
		if out.Call.Err == errNoCall {
			out.Forced = true
			out.Call = e.makeTrial(func(ctx context.Context, t *Trial) error { return e.askCall(ctx, t, true) })
		}
		out.Object = e.makeTrial(e.askObject)
	}
	out.Mode = string(e.forms.Mode(key))
	out.Learned = e.model.Learned().Omit()
	return out
}

// makeTrial makes one trial, with the timeout of a turn.
func (e *examination) makeTrial(ask func(context.Context, *Trial) error) Trial {
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.TurnTimeout())
	defer cancel()
	t := Trial{Tried: true}
	began := time.Now()
	t.Err = ask(ctx, &t)
	t.Elapsed = time.Since(began)
	return t
}

// newQuestion is a request without history.
func newQuestion(text string) *chat.ModelRequest {
	return &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}}}}
}

// askWord asks for one word: is the model there, and does the key fit?
func (e *examination) askWord(ctx context.Context, t *Trial) error {
	return e.model.Stream(ctx, newQuestion("Answer with the one word: ready"), t.recordUsage)
}

// recordUsage records the tokens that an answer has used.
func (t *Trial) recordUsage(c *chat.Chunk) error {
	if c.Usage != nil {
		t.Usage = *c.Usage
	}
	return nil
}

// askCall has the model call a tool. With force it must; models that cannot be
// forced are asked again without.
//
// errNoCall is returned as it is, for run to compare it.
func (e *examination) askCall(ctx context.Context, t *Trial, force bool) error {
	req := newQuestion("What is the weather in Paris? Use the tool get_weather.")
	req.ForceTool = force
	req.Tools = &tool.Set{Specs: []tool.Spec{{
		Name: "get_weather", Description: "Tells the weather in a city.",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}}
	called := false
	err := e.model.Stream(ctx, req, func(c *chat.Chunk) error {
		for i := range c.Parts {
			called = called || c.Parts[i].Call != nil
		}
		return t.recordUsage(c)
	})
	if err == nil && !called {
		err = errNoCall
	}
	return err
}

// askObject asks for a structured answer, by the way that turns would take.
func (e *examination) askObject(ctx context.Context, t *Trial) error {
	schema, err := model.NewSchema("capital", jsontext.Value(`{"type":"object","properties":{"capital":{"type":"string"}},"required":["capital"],"additionalProperties":false}`))
	if err != nil {
		return err
	}
	got, err := e.forms.Ask(ctx, e.model, newQuestion("What is the capital of France?"), schema, model.AskOptions{})
	t.Usage = got.Usage
	return err
}
