// This file listens and drains. Draining has three steps, each with its limit. New streams are
// refused; running streams may end by themselves; then they are ended and get the time of one
// write. A second signal skips the rest of that, so that the end comes within a second.

package process

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/conns"
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
	idleTime    = 60 * time.Second
	// lastBytes is how long replies may take to leave when their handlers are done.
	lastBytes = 2 * time.Second
	// forced is how long each of the two waits may take after a second signal. With
	// mcpclient.Client.Kill, which takes as long, the end comes within a second.
	forced = 250 * time.Millisecond
	// readTime is the time to read the requests of the last accepted connections. net/http closes a
	// connection without an answer if it reads its first request after Shutdown.
	readTime = 20 * time.Millisecond
	// FlushTime bounds the sending of measurements at the end. leastFlush is the time that it has
	// even if running streams have used up the time to drain.
	FlushTime  = 5 * time.Second
	leastFlush = time.Second
)

// ErrHurried says that a second signal cut the drain short.
var ErrHurried = errors.New("a second signal cut the drain short")

// Turns are the streams that a Server lets end before it closes its connections.
type Turns interface {
	// Drain refuses new ones from now on.
	Drain()
	// Wait returns when none runs any more, or with the error of ctx.
	Wait(ctx context.Context) error
	// Abort ends those that run, each with cause as its error.
	Abort(cause error)
}

// Place is the place of a request's connection among the bounded ones: see conns.Place and
// conns.Stream.
type Place interface {
	Surplus() bool
	Waiting()
	Busy()
}

// ServerConfig has the parts of a Server, and the times of its end.
type ServerConfig struct {
	Handler http.Handler
	Turns   Turns
	// ConnContext is that of http.Server; over HTTP/2 it is called for each request. place is
	// nil where connections are not bounded.
	ConnContext func(ctx context.Context, c net.Conn, place Place) context.Context
	Limiter     *conns.Limiter // of client connections; nil: they are not bounded
	// Admin returns the handler for operators, on AdminAddr; an empty AdminAddr: nowhere.
	// loopback says whether this machine alone reaches it.
	Admin     func(loopback bool) http.Handler
	AdminAddr string
	// Certificate is what both addresses prove themselves with; nil: they are not encrypted.
	Certificate *Certificate
	// HTTP2Error counts an error of HTTP/2 by its kind, one of a few words. nil: nobody does.
	HTTP2Error func(kind string)
	// DrainTimeout is for streams that run, WriteTimeout for the last write of one.
	DrainTimeout, WriteTimeout time.Duration
	// Manager learns when requests are served, and when that ends.
	Manager Manager
	// Flush sends the measurements, within a limit, before the end is logged.
	Flush func(limit time.Duration)
	Log   zerolog.Logger
}

// Server listens for clients, and for operators on an address of their own.
type Server struct {
	cfg    ServerConfig
	socket net.Listener
	http   *http.Server
	admin  *http.Server // nil without an address for operators
	http2  *http2Server // nil: nothing is encrypted
	failed chan error   // the HTTP server's, when it stops by itself

	ended   chan struct{} // closed by Close
	looking sync.WaitGroup
	once    sync.Once
}

// Listen opens a port. The port for clients is opened first, so that an address in use is found
// before anything is started.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := listenConfig().Listen(ctx, "tcp", addr)
	return ln, explainInUse(addr, err)
}

// explainInUse adds advice to the error of an address that another process has.
func explainInUse(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another process listens on %s: end it, or choose another port (0 is a free one): %w", addr, err)
	}
	return err
}

// Serve accepts and serves the connections of socket, and closes it with the Server. An error is
// that of the address for operators, and leaves the socket open. The caller must call Close.
//
// Connections of operators are not bounded, as their address is not for the public.
func Serve(ctx context.Context, socket net.Listener, cfg ServerConfig) (_ *Server, err error) {
	s := &Server{cfg: cfg, socket: socket, failed: make(chan error, 1), ended: make(chan struct{})}
	if s.http, s.http2, err = s.newHTTP(cfg.Handler, cfg.Limiter); err != nil {
		return nil, err
	}
	if cfg.AdminAddr != "" {
		if err := s.serveAdmin(ctx); err != nil {
			return nil, err
		}
	}
	if cfg.Limiter != nil {
		socket = cfg.Limiter.Listen(socket)
	}
	if cfg.Certificate != nil {
		// Goroutine (certificate): reads its files every five seconds.
		// Ends: `Close`.
		// Waits: `Close`.
		s.looking.Go(func() { cfg.Certificate.watchFiles(s.ended) })
	}
	// Goroutine (HTTP server): accepts and serves.
	// Ends: `Close` or `Shutdown`.
	// Waits: nobody: `failed` has room for its error; `Run` reads it if the server stops by itself.
	go func() { s.failed <- s.serveListener(s.http, socket) }() // ends with Close
	return s, nil
}

