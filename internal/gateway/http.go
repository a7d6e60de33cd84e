// This file listens and drains. Draining has three steps, each with its limit: nothing new
// is let in, running streams may end by themselves, then they are told to end and get the
// time of one write. A second signal skips what is left of that, so that the end comes
// within a second.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rs/zerolog"

	"sluice/fault"
	"sluice/handlers"
	"sluice/internal/conns"
)

const (
	// maxHeader lets a GET carry 5,000 characters in their longest percent-encoded
	// form (60,000 bytes).
	maxHeader = 96 << 10
	// headerTime is how long a request's header may take. Its body has a deadline of its
	// own (handlers.Config.BodyTimeout); requestTime bounds those that net/http answers
	// by itself.
	headerTime  = 5 * time.Second
	requestTime = 15 * time.Second
	// lastBytes is how long replies may take to leave when their handlers are done.
	lastBytes = 2 * time.Second
	// forced is how long each of the two waits may take after a second signal. With
	// mcpclient.Client.Kill, which takes as long, the end comes within a second.
	forced = 250 * time.Millisecond
	// handshakeTime is how long connections that are being opened get for that when no more
	// of them are let in, and queueTime how long they may then wait to be accepted.
	handshakeTime = 20 * time.Millisecond
	queueTime     = time.Second
)

// Service is a gateway that listens.
//
// The log's writer is closed last, as everything before it may write.
type Service struct {
	*Gateway
	addr   string
	socket net.Listener
	http   *http.Server
	admin  *http.Server // nil: there is no address for operators
	out    *logWriter
	failed chan error // the HTTP server's, when it stops by itself
}

// Listen starts a gateway and serves on cfg.Addr. The log goes to out, which is not
// waited for. ctx is the process's lifetime, as for New. The caller must call Close.
//
// It opens the port before anything else, so that a port in use is found before children
// are started. An error leaves nothing open.
func Listen(ctx context.Context, cfg Config, out io.Writer) (_ *Service, err error) {
	w := newLogWriter(out, cfg.Secrets())
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	ln, err := listenConfig().Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_ADDR: %w", err)
	}
	log := newLogger(w, cfg.LogLevel)
	warnOfShortSecrets(processLogger(log), cfg.Config)
	warnOfConfig(processLogger(log), cfg.Warnings)
	room := capacityOf(cfg.Config, processResources())
	asked := cfg.Config
	cfg.MaxStreams = room.streams
	g, err := New(ctx, cfg, log, Seams{})
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	room.warn(g.log, asked)
	g.logProxy()
	s := &Service{Gateway: g, socket: ln, addr: ln.Addr().String(), out: w, failed: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           g,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       handlers.WithConn,
		ErrorLog:          stdlog.New(serverErrors{g.log}, "", 0),
	}
	if err := s.listenAdmin(ctx); err != nil {
		_ = ln.Close()
		g.Close()
		return nil, err
	}
	if room.connections > 0 {
		ln = s.limit(ln, conns.NewLimiter(room.connections, room.surplus))
	}
	go func() { s.failed <- s.http.Serve(ln) }() // ends with Close
	return s, nil
}

// listenAdmin serves operators on an address of their own, if there is one.
//
// It has no limit of connections, as its address is not for the public.
func (s *Service) listenAdmin(ctx context.Context) error {
	if s.cfg.AdminAddr == "" {
		return nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.AdminAddr)
	if err != nil {
		return fmt.Errorf("SLUICE_ADMIN_ADDR: %w", err)
	}
	s.admin = &http.Server{
		Handler: s.server.Admin(s.remotes), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: maxHeader, ConnContext: handlers.WithConn, ErrorLog: stdlog.New(serverErrors{s.log}, "", 0),
	}
	s.log.Info().Dict("details", zerolog.Dict().Str("addr", ln.Addr().String())).Msg("admin_listening")
	go func() { _ = s.admin.Serve(ln) }() // ends with Close
	return nil
}

// limit bounds the connections of clients, which come from what it returns.
//
// The server's ConnState and ConnContext belong to the limiter from then on.
func (s *Service) limit(ln net.Listener, l *conns.Limiter) net.Listener {
	s.http.ConnState = l.State
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return handlers.WithPlace(handlers.WithConn(ctx, c), l.Place(c))
	}
	s.watchConnections(l)
	return l.Listen(ln)
}

// Addr returns the address that it listens on.
func (s *Service) Addr() string { return s.addr }

// Close ends all: connections, what is behind them, and last the log.
//
// Streams that still run are cut.
func (s *Service) Close() {
	_ = s.http.Close()
	if s.admin != nil {
		_ = s.admin.Close()
	}
	s.Gateway.Close()
	s.out.Close()
}

// Run blocks until ctx ends or a signal comes, then drains: first nothing new is let
// in, then running streams may end by themselves, then they are told to. A second
// signal skips the waiting. It returns an error, which is in the log already,
// when that happened or when the HTTP server stopped by itself.
func (s *Service) Run(ctx context.Context, signals <-chan os.Signal) error {
	s.log.Info().Dict("details", zerolog.Dict().
		Str("addr", s.addr).Str("model", s.Model()).Str("version", s.cfg.Version)).Msg("listening")
	select {
	case err := <-s.failed:
		s.log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("server_failed")
		return err
	case <-ctx.Done():
	case <-signals:
	}
	began := time.Now()
	s.log.Info().Dict("details", zerolog.Dict().Dur("timeout_ms", s.cfg.DrainTimeout)).Msg("draining")
	s.server.Drain()
	hurried := s.drain(signals)
	limit := lastBytes
	if hurried {
		limit = forced
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if !hurried {
		s.emptyQueue()
	}
	if s.http.Shutdown(graceful) != nil {
		_ = s.http.Close()
	}
	s.flushTelemetry(s.flushTime(began, hurried))
	s.log.Info().Int64("duration_ms", time.Since(began).Milliseconds()).
		Dict("details", zerolog.Dict().Bool("hurried", hurried)).Msg("stopped")
	if hurried {
		_ = s.tools.Kill() // what it leaves ends with this process
		return errors.New("a second signal cut the drain short")
	}
	return nil
}

// emptyQueue lets no further connection in, and returns when those that are there already
// were accepted.
func (s *Service) emptyQueue() {
	lastCall(s.socket)
	time.Sleep(handshakeTime)
	for began := time.Now(); queued(s.socket) > 0 && time.Since(began) < queueTime; {
		time.Sleep(time.Millisecond)
	}
}

// drain returns when no stream runs any more. It says whether a second signal
// cut it short.
//
// The goroutine in it ends when the streams have ended, or with the function.
func (s *Service) drain(signals <-chan os.Signal) (hurried bool) {
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer close(ended)
		_ = s.server.Wait(ctx)
	}()
	// Streams that are told to end need the time of one write at most.
	grace, patience := time.NewTimer(s.cfg.DrainTimeout), s.cfg.WriteTimeout+time.Second
	defer grace.Stop()
	select {
	case <-ended:
		return false
	case <-grace.C:
	case <-signals:
		hurried, patience = true, forced
	}
	s.server.Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down; send the request again in a moment", RetryAfter: time.Second})
	rest := time.NewTimer(patience)
	defer rest.Stop()
	select {
	case <-ended:
	case <-rest.C:
	case <-signals:
		hurried = true
	}
	return hurried
}
