package model

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/config"
	"sluice/config/file"
	"sluice/internal/check"
)

//go:embed section.json
var sectionSchema string

// DefaultKey is the key of the model that is used where none is named.
const DefaultKey = "default"

// Defaults of a Spec.
const (
	defaultRetries       = 2
	defaultFailures      = 3
	defaultRecovery      = time.Minute
	defaultGeminiModel   = "gemini-flash-latest"
	defaultAnthropicMost = 8192
)

// Section is the section models of the configuration file. It fills specs, in the order
// of the file, and puts what no log may show into c.FileSecrets. It reads the rest of c,
// which is whole by then. protocols are the providers whose protocols can be spoken.
func Section(specs *[]Spec, c *config.Config, protocols []Preset) file.Section {
	presets := withPresets(protocols)
	return file.Section{Name: "models", Schema: strings.Replace(sectionSchema, `"enum": []`, `"enum": [`+providerNames(presets)+`]`, 1), Read: func(models *file.Node) {
		for m := range models.Members() {
			r := reader{node: m, cfg: c, presets: presets, spec: Spec{Key: m.Name()}}
			r.read()
			*specs = append(*specs, r.spec)
		}
		checkFallbacks(models)
		if d := models.Get(DefaultKey); d != nil && c.GeminiAPIKey != "" {
			d.Warn("is used in place of what the GEMINI_* variables say, of which a key is set")
		}
	}}
}

// BudgetSection is the section budget of the configuration file. turnTokens stays 0 if
// there is no limit.
func BudgetSection(turnTokens *int) file.Section {
	const schema = `{
		"title": "Budget",
		"description": "What a turn may use up.",
		"type": "object",
		"additionalProperties": false,
		"properties": {"turn_tokens": {
			"title": "Tokens of a turn",
			"description": "Input, output and thinking of all calls of a turn. Once it is reached, one short call without tools ends the turn. Default: no limit.",
			"type": "integer", "minimum": 100, "maximum": 100000000
		}}
	}`
	return file.Section{Name: "budget", Schema: schema, Read: func(budget *file.Node) {
		*turnTokens, _ = budget.Get("turn_tokens").Int()
	}}
}

// reader reads one model.
type reader struct {
	node *file.Node
	cfg  *config.Config
	spec Spec
	// presets are all providers that there are.
	presets []Preset
}

// read reads all fields, so that all faults of a model come at once. Nothing can be
// said of a model without a provider.
func (r *reader) read() {
	s := &r.spec
	name, ok := r.node.Get("provider").Text()
	if !ok {
		return // which fields there may be depends on it
	}
	p := presetOf(r.presets, name)
	s.Provider = p.Protocol
	if name != p.Protocol {
		s.Preset = name
	}
	r.refuseFields()
	r.endpoint(p)
	r.name()
	r.sampling()
	r.thinking()
	s.ThinkTags = r.word("think_tags", "auto")
	s.Structured = r.word("structured", "auto")
	r.times()
	r.breaker()
	r.fallback()
	r.headers()
	r.extra()
	s.Context, _ = r.node.Get("context_tokens").Int()
}

// refuseFields reports fields that the provider does not have.
func (r *reader) refuseFields() {
	of := map[string][]string{
		"api":        {OpenAI},
		"driver":     {Gemini},
		"think_tags": {OpenAI},
	}
	for _, p := range r.presets {
		if p.Name == p.Protocol && p.Endpoint != "" {
			of["endpoint"] = append(of["endpoint"], p.Name)
			of["api_key"] = append(of["api_key"], p.Name)
		}
	}
	for m := range r.node.Members() {
		if providers := of[m.Name()]; providers != nil && !slices.Contains(providers, r.spec.Provider) {
			m.FaultKey("belongs to " + strings.Join(providers, ", ") + ", not to this provider")
		}
	}
}

// word returns a field that the schema has checked, or its default.
func (r *reader) word(field, otherwise string) string {
	if s, ok := r.node.Get(field).Text(); ok {
		return s
	}
	return otherwise
}