// serveAdmin opens the address for operators.
func (s *Server) serveAdmin(ctx context.Context) (err error) {
	ln, err := Listen(ctx, s.cfg.AdminAddr)
	if err != nil {
		return err
	}
	addr, isTCP := ln.Addr().(*net.TCPAddr)
	loopback := isTCP && addr.IP.IsLoopback()
	if s.admin, _, err = s.newHTTP(s.cfg.Admin(loopback), nil); err != nil {
		_ = ln.Close()
		return err
	}
	s.cfg.Log.Info().Dict("details", zerolog.Dict().Str("addr", ln.Addr().String()).Bool("loopback", loopback)).Msg("admin_listening")
	// Goroutine (server of the admin address): accepts and serves.
	// Ends: `Close`.
	// Waits: nobody: it touches nothing after `Close`.
	go func() { _ = s.serveListener(s.admin, ln) }() // ends with Close
	return nil
}

// serveListener accepts the connections of ln until server ends.
func (s *Server) serveListener(server *http.Server, ln net.Listener) error {
	if s.cfg.Certificate == nil {
		return server.Serve(ln)
	}
	return server.ServeTLS(ln, "", "")
}

// newHTTP returns a server whose connections l bounds, if it is not nil. The other one is nil
// without a certificate.
func (s *Server) newHTTP(h http.Handler, l *conns.Limiter) (*http.Server, *http2Server, error) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: stdlog.New(serverErrors{s.cfg.Log}, "", 0),
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return s.cfg.ConnContext(ctx, c, nil) }
	if l != nil {
		server.ConnState = func(c net.Conn, state http.ConnState) { l.State(acceptedConn(c), state) }
		server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return s.cfg.ConnContext(ctx, c, l.Place(acceptedConn(c)))
		}
	}
	if s.cfg.Certificate == nil {
		return server, nil, nil
	}
	server.TLSConfig = s.cfg.Certificate.tlsConfig()
	h2, err := newHTTP2(server, &s.cfg, l)
	return server, h2, err
}

// Addr returns the address that it listens on.
func (s *Server) Addr() string { return s.socket.Addr().String() }

// Close ends all connections.
//
// A handler whose client has the whole answer may still write its recording, so all have a
// moment. Streams that still run then are cut.
func (s *Server) Close() {
	s.once.Do(func() { close(s.ended) })
	s.looking.Wait()
	graceful, cancel := context.WithTimeout(context.Background(), forced)
	defer cancel()
	_ = s.http.Shutdown(graceful)
	_ = s.http.Close()
	if s.admin != nil {
		_ = s.admin.Close()
	}
}

// Run blocks until ctx ends or a signal comes, and then drains. It refuses new streams, lets
// running ones end by themselves, and then ends them. A second signal skips the waiting:
// ErrHurried. Another error is in the log already: the HTTP server stopped by itself.
func (s *Server) Run(ctx context.Context, signals <-chan os.Signal) error {
	log := s.cfg.Log
	s.notifyManager(ready)
	select {
	case err := <-s.failed:
		log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("server_failed")
		return err
	case <-ctx.Done():
	case <-signals:
	}
	began := time.Now()
	s.notifyManager(stopping)
	log.Info().Dict("details", zerolog.Dict().Dur("timeout_ms", s.cfg.DrainTimeout)).Msg("draining")
	s.cfg.Turns.Drain()
	if s.http2 != nil {
		s.http2.goAway()
	}
	hurried := s.drainTurns(signals)
	limit := lastBytes
	if hurried {
		limit = forced
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if !hurried {
		time.Sleep(readTime)
	}
	if s.http.Shutdown(graceful) != nil {
		_ = s.http.Close()
	}
	s.cfg.Flush(s.flushTime(began, hurried))
	log.Info().Int64("duration_ms", time.Since(began).Milliseconds()).
		Dict("details", zerolog.Dict().Bool("hurried", hurried)).Msg("stopped")
	if hurried {
		return ErrHurried
	}
	return nil
}

// drainTurns returns when no stream runs any more. It reports whether a second signal cut it short.
//
// The goroutine in it ends when the streams have ended, or with the function.
func (s *Server) drainTurns(signals <-chan os.Signal) (hurried bool) {
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Goroutine (drain): waits for the streams.
	// Ends: no stream runs any more, or drainTurns returns and cancels it.
	// Waits: drainTurns, unless its patience ends.
	go func() {
		defer close(ended)
		_ = s.cfg.Turns.Wait(ctx)
	}()
	// Streams that are ended need the time of one write at most.
	grace, patience := time.NewTimer(s.cfg.DrainTimeout), s.cfg.WriteTimeout+time.Second
	defer grace.Stop()
	select {
	case <-ended:
		return false
	case <-grace.C:
	case <-signals:
		hurried, patience = true, forced
	}
	s.cfg.Turns.Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
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

// flushTime is how long Flush may take in a drain that began then.
//
// The rest of the drain is used, within leastFlush and FlushTime.
func (s *Server) flushTime(began time.Time, hurried bool) time.Duration {
	if hurried {
		return forced / 2 // the end is to come within a second
	}
	return min(max(s.cfg.DrainTimeout-time.Since(began), leastFlush), FlushTime)
}
