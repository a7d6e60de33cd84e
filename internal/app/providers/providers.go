// Package providers opens the language models of a configuration, each by the package of its
// provider's protocol, and puts fallbacks behind them. Everything else asks for a model by
// its key (Link) and does not know which provider is behind it. It also asks models in the
// names of those who need more than a stream: the router, critics, checks.
//
// The offline model is a simulator that is served over loopback, so that a gateway without
// a key runs the same code as one with it.
package providers

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/gemini"
	"sluice/internal/model/openai"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
)

// The offline model works without a key.
const (
	OfflineModel = offline.Version
	// It answers at about the speed of the real one: OfflineFirst is the pause before
	// its first chunk, OfflinePace the one between two chunks.
	OfflineFirst = 150 * time.Millisecond
	OfflinePace  = 35 * time.Millisecond
)

// Model is an open model, whatever its provider.
type Model interface {
	model.Link
	Provider() string
	Breaker() *breaker.Breaker
	Learned() *model.Learned
	Close()
}

// Config is what models are opened with.
type Config struct {
	Settings config.Config
	Models   []model.Spec // those of the configuration file
	Version  string       // of the program, as upstreams see it
	Log      zerolog.Logger
	Metrics  *metrics.Registry
	// Transport is used in place of that of a model's package, for all providers but the
	// simulator. nil: that.
	Transport http.RoundTripper
	// Around wraps a transport. nil leaves transports as they are.
	Around func(http.RoundTripper) http.RoundTripper
	// Gate admits attempts at calls of the model with a key, "gemini" for that of the GEMINI_*
	// variables: see model.Gate. nil: any is.
	Gate func(ctx context.Context, key string) (leave func(tokens int), err error)
}

// geminiKey names the model of the GEMINI_* variables where keys of models are named.
const geminiKey = "gemini"

// gateOf returns the gate that admits attempts at calls of one model.
func (m *Models) gateOf(key string) model.Gate {
	if m.cfg.Gate == nil {
		return nil
	}
	return func(ctx context.Context) (func(int), error) { return m.cfg.Gate(ctx, key) }
}

// Models are the language models of a configuration, by key.
//
// After Open it does not change and may be used at the same time.
type Models struct {
	all     []Model // in the order of the configuration
	links   map[string]model.Link
	forms   *model.Forms
	offline *http.Server // nil unless the offline model is used

	cfg Config
}

// Open opens the models that cfg configures, and the one of the GEMINI_* variables
// unless default is among them. The caller must call Close.
//
// No model is asked for anything here: a wrong key is found by the first turn, or by sluice
// doctor. A key of the configuration that cannot be opened is the error.
func Open(ctx context.Context, cfg Config) (_ *Models, err error) {
	m := &Models{links: map[string]model.Link{}, cfg: cfg}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	modes, limits := map[string]model.Mode{}, map[string]int{}
	for _, spec := range cfg.Models {
		opened, err := m.openModel(ctx, spec)
		if err != nil {
			return nil, err
		}
		m.addModel(spec.Key, opened)
		modes[spec.Key], limits[spec.Key] = model.Mode(spec.Structured), spec.MaxTokens
	}
	if m.links[model.DefaultKey] == nil {
		opened, err := m.openGemini(ctx)
		if err != nil {
			return nil, err
		}
		m.addModel(model.DefaultKey, opened)
	}
	m.forms = model.NewForms(model.FormsConfig{Modes: modes, Limits: limits, Metrics: m.structuredMetrics()})
	return m, m.chainFallbacks()
}

// structuredMetrics returns the registry that counts structured answers: nobody asks for one
// where no model is configured.
func (m *Models) structuredMetrics() *metrics.Registry {
	if len(m.cfg.Models) == 0 {
		return nil
	}
	return m.cfg.Metrics
}

// addModel keeps a model under its key. Models are closed and listed in the order of these calls.
//
// add is for Open alone.
func (m *Models) addModel(key string, opened Model) {
	m.all = append(m.all, opened)
	m.links[key] = opened
}

