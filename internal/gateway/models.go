// This file opens the language models of a configuration, each by the package of its
// provider's protocol, and puts fallbacks behind them. Everything else asks for a model by
// its key (Link) and does not know which provider is behind it.
//
// The offline model is a simulator that is served over loopback, so that a gateway without
// a key runs the same code as one with it.

package gateway

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/anthropic"
	"sluice/breaker"
	"sluice/gemini"
	"sluice/internal/geminisim"
	"sluice/internal/offline"
	"sluice/metrics"
	"sluice/model"
	"sluice/openai"
)

// The offline model, which needs no key.
const (
	OfflineModel = offline.Version
	// It answers at about the speed of the real one: OfflineFirst is the pause before
	// its first chunk, OfflinePace the one between two chunks.
	OfflineFirst = 150 * time.Millisecond
	OfflinePace  = 35 * time.Millisecond
)

// languageModel is a model as the gateway holds it, whatever its provider.
type languageModel interface {
	model.Link
	Provider() string
	Breaker() *breaker.Breaker
	Learned() *model.Learned
	Close()
}

// Models are the language models of a configuration, by key.
//
// After OpenModels it does not change and may be used at the same time.
type Models struct {
	all     []languageModel // in the order of the configuration
	links   map[string]model.Link
	forms   *model.Forms
	offline *http.Server // nil unless the offline model is used

	cfg     Config
	log     zerolog.Logger
	metrics *metrics.Registry
	with    Seams
}

// OpenModels opens the models that cfg configures, and the one of the GEMINI_* variables
// unless default is among them. The caller must call Close.
//
// No model is asked for anything here: a wrong key is found by the first turn, or by sluice
// doctor. A key of the configuration that cannot be opened is the error.
func OpenModels(ctx context.Context, cfg Config, log zerolog.Logger, counts *metrics.Registry, with Seams) (_ *Models, err error) {
	m := &Models{links: map[string]model.Link{}, cfg: cfg, log: log, metrics: counts, with: with}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	modes := map[string]model.Mode{}
	for _, spec := range cfg.Models {
		opened, err := m.open(ctx, spec)
		if err != nil {
			return nil, err
		}
		m.add(spec.Key, opened)
		modes[spec.Key] = model.Mode(spec.Structured)
	}
	if m.links[model.DefaultKey] == nil {
		opened, err := m.openGemini(ctx)
		if err != nil {
			return nil, err
		}
		m.add(model.DefaultKey, opened)
	}
	m.forms = model.NewForms(model.FormsConfig{Modes: modes, Omit: m.learned, Metrics: m.structured()})
	return m, m.chain()
}

// structured returns the registry that counts structured answers: nobody asks for one
// where no model is configured.
func (m *Models) structured() *metrics.Registry {
	if len(m.cfg.Models) == 0 {
		return nil
	}
	return m.metrics
}

// add keeps a model under its key. The order is that in which they are closed
// and listed.
//
// add is for OpenModels alone.
func (m *Models) add(key string, opened languageModel) {
	m.all = append(m.all, opened)
	m.links[key] = opened
}

// transport makes what a model opens for itself, for turns that are recorded.
func (m *Models) transport() http.RoundTripper { return model.NewTransport(m.cfg.Proxy.Func()) }

// learned is what a model has refused so far in this process, for the ways of
// asking for JSON.
//
// It is asked before each structured question, as requests teach it.
func (m *Models) learned(key string) model.Omit {
	for _, each := range m.all {
		if each.Key() == key {
			return each.Learned().Omit()
		}
	}
	return nil
}

// chain puts the fallbacks behind the models that have some. Only the first model's own
// list counts, so a chain is made of models, never of chains.
func (m *Models) chain() error {
	windows := map[string]int{}
	single := maps.Clone(m.links)
	for _, spec := range m.cfg.Models {
		windows[spec.Key] = spec.Context
	}
	for _, spec := range m.cfg.Models {
		if len(spec.Fallback) == 0 {
			continue
		}
		links := []model.Link{single[spec.Key]}
		for _, key := range spec.Fallback {
			links = append(links, single[key])
		}
		c, err := model.NewChain(model.ChainConfig{Links: links, On: spec.FallbackOn, Windows: windows, Metrics: m.metrics})
		if err != nil {
			return fmt.Errorf("model %s: %w", spec.Key, err)
		}
		m.links[spec.Key] = c
	}
	return nil
}

