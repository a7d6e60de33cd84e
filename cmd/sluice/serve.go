// This file starts the gateway: it reads the configuration, opens the ports, says where it
// listens, and reads the configuration again on SIGHUP. What a gateway does with a signal
// to end (drain, then stop) is Service.Run's.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"sluice/internal/app/gateway"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
)

// load reads a command's configuration. If that ends the command, it returns
// false and the exit code.
//
// A request for help is no failure: it prints the settings and ends with exitOK. Warnings go
// to stderr.
func (p program) load(l *config.Loader, args []string) (config.Config, int, bool) {
	cfg, err := p.read(l, args)
	p.warn(cfg)
	return p.loaded(l, cfg, err)
}

// read reads a command's configuration, with an eye on variables that set nothing.
func (p program) read(l *config.Loader, args []string) (config.Config, error) {
	if p.environ != nil {
		l.Environ = p.environ()
	}
	return l.Load(args, p.lookup, p.readFile)
}

// warn prints the warnings of a configuration.
func (p program) warn(cfg config.Config) {
	for _, w := range cfg.Warnings {
		fmt.Fprintln(p.stderr, "warning:", w)
	}
}

// loaded ends a command whose configuration has faults, or that was asked for help.
func (p program) loaded(l *config.Loader, cfg config.Config, err error) (config.Config, int, bool) {
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
//
// Faults of the configuration are listed one a line, and are the only errors with
// exitUsage.
func (p program) refuse(err error) int {
	if faults, ok := errors.AsType[*config.Error](err); ok {
		what := "configuration"
		if faults.OfFlags() {
			what = "command line"
		}
		fmt.Fprintf(p.stderr, "sluice: the %s has faults:\n  %s\n", what, strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "sluice: %v\n", err)
	return exitFailed
}

// serve runs the gateway until a signal comes or ctx ends.
//
// stdout is the log's; what is for a person goes to stderr.
func (p program) serve(ctx context.Context, args []string) int {
	defer process.OutliveReaders()()
	var file settings.File
	l := settings.LoaderWith(&file)
	cfg, err := p.read(l, args)
	if err != nil { // else the gateway logs the warnings
		p.warn(cfg)
	}
	cfg, code, ok := p.loaded(l, cfg, err)
	if !ok {
		return code
	}
	gogc, _ := p.lookup("GOGC")
	var running atomic.Pointer[gateway.Service]
	defer process.PaceGC(gogc, func() uint64 {
		if s := running.Load(); s != nil {
			return s.Kept()
		}
		return 0
	})()
	whole := gatewayConfig(cfg, file)
	whole.Manager, _ = p.lookup("NOTIFY_SOCKET")
	s, err := gateway.Listen(ctx, whole, p.stdout)
	if err != nil {
		return p.refuse(err)
	}
	defer s.Close()
	running.Store(s)
	banner(p.stderr, s)
	defer p.reloads(s, args, file.Path != "")()
	if s.Run(ctx, p.signals) != nil {
		return exitFailed
	}
	return exitOK
}

// reloads reads what can be read again whenever the process is asked to, until the function
// that it returns is called: the certificate and, if there is one, the configuration file.
//
// A configuration with faults changes nothing: the gateway continues with the one that it has.
// stop waits for a reload that is under way.
func (p program) reloads(s *gateway.Service, args []string, hasFile bool) (stop func()) {
	if p.hangups == nil || !hasFile && !s.HasSecretFiles() {
		return func() {}
	}
	signals, release := p.hangups()
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			s.Look()
			if !hasFile {
				continue
			}
			var file settings.File
			cfg, err := p.read(settings.LoaderAgain(&file), args)
			_ = s.Reload(gatewayConfig(cfg, file), err) // the log has it
		}
	})
	return func() {
		release()
		close(done)
		waiting.Wait()
	}
}

// gatewayConfig joins settings and file into what the gateway takes.
func gatewayConfig(cfg config.Config, file settings.File) settings.Config {
	return settings.Config{
		Config: cfg, File: file, Version: version,
	}
}

// banner shows a person at a terminal where to go. The log has stdout for itself.
//
// It names the simulator as such, so that nobody takes its answers for a model's.
func banner(w io.Writer, s *gateway.Service) {
	cfg := s.Config()
	base := "http://" + reachable(s.Addr())
	if s.Encrypted() {
		base = "https://" + reachable(s.Addr())
	}
	fmt.Fprintf(w, "\nSluice %s is listening.\n\n  Browser   %s/\n  Terminal  curl -N %s/chat/stream -H 'Content-Type: application/json' -d '{\"input\":\"Remind me to buy eggs tomorrow at 3pm\"}'\n",
		version, base, base)
	if s.Offline() {
		fmt.Fprintf(w, "\n  Model     %s: a SIMULATOR that only knows todo phrases. Set GEMINI_API_KEY to use Gemini.\n", providers.OfflineModel)
	} else {
		fmt.Fprintf(w, "\n  Model     %s\n", s.Model())
	}
	if s.HasTodos() {
		fmt.Fprintf(w, "  Tools     built-in todo server, kept in %s\n", place(cfg))
	}
	for _, m := range s.MissingKeys() {
		fmt.Fprintf(w, "  Missing key of %s: set %s\n", m.Key, m.MissingKey)
	}
	if unwell := s.Unwell(); len(unwell) > 0 {
		fmt.Fprintf(w, "  Missing   %s: the log says why, and it is tried again by itself\n", strings.Join(unwell, ", "))
	}
	history := config.Of[settings.ChatKit](&cfg).History
	if history == settings.HistoryInMemory {
		fmt.Fprintf(w, "  ChatKit   %s/chatkit, threads kept in this process's memory until the end\n", base)
	}
	if history == settings.HistoryInStore {
		fmt.Fprintf(w, "  ChatKit   %s/chatkit, threads kept in the store\n", base)
	}
	fmt.Fprintln(w)
}

// place names the todo database for a person.
func place(cfg config.Config) string {
	at := config.Of[settings.Todos](&cfg)
	switch {
	case at.DB != gateway.InMemory:
		return at.DB
	case at.IsDefault:
		return "memory until the end: there is no data folder that can be written (set SLUICE_TODO_DB)"
	}
	return "memory until the end"
}

// reachable turns a listen address into one that a client on this machine can use.
//
// An address that means all interfaces becomes localhost. One that cannot be parsed is
// returned as it is.
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