// wrapTransport returns the transport for a model, or nil for the default of its package.
func (m *Models) wrapTransport(given http.RoundTripper) http.RoundTripper {
	if m.cfg.Around == nil {
		return given
	}
	if given == nil {
		given = model.NewTransport(m.cfg.Settings.Proxy.Func())
	}
	return m.cfg.Around(given)
}

// chainFallbacks puts the fallbacks behind the models that have some. A model whose broken answers
// go on is a chain by itself. Only the first model's own list counts, so a chain is made of models,
// never of chains.
func (m *Models) chainFallbacks() error {
	windows := map[string]int{}
	single := maps.Clone(m.links)
	for _, spec := range m.cfg.Models {
		windows[spec.Key] = spec.Context
	}
	for _, spec := range m.cfg.Models {
		if len(spec.Fallback) == 0 && !spec.AfterText.IsOn() {
			continue
		}
		links := []model.Link{single[spec.Key]}
		for _, key := range spec.Fallback {
			links = append(links, single[key])
		}
		c, err := model.NewChain(model.ChainConfig{Links: links, On: spec.FallbackOn, AfterText: spec.AfterText, Windows: windows, Metrics: m.cfg.Metrics})
		if err != nil {
			return fmt.Errorf("model %s: %w", spec.Key, err)
		}
		m.links[spec.Key] = c
	}
	return nil
}

// Link returns the model of a key, with its fallbacks; empty means default. It returns nil for an
// unknown key.
func (m *Models) Link(key string) model.Link {
	if key == "" {
		key = model.DefaultKey
	}
	return m.links[key]
}

// Keys returns the keys of all models, in the order of the configuration.
func (m *Models) Keys() (keys []string) {
	for _, spec := range m.cfg.Models {
		keys = append(keys, spec.Key)
	}
	if !slices.Contains(keys, model.DefaultKey) {
		keys = append(keys, model.DefaultKey)
	}
	return keys
}

// Forms asks the models for structured answers.
func (m *Models) Forms() *model.Forms { return m.forms }

// All returns the models, without their fallbacks, in the order of the configuration. The
// list must not be changed.
func (m *Models) All() []Model { return m.all }

// Offline says whether the offline model is in use, by one model at least.
func (m *Models) Offline() bool { return m.offline != nil }

// Checkers returns what reports how the models are: breakers, and the models that are
// configured by a key.
func (m *Models) Checkers() (parts []health.Checker) {
	for _, each := range m.all {
		parts = append(parts, each.Breaker())
		if each.Key() != "" {
			parts = append(parts, modelHealth{each, m.missingKey(each.Key())})
		}
	}
	return parts
}

// modelHealth reports a configured model; its breaker reports for itself whether it is
// well.
type modelHealth struct {
	Model
	missingKey string
}

// missingKey returns the variable of a configured model's key that is not set, or "".
func (m *Models) missingKey(key string) string {
	for i := range m.cfg.Models {
		if m.cfg.Models[i].Key == key {
			return m.cfg.Models[i].MissingKey
		}
	}
	return ""
}

// Check reports a model by its breaker. It asks nobody: a probe must not cost
// tokens.
func (m modelHealth) Check() health.Status {
	b, _ := m.Breaker().Check().(health.Breaker)
	return health.Model{Key: m.Key(), Provider: m.Provider(), Model: m.Model.Name(), Breaker: b.State, MissingKey: m.missingKey}
}

// Close lets go of all connections.
func (m *Models) Close() {
	for _, each := range m.all {
		each.Close()
	}
	if m.offline != nil {
		_ = m.offline.Close()
	}
}

// opener opens a model that a configuration describes.
type opener func(model.Spec, model.Options) (Model, error)

// provider is a protocol that can be spoken.
type provider struct {
	model.Preset
	open opener
}

