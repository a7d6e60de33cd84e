package model

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
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

// Section is the section models of the configuration file. It fills specs, in the order of the
// file. silence is the default timeout of a model, and key that of the GEMINI_* variables; both are
// complete when the section is read. protocols are the providers with a codec.
func Section(specs *[]Spec, silence *time.Duration, key *config.Secret, protocols []Preset) file.Section {
	presets := withPresets(protocols)
	return file.Section{Name: "models", Schema: strings.Replace(sectionSchema, `"enum": []`, `"enum": [`+providerNames(presets)+`]`, 1), Read: func(models *file.Node) {
		for m := range models.Members() {
			r := reader{node: m, presets: presets}
			r.readModel(*silence)
			*specs = append(*specs, r.spec)
		}
		checkFallbacks(models)
		if d := models.Get(DefaultKey); d != nil && *key != "" {
			d.Warn("is used in place of what the GEMINI_* variables say, of which a key is set")
		}
	}}
}

// BudgetSection is the section budget of the configuration file. turnTokens stays 0 without a
// limit.
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
	spec Spec
	// presets are all providers that there are.
	presets []Preset
}

// readModel reads all fields, so that all faults of a model come at once. A model without a
// provider is not checked further.
//
// A breaker has the defaults of this package, not those of SLUICE_GEMINI_BREAKER: a model with a
// fallback may give up sooner.
func (r *reader) readModel(silence time.Duration) {
	r.spec = Spec{
		Key: r.node.Name(), Generation: Generation{Thinking: Thinking{Word: "summary"}, ThinkTags: "auto", Structured: "auto", Cache: CacheAuto},
		First: silence, Idle: silence, Retries: defaultRetries,
		Breaker: breaker.Config{
			Service: "model:" + r.node.Name(), Failures: defaultFailures, Recovery: defaultRecovery, HalfOpenCalls: breaker.DefaultHalfOpenCalls,
		},
		FallbackOn: DefaultFallbackOn(),
	}
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
	switch s.Provider {
	case Gemini:
		s.Model, s.Driver = defaultGeminiModel, "rest"
	case Anthropic:
		s.MaxTokens = defaultAnthropicMost
	}
	r.node.Decode(s)
	s.Headers = r.node.Get("headers").Headers(refusedHeaders)
	s.NoTemperature = r.node.Get("temperature").Kind() == 'n'
	r.refuseFields()
	r.readEndpoint(p)
	r.readPrefill()
	r.checkName()
	r.checkThinking()
	r.checkExtra()
	if s.Cache == CacheMarks && s.Provider != OpenAI {
		r.node.Get("cache").Fault("must be auto, off or long: exact marks belong to provider openai and its presets")
	}
	if s.Provider == Gemini && s.Cache == CacheLong {
		r.node.Get("cache").Fault("must be auto or off: gemini keeps what it keeps by itself")
	}
}

// refuseFields reports fields that the provider does not have.
func (r *reader) refuseFields() {
	of := map[string][]string{
		"api":        {OpenAI},
		"driver":     {Gemini},
		"think_tags": {OpenAI},
		"prefill":    {OpenAI},
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

// readPrefill reads whether a broken answer continues by prefill. The default is true for servers
// whose API documents a member for it.
func (r *reader) readPrefill() {
	s, n := &r.spec, r.node.Get("prefill")
	if n != nil && s.Provider == OpenAI && s.API != ChatAPI {
		n.FaultKey("belongs to api chat")
		return
	}
	u, err := url.Parse(s.Endpoint)
	beta := err == nil && u.Hostname() == "api.deepseek.com" && strings.HasPrefix(u.Path, "/beta/")
	s.Prefill = s.API == ChatAPI && (beta || slices.Contains([]string{"mistral", "vllm", "llamacpp"}, s.Preset))
	if on, ok := n.Bool(); ok {
		s.Prefill = on
	}
}

// checkName checks the model's name. Gemini's stands in the path of a URL, and so may hold
// neither a slash nor a query.
func (r *reader) checkName() {
	s, n := &r.spec, r.node.Get("model")
	switch {
	case n == nil && s.Model == "" && s.Provider != Simulator:
		r.node.FaultMissing("model", "is required")
	case n == nil || !n.Sound():
	case !isPrintable(s.Model):
		n.Fault("must be printable characters")
	case s.Provider == Gemini && !check.Segment(s.Model):
		n.Fault("must be a model's name such as " + defaultGeminiModel + ", without a path")
	}
}

// Bounds of a number of tokens as thinking.
const (
	leastAnthropicThinking = 1024
	mostGeminiThinking     = 32768 // that of Gemini 2.5 Pro
)

// checkThinking checks a number of tokens, whose bounds differ from provider to provider. The
// schema has checked the words.
func (r *reader) checkThinking() {
	s, n := &r.spec, r.node.Get("thinking")
	tokens, ok := n.Int()
	if !ok {
		return
	}
	s.Thinking.Word = ""
	if wrong := wrongThinking(s.Provider, tokens); wrong != "" {
		n.Fault(wrong)
	} else if tokens == 0 {
		s.Thinking.Word = "0"
	}
}

// wrongThinking returns why a number of tokens is invalid, or "".
func wrongThinking(provider string, tokens int) string {
	switch {
	case provider == OpenAI:
		return "must be one of off, summary, low, medium, high: this protocol takes no number of tokens"
	case provider == Anthropic && tokens < leastAnthropicThinking:
		return "must be 1024 or more"
	case provider == Gemini && tokens > mostGeminiThinking:
		return "must be from -1 to 32768"
	}
	return ""
}
