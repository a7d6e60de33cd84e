package model

import (
	"slices"
	"strings"
	"sync"

	"sluice/metrics"
)

// Mode is how a model is asked for a structured answer.
type Mode string

// Modes, as a configuration names them.
const (
	ModeAuto   Mode = "auto"   // ModeSchema at first, and what is left once the model does not take it
	ModeSchema Mode = "schema" // the schema goes along as such
	ModeJSON   Mode = "json"   // any JSON object, the schema in the prompt
	ModePrompt Mode = "prompt" // the schema in the prompt, and nothing else
	ModeTool   Mode = "tool"   // a call of the only tool, which is forced
)

// maxIgnored is after how many answers that ignored the form a model is asked in
// another way.
const maxIgnored = 2

// Forms asks for structured answers, and remembers what form each model takes as long
// as the process runs. It is safe for concurrent use.
type Forms struct {
	asked metrics.Counter
	fixed map[string]Mode // by key; not in it, empty, or ModeAuto: it is found out
	omit  func(key string) Omit

	mu sync.Mutex // guards what follows
	// known is what was learned of models, by key. It is forgotten with the
	// process.
	known map[string]experience
}

// experience is what was learned of a model.
type experience struct {
	mode    Mode // empty: ModeSchema
	ignored int  // answers in a row that ignored it
}

// FormsConfig describes Forms. The zero value works.
type FormsConfig struct {
	// Modes holds the configured modes, by key.
	Modes map[string]Mode
	// Omit returns what was learned to leave out of the requests to a model: one whose
	// requests lose their form is told the schema in the prompt. Nil: nothing is.
	Omit func(key string) Omit
	// Metrics counts the attempts. Nil: they are not counted.
	Metrics *metrics.Registry
}

// NewForms returns Forms that have learned nothing yet.
func NewForms(cfg FormsConfig) *Forms {
	if cfg.Omit == nil {
		cfg.Omit = func(string) Omit { return nil }
	}
	return &Forms{
		asked: cfg.Metrics.Counter("structured_total", "Attempts at a structured answer.", "model", "mode", "outcome"),
		fixed: cfg.Modes,
		omit:  cfg.Omit,
		known: map[string]experience{},
	}
}

// Mode returns how the model of a key is asked now.
func (f *Forms) Mode(key string) Mode { return f.mode(key) }

// mode returns how a model is asked: as its configuration says; by the prompt if it
// has refused a form; as it worked last; else by the schema, which is tried first. It
// is safe for concurrent use.
func (f *Forms) mode(key string) Mode {
	if m := f.fixed[key]; m != "" && m != ModeAuto {
		return m
	}
	if slices.ContainsFunc(f.omit(key), isForm) {
		return ModePrompt
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.known[key].mode; m != "" {
		return m
	}
	return ModeSchema
}

// refused notes that a model refuses a form, and says whether there is another one.
func (f *Forms) refused(key string, mode Mode) bool {
	next, ok := after(mode)
	return ok && f.learn(key, mode, next)
}

// ignored notes an answer that did not fit. In ModeJSON any object is what was asked for.
func (f *Forms) ignored(key string, mode Mode, object bool) {
	if mode == ModeJSON && object {
		return
	}
	f.mu.Lock()
	e := f.known[key]
	e.ignored++
	f.known[key] = e
	f.mu.Unlock()
	if next, ok := after(mode); ok && e.ignored >= maxIgnored {
		f.learn(key, mode, next)
	}
}

// learn changes the mode of a model from one to the next. It returns false if the mode
// is configured.
func (f *Forms) learn(key string, from, to Mode) bool {
	if m := f.fixed[key]; m != "" && m != ModeAuto {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.known[key].mode; m == from || m == "" && from == ModeSchema {
		f.known[key] = experience{mode: to}
	}
	return true
}

// fits notes an answer that did what was asked.
func (f *Forms) fits(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.known[key]; ok && e.ignored > 0 {
		e.ignored = 0
		f.known[key] = e
	}
}

// after returns the mode that is left where one does not work.
func after(mode Mode) (next Mode, ok bool) {
	switch mode {
	case ModeSchema:
		return ModeJSON, true
	case ModeJSON:
		return ModePrompt, true
	}
	return "", false
}

// count adds to sluice_structured_total. Its labels come from the configuration,
// never from an answer.
func (f *Forms) count(a *asking, outcome string) {
	f.asked.Inc(a.out.Key, string(a.mode), outcome)
}

// isForm says whether a member of a request asks for a form.
func isForm(member string) bool {
	switch member {
	case "response_format", "text", "text.format", "output_config.format", "responseJsonSchema", "responseMimeType":
		return true
	}
	return strings.HasPrefix(member, "response_format.")
}
