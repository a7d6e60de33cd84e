package model

import (
	"crypto/sha256"
	"sync"
	"time"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
)

// Mode is how a model is asked for a structured answer.
type Mode string

// Modes, as a configuration names them.
const (
	modeAuto   Mode = "auto"   // the first of the three below that the model takes
	ModeSchema Mode = "schema" // the schema goes along as such
	modeJSON   Mode = "json"   // any JSON object, the schema in the prompt
	modePrompt Mode = "prompt" // the schema in the prompt, and nothing else: that is always possible
	modeTool   Mode = "tool"   // a forced call of the only tool
)

// weakerMode returns the mode to try if m fails, or "".
func (m Mode) weakerMode() Mode {
	switch m {
	case ModeSchema:
		return modeJSON
	case modeJSON:
		return modePrompt
	}
	return ""
}

// avoidFor is how long a model is not asked in a mode that it has refused or ignored, and
// how long it is remembered that it did.
const avoidFor = 10 * time.Minute

// maxIgnored is how many answers may ignore the mode before the question is put in
// another way.
const maxIgnored = 2

// Forms asks for structured answers, and remembers for a while which modes a model does
// not take. It is safe for concurrent use.
//
// A mode that the service refuses is avoided at once. A mode whose answers held no JSON is avoided
// only after two different requests, because one input can confuse a capable model.
type Forms struct {
	attempts metrics.Counter
	fixed    map[string]Mode // by key; not in it, empty, or modeAuto: it is found out
	limits   map[string]int

	mu     sync.Mutex // guards the field below
	habits map[habitOf]habit
}

// habitOf is a model and a mode.
type habitOf struct {
	key  string
	mode Mode
}

// habit records how a model takes a mode.
type habit struct {
	until time.Time // when it may be asked for again
	// The last request whose answers held no JSON, and when it was made.
	without   fingerprint
	withoutAt time.Time
}

// fingerprint distinguishes requests.
type fingerprint [sha256.Size]byte

// fingerprintOf returns the fingerprint of the last message. A question that is put again is the
// same request, whatever else was said meanwhile.
func fingerprintOf(req *chat.ModelRequest, s *Schema) fingerprint {
	b := []byte(s.name)
	if n := len(req.Messages); n > 0 {
		for i := range req.Messages[n-1].Parts {
			b = append(append(b, 0), req.Messages[n-1].Parts[i].Text...)
		}
	}
	return sha256.Sum256(b)
}

// FormsConfig describes Forms. The zero value works.
type FormsConfig struct {
	// Modes holds the configured modes, by key.
	Modes map[string]Mode
	// Limits holds the limit of the visible part of an answer in tokens, by key; 0 turns the limit
	// off.
	Limits map[string]int
	// Metrics counts the attempts. Nil: they are not counted.
	Metrics *metrics.Registry
}

// NewForms returns Forms that have learned nothing yet.
func NewForms(cfg FormsConfig) *Forms {
	return &Forms{
		attempts: cfg.Metrics.Counter("structured_total", "Attempts at a structured answer.", "model", "mode", "outcome"),
		fixed:    cfg.Modes,
		limits:   cfg.Limits,
		habits:   map[habitOf]habit{},
	}
}

// Mode returns how the model of a key is asked now.
func (f *Forms) Mode(key string) Mode {
	return f.chooseMode(key, func(Mode) bool { return false })
}

// chooseMode returns the first mode that a model may be asked in, but for those that the caller
// leaves out.
func (f *Forms) chooseMode(key string, leftOut func(Mode) bool) Mode {
	if m, ok := f.configuredMode(key); ok {
		return m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	mode := ModeSchema
	for mode != modePrompt && (time.Now().Before(f.habits[habitOf{key, mode}].until) || leftOut(mode)) {
		mode = mode.weakerMode()
	}
	return mode
}

// configuredMode returns the mode that the configuration gives a model, if it gives one.
func (f *Forms) configuredMode(key string) (Mode, bool) {
	m := f.fixed[key]
	return m, m != "" && m != modeAuto
}

// recordRefusal records that a model refuses a mode, and reports whether there is a weaker one.
func (f *Forms) recordRefusal(key string, mode Mode) bool {
	if _, ok := f.configuredMode(key); ok || mode.weakerMode() == "" {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.habits[habitOf{key, mode}] = habit{until: time.Now().Add(avoidFor)}
	return true
}

// recordNoJSON records a request whose answers in a mode held no JSON.
func (f *Forms) recordNoJSON(key string, mode Mode, request fingerprint) {
	if _, ok := f.configuredMode(key); ok || mode.weakerMode() == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, of := time.Now(), habitOf{key, mode}
	h := f.habits[of]
	if h.withoutAt.IsZero() || now.Sub(h.withoutAt) > avoidFor || h.without == request {
		h.without, h.withoutAt = request, now
	} else {
		h = habit{until: now.Add(avoidFor)}
	}
	f.habits[of] = h
}

// recordFit records that a model takes a mode well.
func (f *Forms) recordFit(key string, mode Mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.habits, habitOf{key, mode})
}

// countAttempt adds to sluice_structured_total. Its labels come from the configuration,
// never from an answer.
func (f *Forms) countAttempt(a *asking, outcome string) {
	f.attempts.Inc(a.out.Key, string(a.mode), outcome)
}