// listProviders returns the providers whose protocols are supported, in their order in lists for
// people. A provider is a package and a line here.
func listProviders() []provider {
	return []provider{
		{gemini.Preset(), openerFrom(gemini.New)},
		{openai.Preset(), openerFrom(openai.New)},
		{anthropic.Preset(), openerFrom(anthropic.New)},
	}
}

// Protocols returns the protocols that the configuration file may name.
func Protocols() (all []model.Preset) {
	for _, p := range listProviders() {
		all = append(all, p.Preset)
	}
	return all
}

// openerOf returns the opener for models of a protocol, or nil if it is not supported.
func openerOf(protocol string) opener {
	for _, p := range listProviders() {
		if p.Protocol == protocol {
			return p.open
		}
	}
	return nil
}

// openerFrom makes an opener of a package's New, which returns its own type.
//
// In Go a function that returns the package's own type is not an opener, even if that type is a
// Model.
func openerFrom[M Model](open func(model.Spec, model.Options) (M, error)) opener {
	return func(spec model.Spec, opts model.Options) (Model, error) { return open(spec, opts) }
}

// openModel returns the model that spec configures.
func (m *Models) openModel(ctx context.Context, spec model.Spec) (Model, error) {
	opts := model.Options{
		Transport: m.wrapTransport(m.cfg.Transport),
		Proxy:     m.cfg.Settings.Proxy.Func(),
		Version:   m.cfg.Version,
		Metrics:   m.cfg.Metrics,
		Log:       m.cfg.Log,
		Gate:      m.gateOf(spec.Key),
	}
	if spec.Provider == model.Simulator { // it speaks Gemini's protocol over loopback
		url, err := m.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		opts.Transport = m.wrapTransport(nil)
		spec.Endpoint = url
		if spec.Model == "" {
			spec.Model = OfflineModel
		}
		return gemini.New(spec, opts)
	}
	open := openerOf(spec.Provider)
	if open == nil {
		return nil, fmt.Errorf("model %s: there is no provider %q", spec.Key, spec.Provider)
	}
	return open(spec, opts)
}

// openGemini returns the model of the GEMINI_* variables, or the offline one in its place.
func (m *Models) openGemini(ctx context.Context) (Model, error) {
	cfg := Google(m.cfg.Settings)
	if cfg.Offline() {
		url, err := m.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		cfg.BaseURL, cfg.Model = url, OfflineModel
	}
	open := gemini.NewREST
	if cfg.Driver == gemini.DriverSDK {
		open = gemini.NewSDK
	}
	cfg.Breaker.Log = m.cfg.Log
	cfg.Transport, cfg.Proxy = m.wrapTransport(m.cfg.Transport), m.cfg.Settings.Proxy.Func()
	cfg.Version, cfg.Metrics, cfg.Gate = m.cfg.Version, m.cfg.Metrics, m.gateOf(geminiKey)
	if len(m.cfg.Models) > 0 {
		cfg.Key = model.DefaultKey
	}
	return open(cfg)
}

// Google returns the settings of the GEMINI_* variables.
func Google(cfg config.Config) gemini.Config { return config.Of[gemini.Config](&cfg) }

// startOffline serves the simulator over loopback HTTP, so that the whole real
// path runs, and returns its URL. There is one for all that ask.
//
// It ends with Close. The port is one that is free.
func (m *Models) startOffline(ctx context.Context) (string, error) {
	if m.offline != nil {
		return "http://" + m.offline.Addr, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("offline model: %w", err)
	}
	m.offline = &http.Server{
		Addr:              ln.Addr().String(),
		Handler:           geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), Pace: OfflinePace, FirstDelay: OfflineFirst, Foreign: true}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	// Goroutine (offline model): serves the simulator on loopback.
	// Ends: `Close`.
	// Waits: nobody: it touches nothing of the gateway.
	go func() { _ = m.offline.Serve(ln) }() // ends with close
	return "http://" + m.offline.Addr, nil
}
