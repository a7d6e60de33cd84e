// Package gemini is a Model over the Gemini API (generateContent, v1beta).
//
// All drivers share the meaning of a call. Package model has the part that other APIs share, and
// codec has the request's bytes and the shape of the answer. A driver only opens an answer and
// reads its raw chunks. NewREST makes a Model that speaks HTTP itself, NewSDK one that goes through
// generative-ai-go, by package sdk. The build tag nosdk leaves out package sdk and the SDK.
//
// Requests are rendered by hand, byte for byte in the documented names. The order of members and
// the bytes of the model's own parts must stay, because signatures cover them. Answers are decoded
// token by token into chunks, without the values that nobody reads. A tool's schema is reduced to
// the part that the API takes (schema.go), once for a set of tools.
//
// Facts about the API that are not in its reference were measured, and stand next to the code
// that relies on them.
package gemini

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// service is the name of the upstream in errors and in the breaker.
const service = "gemini"

// provider is the name of the protocol.
const provider = "gemini"

const (
	keyHeader = "X-Goog-Api-Key"
	logEvent  = "gemini_api" // begins the names of the log's events
	retries   = 2            // of a call (docs/design.md, "How a turn ends")
)

// Config describes a Model. Its zero value works, but for the key that the real
// API wants.
type Config struct {
	// APIKey is sent as x-goog-api-key and appears nowhere else. Empty sends no
	// key header.
	APIKey config.Secret
	// Model is the model's name, with or without "models/" in front of it.
	Model string
	// BaseURL is an absolute http or https URL without query; "/v1beta/…" is
	// appended to it.
	BaseURL string
	// Thinking is "summary" (or empty: ask for thought summaries), "off" (say
	// nothing about thinking), a level "low", "medium" or "high" (Gemini 3), or a
	// budget in tokens from -1, which leaves it to the model (Gemini 2.5). A level
	// or a budget asks for summaries as well.
	Thinking string
	// Timeout limits the silence of the service: until the first chunk of a call,
	// its retries included, and between two chunks of an answer. Bytes that do not
	// complete a chunk do not count.
	Timeout time.Duration
	// Driver is the driver that the wiring chooses: "rest" or DriverSDK.
	Driver string
	// Breaker configures the breaker of the service.
	Breaker breaker.Config
	// Transport carries the requests; nil means model.NewTransport(Proxy) with a pool
	// for HTTP/2, which Close then closes. Redirects are never followed, whatever it is.
	Transport http.RoundTripper
	// Proxy is that of http.Transport; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Version makes the User-Agent, sluice/<version>.
	Version string
	// Metrics gets the attempts, by outcome, each at its end. Nil: they are not counted.
	Metrics *metrics.Registry
	// Key names the model in the log and in metrics, where it is one of several.
	Key string
	// Gate admits attempts; nil: any is.
	Gate model.Gate

	jitter func(limit time.Duration) time.Duration // nil: random
}

// Model calls one Gemini model. It is safe for concurrent use.
type Model = model.Model

// NewREST returns a Model that talks to the API over HTTP, with server-sent
// events as its answers. An error is about cfg and does not hold the key.
func NewREST(cfg Config) (*Model, error) { return newModel(cfg, nil) }

// NewSDK returns a Model that makes its calls through
// github.com/google/generative-ai-go. Requests, answers and errors are those of
// NewREST. An error is about cfg, or about a build with the tag nosdk, and does not hold the key.
func NewSDK(cfg Config) (*Model, error) {
	d, err := openSDK()
	if err != nil {
		return nil, err
	}
	return newModel(cfg, d)
}

// driver makes the source of a Model; nil: that of the frame.
type driver func(h *model.HTTP, c *codec, name string) model.Source

// newModel fills in cfg's defaults and makes a Model of it.
func newModel(cfg Config, d driver) (*Model, error) {
	thinking, err := thinkingMembers(cfg.Thinking)
	if err := errors.Join(err, cfg.normalize()); err != nil {
		return nil, err
	}
	c := newCodec(generation{thinking: thinking, levels: levelsOf(cfg.Model), fixed: true, room: roomFor(cfg.Thinking), warm: usesTemperature(cfg.Model)})
	c.sentinel = signsCalls(cfg.Model) // a client's calls come without signatures to an only model too
	if cfg.Key != "" {
		c.maker = model.Spec{Key: cfg.Key, Model: cfg.Model}.Maker()
	}
	return d.openModel(cfg.newFrame(c), c)
}

