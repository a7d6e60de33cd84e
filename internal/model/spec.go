package model

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/breaker"
	"sluice/internal/base/config"
)

// Spec is one configured model (docs/models.md has the meaning and the range of each
// field). A codec is made of it, and the frame around it.
type Spec struct {
	Key      string `key:"@"` // of the section models; the breaker and the service are "model:"+Key
	Provider string // the protocol: openai, anthropic, gemini or simulator
	Preset   string // the name of the preset, if one was used: ollama, groq, …
	API      string `key:"api"` // openai: chat or responses
	Endpoint string // absolute URL, with the path that requests go to
	// Model is the name that requests have; APIKey may be empty, as for
	// servers of one's own.
	Model  string `key:"model"`
	APIKey config.Secret
	// MissingKey is the variable of the preset's key if that is not set; empty: there is a key,
	// or no key is needed.
	MissingKey string
	Driver     string `key:"driver"` // gemini: rest or sdk

	Generation

	// First and Idle bound the silence before the first chunk, and between two.
	First   time.Duration  `key:"timeout,timeout/first" from:"100ms" to:"10m"`
	Idle    time.Duration  `key:"timeout,timeout/idle" from:"100ms" to:"10m"`
	Retries int            `key:"retries"`
	Breaker breaker.Config `key:"breaker"`
	// Fallback holds keys, in the order in which they are asked.
	Fallback   []string `key:"fallback"`
	FallbackOn []string `key:"fallback_on"` // classes
	// AfterText is the rule for a call that fails after its first text.
	AfterText AfterText `key:"fallback_after_text"`
	Prefill   bool      // a broken answer continues by a last message of the model
	// Headers are sent with each request. Values are secrets as a rule.
	Headers map[string]config.Secret
	Extra   jsontext.Value `key:"extra"`          // an object; empty: none
	Context int            `key:"context_tokens"` // tokens; 0: unknown
}

// AfterText is the rule for a call that fails after its first text. Its zero value ends the answer.
type AfterText struct {
	// Restarts has the answer begin again where the shown text can be taken back, else continue.
	Restarts bool   `key:"."`
	Word     string `key:"."` // "continue": the answer continues everywhere
}

// IsOn reports whether an answer goes on behind a failure.
func (a AfterText) IsOn() bool { return a.Restarts || a.Word != "" }

// Generation holds the options of a call besides its text.
type Generation struct {
	Temperature   *float64 `key:"temperature"` // nil: not sent, unless the caller asks for one
	NoTemperature bool     // never sent, even if the caller asks
	MaxTokens     int      `key:"max_output_tokens"` // visible part; 0: not sent
	Thinking      Thinking `key:"thinking"`
	ThinkTags     string   `key:"think_tags"` // chat: auto, open or off
	Structured    string   `key:"structured"` // auto, schema, json, tool or prompt
	Cache         string   `key:"cache"`      // of the provider: auto (or empty), off, long or marks
}

// Values of the provider's cache; empty means CacheAuto.
const (
	CacheAuto = "auto"
	CacheOff  = "off"
	CacheLong = "long"
	// CacheMarks asks for exact marks, which other hosts than OpenAI's may know.
	CacheMarks = "marks"
)

// Thinking is the configured reasoning of a model: a word, or a number of tokens if Tokens is not
// 0.
type Thinking struct {
	Word   string `key:"."` // off, summary, low, medium or high; gemini: also 0, a budget of none
	Tokens int    `key:"."`
}

// Off says that the model is asked not to think, so that all tokens are visible.
func (t Thinking) Off() bool { return t.Word == "off" }

// For returns the reasoning of a call whose caller asks for a level, or t if level is empty. A
// model that is set not to think does not.
func (t Thinking) For(level string) Thinking {
	if level == "" || t.Off() || t.Word == "0" {
		return t
	}
	return Thinking{Word: level}
}

// thinkingRoom is the number of tokens that the limit of an answer adds for hidden thoughts,
// because providers count them.
const thinkingRoom = 2048

// Room returns the limit to send for a request that may ask the model not to think: silent says
// that it does.
func (t Thinking) Room(visible int, silent bool) int {
	if silent {
		return visible
	}
	return t.wireLimit(visible)
}

// wireLimit returns the limit to send for an answer whose visible part has at most
// visible tokens.
func (t Thinking) wireLimit(visible int) int {
	switch {
	case t.Off():
		return visible
	case t.Tokens > 0:
		return visible + max(t.Tokens, thinkingRoom)
	}
	return visible + thinkingRoom
}
