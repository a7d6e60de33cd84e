package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"sluice/agent"
	"sluice/breaker"
	"sluice/gemini"
	"sluice/internal/geminisim"
	"sluice/internal/offline"
	"sluice/model"
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
	agent.Model
	Breaker() *breaker.Breaker
	Close()
}

const (
	// defaultModel is the key of the model that answers where none is named.
	defaultModel = "default"
	// providerSimulator is the offline model, in Gemini's protocol.
	providerSimulator = "simulator"
)

// connectModels opens the models that are configured, and the one of the GEMINI_*
// variables unless default is among them.
func (g *Gateway) connectModels(ctx context.Context) error {
	for _, spec := range g.cfg.Models {
		m, err := g.openModel(ctx, spec)
		if err != nil {
			return err
		}
		g.models = append(g.models, m)
		if spec.Key == defaultModel {
			g.model = m
		}
	}
	if g.model != nil {
		return nil
	}
	m, err := g.openGemini(ctx)
	if err != nil {
		return err
	}
	g.model, g.models = m, append(g.models, m)
	return nil
}

// openModel returns the model that spec configures. A provider is a package and a case
// here.
func (g *Gateway) openModel(ctx context.Context, spec model.Spec) (languageModel, error) {
	opts := model.Options{
		Proxy:   g.cfg.Proxy.Func(),
		Version: g.cfg.Version,
		Metrics: g.metrics,
		Log:     g.log,
	}
	switch spec.Provider {
	case gemini.Provider:
		opts.Transport = g.with.Gemini
		return gemini.New(spec, opts)
	case providerSimulator:
		url, err := g.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		spec.Endpoint = url
		return gemini.New(spec, opts)
	}
	return nil, fmt.Errorf("model %s: there is no provider %q", spec.Key, spec.Provider)
}

// openGemini returns the model of the GEMINI_* variables, or the offline one in its place.
func (g *Gateway) openGemini(ctx context.Context) (languageModel, error) {
	if g.cfg.Offline() {
		url, err := g.startOffline(ctx)
		if err != nil {
			return nil, err
		}
		g.cfg.GeminiBaseURL, g.cfg.GeminiModel = url, OfflineModel
	}
	open := gemini.NewREST
	if g.cfg.GeminiDriver == gemini.DriverSDK {
		open = gemini.NewSDK
	}
	cfg := gemini.Config{
		APIKey:    g.cfg.GeminiAPIKey.Reveal(),
		Model:     g.cfg.GeminiModel,
		BaseURL:   g.cfg.GeminiBaseURL,
		Thinking:  g.cfg.GeminiThinking,
		Timeout:   g.cfg.ModelTimeout,
		Breaker:   g.breaker(gemini.Service, g.cfg.GeminiBreaker),
		Transport: g.with.Gemini,
		Proxy:     g.cfg.Proxy.Func(),
		Version:   g.cfg.Version,
		Metrics:   g.metrics,
	}
	if len(g.cfg.Models) > 0 {
		cfg.Key = defaultModel
	}
	return open(cfg)
}

// startOffline serves the simulator over loopback HTTP, so that the whole real
// path runs, and returns its URL. There is one for all that ask.
func (g *Gateway) startOffline(ctx context.Context) (string, error) {
	if g.offline != nil {
		return "http://" + g.offline.Addr, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("offline model: %w", err)
	}
	g.offline = &http.Server{
		Addr:              ln.Addr().String(),
		Handler:           geminisim.New(geminisim.Config{Model: offline.Model{}, Pace: OfflinePace, FirstDelay: OfflineFirst}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = g.offline.Serve(ln) }() // ends with close
	return "http://" + g.offline.Addr, nil
}

// tellProxy logs which proxies requests to models go through, without what is secret
// in their URLs.
func (g *Gateway) tellProxy() {
	p := g.cfg.Proxy
	if p.None() {
		return
	}
	overHTTP, overHTTPS := p.Hosts()
	g.log.Info().Dict("details", zerolog.Dict().Str("http", overHTTP).Str("https", overHTTPS).Str("except", p.Except)).Msg("proxy")
}