// name reads the model's name. Gemini's stands in the path of a URL, and so may hold
// neither a slash nor a query.
func (r *reader) name() {
	s, n := &r.spec, r.node.Get("model")
	if n == nil {
		switch s.Provider {
		case Gemini:
			s.Model = defaultGeminiModel
		case Simulator:
		default:
			r.node.FaultMissing("model", "is required")
		}
		return
	}
	name, ok := n.Text()
	switch {
	case !ok:
	case !visible(name):
		n.Fault("must be printable characters")
	case s.Provider == Gemini && !check.Segment(name):
		n.Fault("must be a model's name such as " + defaultGeminiModel + ", without a path")
	}
	s.Model = name
}

// sampling reads temperature, output limit and retries. A temperature of null means
// that none is sent, ever: some models refuse it.
func (r *reader) sampling() {
	s := &r.spec
	temperature := r.node.Get("temperature")
	s.NoTemperature = temperature.IsNull()
	if t, ok := temperature.Float(); ok {
		s.Temperature = &t
	}
	s.MaxTokens, _ = r.node.Get("max_output_tokens").Int()
	if s.MaxTokens == 0 && s.Provider == Anthropic {
		s.MaxTokens = defaultAnthropicMost
	}
	s.Retries = defaultRetries
	if n, ok := r.node.Get("retries").Int(); ok {
		s.Retries = n
	}
}

// Bounds of a number of tokens as thinking.
const (
	leastAnthropicThinking = 1024
	mostGeminiThinking     = 32768 // that of Gemini 2.5 Pro
)

// thinking reads a word or a number of tokens. The schema has checked the words;
// numbers have bounds that differ from provider to provider.
func (r *reader) thinking() {
	s, n := &r.spec, r.node.Get("thinking")
	s.Thinking.Word = r.word("thinking", "summary")
	tokens, ok := n.Int()
	if !ok {
		return
	}
	s.Thinking = Thinking{Tokens: tokens}
	switch {
	case s.Provider == OpenAI:
		n.Fault("must be one of off, summary, low, medium, high: this protocol takes no number of tokens")
	case s.Provider == Anthropic && tokens < leastAnthropicThinking:
		n.Fault("must be 1024 or more")
	case s.Provider == Gemini && tokens > mostGeminiThinking:
		n.Fault("must be from -1 to 32768")
	case tokens == 0:
		s.Thinking.Word = "0"
	}
}

// times reads one duration for both timeouts, or an object with one of them. What is
// not given is SLUICE_MODEL_TIMEOUT.
func (r *reader) times() {
	s, n := &r.spec, r.node.Get("timeout")
	s.First, s.Idle = r.cfg.ModelTimeout, r.cfg.ModelTimeout
	if both, ok := duration(n); ok {
		s.First, s.Idle = both, both
	}
	if first, ok := duration(n.Get("first")); ok {
		s.First = first
	}
	if idle, ok := duration(n.Get("idle")); ok {
		s.Idle = idle
	}
}

// duration reads a duration of a timeout.
func duration(n *file.Node) (time.Duration, bool) {
	text, ok := n.Text()
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > 10*time.Minute {
		n.Fault("must be a duration from 100ms to 10m, with its unit, such as 15s or 500ms")
		return 0, false
	}
	return d, true
}

// breaker reads "failures, recovery, half-open calls". Without it a model has
// the defaults of this package, which are not those of SLUICE_GEMINI_BREAKER: a
// model that has a fallback may give up sooner.
func (r *reader) breaker() {
	s, n := &r.spec, r.node.Get("breaker")
	s.Breaker = breaker.Config{Service: "model:" + s.Key, Failures: defaultFailures, Recovery: defaultRecovery, HalfOpenCalls: breaker.DefaultHalfOpenCalls}
	text, ok := n.Text()
	if !ok {
		return
	}
	b, err := breaker.Parse(text)
	if err != nil {
		n.Fault(err.Error())
		return
	}
	s.Breaker.Failures, s.Breaker.Recovery, s.Breaker.HalfOpenCalls = uint32(b.Failures), b.Recovery, uint32(b.HalfOpenCalls)
}
