package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/config"
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
)

// load reads a command's configuration. If that ends the command, it returns
// false and the exit code.
func (p program) load(l *config.Loader, args []string) (config.Config, int, bool) {
	cfg, err := l.Load(args, p.lookup, p.readFile)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.help(p.stdout, l)
		return cfg, exitOK, false
	case err != nil:
		return cfg, p.refuse(err), false
	}
	return cfg, exitOK, true
}

// refuse says why a command did not start and returns its exit code.
func (p program) refuse(err error) int {
	if _, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprintf(p.stderr, "sluice: the configuration has faults:\n  %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "sluice: %v\n", err)
	return exitFailed
}

// serve runs the gateway until a signal comes or ctx ends.
func (p program) serve(ctx context.Context, args []string) int {
	defer outliveReaders()()
	cfg, code, ok := p.load(new(config.Loader), args)
	if !ok {
		return code
	}
	defer p.paceGC()()
	out := newLogWriter(p.stdout, cfg.Secrets())
	defer out.Close()
	log := newLogger(out, cfg.LogLevel)
	s, err := p.listen(ctx, cfg, log)
	if err != nil {
		return p.refuse(err)
	}
	defer s.close()
	s.log.Info().Dict("details", zerolog.Dict().
		Str("addr", s.addr).Str("model", s.model.Name()).Str("version", version)).Msg("listening")
	s.banner(p.stderr)
	return s.wait(ctx, p.signals)
}

// service is a gateway that listens.
type service struct {
	*gateway
	addr   string
	http   *http.Server
	failed chan error // the HTTP server's, when it stops by itself
}

func (p program) listen(ctx context.Context, cfg config.Config, log zerolog.Logger) (*service, error) {
	ln, err := listenConfig().Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_ADDR: %w", err)
	}
	warnOfShortSecrets(processLogger(log), cfg)
	room := capacityOf(cfg, p.resources())
	asked := cfg
	cfg.MaxStreams = room.streams
	g, err := newGateway(ctx, cfg, log, seams{})
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	room.warn(g.log, asked)
	s := &service{gateway: g, addr: ln.Addr().String(), failed: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           g.server,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       handlers.WithConn,
		ErrorLog:          stdlog.New(serverErrors{g.log}, "", 0),
	}
	if room.connections > 0 {
		ln = s.limit(ln, conns.NewLimiter(room.connections, room.surplus))
	}
	go func() { s.failed <- s.http.Serve(ln) }() // ends with close
	return s, nil
}

// limit bounds the connections of clients, which come from what it returns.
func (s *service) limit(ln net.Listener, l *conns.Limiter) net.Listener {
	s.http.ConnState = l.State
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return handlers.WithPlace(handlers.WithConn(ctx, c), l.Place(c))
	}
	s.server.ReportConnections(l.Stats)
	return l.Listen(ln)
}

func (s *service) close() {
	_ = s.http.Close()
	s.gateway.close()
}

// wait blocks until the process must stop, then drains: first nothing new is let
// in, then running streams may end by themselves, then they are told to. A second
// signal skips the waiting.
func (s *service) wait(ctx context.Context, signals <-chan os.Signal) int {
	select {
	case err := <-s.failed:
		s.log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("server_failed")
		return exitFailed
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
	if s.http.Shutdown(graceful) != nil {
		_ = s.http.Close()
	}
	s.log.Info().Int64("duration_ms", time.Since(began).Milliseconds()).
		Dict("details", zerolog.Dict().Bool("hurried", hurried)).Msg("stopped")
	if hurried {
		_ = s.tools.Kill() // what it leaves ends with this process
		return exitFailed
	}
	return exitOK
}

// drain returns when no stream runs any more. It says whether a second signal
// cut it short.
func (s *service) drain(signals <-chan os.Signal) (hurried bool) {
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

// banner tells a person at a terminal where to go. The log has stdout for itself.
func (s *service) banner(w io.Writer) {
	base := "http://" + reachable(s.addr)
	fmt.Fprintf(w, "\nSluice %s is listening.\n\n  Browser   %s/\n  Terminal  curl -N %s/chat/stream -H 'Content-Type: application/json' -d '{\"input\":\"Remind me to buy eggs tomorrow at 3pm\"}'\n",
		version, base, base)
	if s.offline != nil {
		fmt.Fprintf(w, "\n  Model     %s: a SIMULATOR that only knows todo phrases. Set GEMINI_API_KEY to use Gemini.\n", offlineModel)
	} else {
		fmt.Fprintf(w, "\n  Model     %s\n", s.model.Name())
	}
	if s.todos != nil {
		fmt.Fprintf(w, "  Tools     built-in todo server, kept in %s\n", place(s.cfg))
	}
	if s.cfg.ChatKitHistory == config.HistoryInMemory {
		fmt.Fprintf(w, "  ChatKit   %s/chatkit, threads kept in this process's memory until the end\n", base)
	}
	fmt.Fprintln(w)
}

// place names the todo database for a person.
func place(cfg config.Config) string {
	switch {
	case cfg.TodoDB != inMemory:
		return cfg.TodoDB
	case cfg.TodoDBIsDefault:
		return "memory until the end: there is no data folder that can be written (set SLUICE_TODO_DB)"
	}
	return "memory until the end"
}

// reachable turns a listen address into one that a client on this machine can use.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
