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

// startOffline serves the simulator over loopback HTTP, so that the whole real
// path runs, and points the configuration at it.
func (g *Gateway) startOffline(ctx context.Context) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("offline model: %w", err)
	}
	g.offline = &http.Server{
		Handler:           geminisim.New(geminisim.Config{Model: offline.Model{}, Pace: OfflinePace, FirstDelay: OfflineFirst}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = g.offline.Serve(ln) }() // ends with close
	g.cfg.GeminiBaseURL = "http://" + ln.Addr().String()
	g.cfg.GeminiModel = OfflineModel
	return nil
}

// languageModel is a model as the gateway holds it, whatever its provider.
type languageModel interface {
	agent.Model
	Breaker() *breaker.Breaker
	Close()
}

// openModel returns the model that spec configures. A provider is a package and a case
// here.
func (g *Gateway) openModel(spec model.Spec) (languageModel, error) {
	switch spec.Provider {
	case gemini.Provider:
		return gemini.New(spec, g.modelOptions())
	}
	return nil, fmt.Errorf("model %s: there is no provider %q", spec.Key, spec.Provider)
}

// modelOptions is what all configured models have in common.
func (g *Gateway) modelOptions() model.Options {
	return model.Options{
		Proxy:   g.cfg.Proxy.Func(),
		Version: g.cfg.Version,
		Metrics: g.metrics,
		Log:     g.log,
	}
}

// connectModel makes the model of the gateway's own settings (GEMINI_*), which every gateway
// has.
func (g *Gateway) connectModel() (err error) {
	open := gemini.NewREST
	if g.cfg.GeminiDriver == gemini.DriverSDK {
		open = gemini.NewSDK
	}
	g.model, err = open(gemini.Config{
		APIKey:    g.cfg.GeminiAPIKey.Reveal(),
		Model:     g.cfg.GeminiModel,
		BaseURL:   g.cfg.GeminiBaseURL,
		Thinking:  g.cfg.GeminiThinking,
		Timeout:   g.cfg.ModelTimeout,
		Breaker:   g.breaker("gemini", g.cfg.GeminiBreaker),
		Transport: g.with.Gemini,
		Proxy:     g.cfg.Proxy.Func(),
		Version:   g.cfg.Version,
		Metrics:   g.metrics,
	})
	return err
}

// logProxy logs which proxies requests to models go through, without what is secret
// in their URLs.
func (g *Gateway) logProxy() {
	p := g.cfg.Proxy
	if p.None() {
		return
	}
	overHTTP, overHTTPS := p.Hosts()
	g.log.Info().Dict("details", zerolog.Dict().Str("http", overHTTP).Str("https", overHTTPS).Str("except", p.Except)).Msg("proxy")
}