// openModel makes a Model of f whose calls go the way of d.
func (d driver) openModel(f model.Frame, c *codec) (*Model, error) {
	if d != nil {
		h, err := model.NewHTTP(f.Target, f.Policy, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Service, err)
		}
		f.Source = d(h, c, f.Name)
	}
	return model.NewModel(f)
}

// Preset returns the protocol's name in the configuration, its endpoint and the variables of its
// key.
func Preset() model.Preset {
	return model.Preset{Name: model.Gemini, Protocol: model.Gemini, Endpoint: DefaultBaseURL, Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}
}

// New returns the Model that spec configures. An error is about spec and holds no
// secret.
func New(spec model.Spec, opts model.Options) (*Model, error) {
	settings, err := settingsOf(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Service(), err)
	}
	c := newCodec(settings)
	c.maker, c.sentinel = spec.Maker(), signsCalls(spec.Model)
	wire := model.Wire{URL: callURL(strings.TrimRight(spec.Endpoint, "/"), strings.TrimPrefix(spec.Model, "models/")), KeyHeader: keyHeader}
	if spec.Provider == provider {
		wire.Event = logEvent
	}
	f, err := spec.Frame(wire, c, opts)
	if err != nil {
		return nil, err
	}
	if spec.Driver != DriverSDK {
		return driver(nil).openModel(f, c)
	}
	d, err := openSDK()
	if err != nil {
		return nil, err
	}
	return d.openModel(f, c)
}

// newFrame returns the description of a Model of cfg.
func (cfg *Config) newFrame(c *codec) model.Frame {
	f := model.Frame{
		Name:    cfg.Model,
		Service: service,
		Event:   logEvent,
		Codec:   c,
		Target:  cfg.newTarget(),
		First:   cfg.Timeout,
		Idle:    cfg.Timeout,
		Retries: retries,
		Policy:  model.PolicyGemini,
		Gate:    cfg.Gate,
		Breaker: cfg.newBreaker(),
		Secrets: []string{cfg.APIKey.Reveal()},
		Metrics: cfg.Metrics,
		Jitter:  cfg.jitter,
	}
	if cfg.Key != "" {
		f.Key, f.Provider, f.Maker = cfg.Key, provider, c.maker
	}
	return f
}

// newBreaker makes the breaker of the service.
func (cfg *Config) newBreaker() *breaker.Breaker {
	b := cfg.Breaker
	b.Service, b.TurnOf = service, chat.TurnKeyOf
	if b.Failures == 0 {
		b.Failures, b.Recovery = breakerFailures, breakerRecovery
	}
	return breaker.New(b)
}

// Offline reports whether the built-in offline model serves: without a key, and with Google's own
// server, because other servers might not need a key.
func (cfg Config) Offline() bool { return cfg.APIKey == "" && cfg.BaseURL == DefaultBaseURL }

// newTarget returns where requests go. The key travels in a header, never in the
// URL, which proxies log.
func (cfg *Config) newTarget() model.Target {
	t := model.Target{
		URL:       callURL(cfg.BaseURL, cfg.Model),
		Header:    http.Header{"User-Agent": {model.UserAgent(cfg.Version)}},
		Transport: cfg.Transport,
		Proxy:     cfg.Proxy,
	}
	if cfg.APIKey != "" {
		t.Header.Set(keyHeader, cfg.APIKey.Reveal())
	}
	return t
}

// callURL returns where the calls of a model go.
func callURL(base, name string) string {
	return base + "/v1beta/models/" + url.PathEscape(name) + ":streamGenerateContent?alt=sse"
}

// normalize fills in defaults and reports every value that cannot work.
func (cfg *Config) normalize() error {
	if cfg.Model == "" {
		cfg.Model = defaultModel
	}
	cfg.Model = strings.TrimPrefix(cfg.Model, "models/")
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	var faults []error
	if err := check.BaseURL(cfg.BaseURL); err != nil {
		faults = append(faults, fmt.Errorf("gemini: the base URL %w", err))
	}
	if !check.Key(cfg.APIKey.Reveal()) {
		faults = append(faults, errors.New("gemini: the API key holds characters that no header may hold"))
	}
	if cfg.Timeout < 0 {
		faults = append(faults, errors.New("gemini: the timeout is negative"))
	}
	return errors.Join(faults...)
}
