// This file puts a gateway into a process of its own: its log, its ports, and its end.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/edge/conns"
)

// Service is a gateway that listens.
//
// The log's writer is closed last, as everything before it may write.
type Service struct {
	*Gateway
	front *process.Server
	cert  *process.Certificate // nil: the ports are not encrypted
	out   *process.LogWriter
}

// Listen starts a gateway and serves on the Addr of its Process. The log goes to out, and nobody
// waits for it. ctx is the process's lifetime, as for New. The caller must call Close.
//
// It opens the port before anything else, so that a port in use is found before children are
// started. On an error everything is closed.
func Listen(ctx context.Context, cfg settings.Config, out io.Writer) (_ *Service, err error) {
	w := process.NewLogWriter(out, cfg.Secrets())
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	own := settings.Of[settings.Process](&cfg)
	socket, err := process.Listen(ctx, own.Addr)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_ADDR: %w", err)
	}
	log := process.NewLogger(w, settings.Of[settings.Logging](&cfg).Level)
	process.WarnOfShortSecrets(process.OwnLogger(log), cfg.ShortSecrets())
	process.WarnOfConfig(process.OwnLogger(log), cfg.Warnings)
	room := process.Fit(process.Limits{
		Streams: settings.Of[handlers.Config](&cfg).MaxStreams, Connections: own.MaxConnections, OwnModel: providers.Google(cfg.Config).Offline(),
	}, process.OwnResources())
	config.Change(&cfg.Config, func(c *handlers.Config) { c.MaxStreams, c.Sealed = room.Streams, own.TLS.On() })
	g, err := New(ctx, cfg, log, Seams{})
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	room.Warn(g.log)
	logProxy(g.commonParts)
	warnOfOpenAdmin(g.commonParts)
	s := &Service{Gateway: g, out: w}
	if s.front, err = s.serve(ctx, socket, room.Limiter()); err != nil {
		_ = socket.Close()
		g.Close()
		return nil, err
	}
	return s, nil
}

// serve opens the remaining parts, and serves; limiter is nil if connections are not bounded.
func (s *Service) serve(ctx context.Context, socket net.Listener, limiter *conns.Limiter) (*process.Server, error) {
	if from := settings.Of[settings.Process](&s.cfg).TLS; from.On() {
		var err error
		if s.cert, err = process.OpenCertificate(from, s.log); err != nil {
			return nil, fmt.Errorf("SLUICE_TLS_CERT: %w", err)
		}
		watchCertificate(s.commonParts, s.cert)
	}
	front, err := process.Serve(ctx, socket, s.processConfig(limiter))
	if err != nil {
		return nil, fmt.Errorf("SLUICE_ADMIN_ADDR: %w", err)
	}
	return front, nil
}

// Encrypted says whether the addresses speak TLS.
func (s *Service) Encrypted() bool { return s.cert != nil }

// HasSecretFiles reports whether a certificate or a key file can be read again.
func (s *Service) HasSecretFiles() bool { return s.cert != nil || s.entrance.ring != nil }

// Look reads the key file and the certificate's files again; new handshakes use the new
// certificate.
func (s *Service) Look() {
	s.entrance.lookAtKeys()
	if s.cert != nil {
		s.cert.Look()
	}
}

// processConfig returns the configuration of the process's server.
func (s *Service) processConfig(limiter *conns.Limiter) process.ServerConfig {
	g := s.Gateway
	if limiter != nil {
		watchConnections(g.metrics, limiter)
	}
	var http2Errors func(kind string) // nil where HTTP/2 is not served
	if s.cert != nil {
		http2Errors = countHTTP2(g.metrics)
	}
	own := settings.Of[settings.Process](&g.cfg)
	return process.ServerConfig{
		Handler: g, Turns: g.server, ConnContext: connContext, Limiter: limiter,
		Admin: func(loopback bool) http.Handler {
			return g.server.Admin(handlers.Operators{Agents: g.team, Loopback: loopback})
		},
		AdminAddr: own.AdminAddr, Certificate: s.cert, HTTP2Error: http2Errors,
		DrainTimeout: own.DrainTimeout, WriteTimeout: settings.Of[handlers.Config](&g.cfg).WriteTimeout, Flush: g.telemetry.flushPending, Log: g.log,
		Manager: process.Manager(g.cfg.Manager),
	}
}

// connContext is process.ServerConfig.ConnContext.
func connContext(ctx context.Context, c net.Conn, place process.Place) context.Context {
	of := handlers.Conn{Conn: c}
	if place != nil {
		of.Place = place
	}
	return handlers.WithConn(ctx, of)
}

// Addr returns the address that it listens on.
func (s *Service) Addr() string { return s.front.Addr() }

// Close ends all: connections, the parts behind them, and last the log.
//
// Streams that still run after a moment are cut: see process.Server.Close.
func (s *Service) Close() {
	s.front.Close()
	s.Gateway.Close()
	s.out.Close()
}

// Run blocks until ctx ends or a signal comes, then drains: see process.Server.Run. It
// returns an error when a second signal cut that short, or when the HTTP server stopped by
// itself.
func (s *Service) Run(ctx context.Context, signals <-chan os.Signal) error {
	s.log.Info().Dict("details", zerolog.Dict().
		Str("addr", s.Addr()).Str("model", s.Model()).Str("version", s.cfg.Version)).Msg("listening")
	err := s.front.Run(ctx, signals)
	if errors.Is(err, process.ErrHurried) {
		_ = s.tools.client.Kill() // remaining children end with this process
	}
	return err
}

// logProxy logs the proxies for requests to models, without the secrets in their URLs.
//
// It logs nothing without proxies.
func logProxy(c *commonParts) {
	p := c.cfg.Proxy
	if p.None() {
		return
	}
	overHTTP, overHTTPS := p.Hosts()
	c.log.Info().Dict("details", zerolog.Dict().Str("http", overHTTP).Str("https", overHTTPS).Str("except", p.Except)).Msg("proxy")
}