// Link returns the model of a key, with its fallbacks; empty means default. Nil: there
// is none.
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
type opener func(model.Spec, model.Options) (languageModel, error)

// provider is a protocol that can be spoken.
type provider struct {
	model.Preset
	open opener
}

// providers are those whose protocols can be spoken, in the order in which they are listed
// for people. A provider is a package and a line here.
func providers() []provider {
	return []provider{
		{gemini.Preset(), opens(gemini.New)},
		{openai.Preset(), opens(openai.New)},
		{anthropic.Preset(), opens(anthropic.New)},
	}
}

// protocols are what the configuration file may name of them.
func protocols() (all []model.Preset) {
	for _, p := range providers() {
		all = append(all, p.Preset)
	}
	return all
}

// openerOf returns what opens models of a protocol; nil: it is not spoken.
func openerOf(protocol string) opener {
	for _, p := range providers() {
		if p.Protocol == protocol {
			return p.open
		}
	}
	return nil
}

// opens makes an opener of a package's New, which returns its own type.
//
// For Go a function that returns a package's own type is no opener, though that type is a
// languageModel.
func opens[M languageModel](open func(model.Spec, model.Options) (M, error)) opener {
	return func(spec model.Spec, opts model.Options) (languageModel, error) { return open(spec, opts) }
}

// open returns the model that spec configures.
//
// The seam for Gemini serves all providers in tests.
func (m *Models) open(ctx context.Context, spec model.Spec) (languageModel, error) {
	opts := model.Options{
		Transport: m.with.taped(m.with.Gemini, m.transport, ""),
		Proxy:     m.cfg.Proxy.Func(),
		Version:   m.cfg.Version,
		Metrics:   m.metrics,
		Log:       m.log,
	}
	if spec.Provider == model.Simulator { // it speaks Gemini's protocol over loopback
		url, err := m.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		opts.Transport = m.with.taped(nil, m.transport, "")
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
func (m *Models) openGemini(ctx context.Context) (languageModel, error) {
	if m.cfg.Offline() {
		url, err := m.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		m.cfg.GeminiBaseURL, m.cfg.GeminiModel = url, OfflineModel
	}
	open := gemini.NewREST
	if m.cfg.GeminiDriver == gemini.DriverSDK {
		open = gemini.NewSDK
	}
	cfg := gemini.Config{
		APIKey:    m.cfg.GeminiAPIKey.Reveal(),
		Model:     m.cfg.GeminiModel,
		BaseURL:   m.cfg.GeminiBaseURL,
		Thinking:  m.cfg.GeminiThinking,
		Timeout:   m.cfg.ModelTimeout,
		Breaker:   newBreaker(gemini.Service, m.cfg.GeminiBreaker, m.log),
		Transport: m.with.taped(m.with.Gemini, m.transport, ""),
		Proxy:     m.cfg.Proxy.Func(),
		Version:   m.cfg.Version,
		Metrics:   m.metrics,
	}
	if len(m.cfg.Models) > 0 {
		cfg.Key = model.DefaultKey
	}
	return open(cfg)
}

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
		Handler:           geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), Pace: OfflinePace, FirstDelay: OfflineFirst}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = m.offline.Serve(ln) }() // ends with close
	return "http://" + m.offline.Addr, nil
}

// logProxy logs which proxies requests to models go through, without what is secret
// in their URLs.
//
// It logs nothing where there are no proxies.
func (g *Gateway) logProxy() {
	p := g.cfg.Proxy
	if p.None() {
		return
	}
	overHTTP, overHTTPS := p.Hosts()
	g.log.Info().Dict("details", zerolog.Dict().Str("http", overHTTP).Str("https", overHTTPS).Str("except", p.Except)).Msg("proxy")
}
