// This file starts the gateway: it reads the configuration, opens the ports, says where it listens,
// and reads the configuration again on SIGHUP. Service.Run handles a signal to end: it drains, then
// stops.

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

// loadConfig reads a command's configuration. If that ends the command, it returns
// false and the exit code.
//
// A request for help is not a failure: it prints the settings and ends with exitOK. Warnings go to
// stderr.
func (p program) loadConfig(l *config.Loader, args []string) (config.Config, int, bool) {
	cfg, err := p.readConfig(l, args)
	p.printWarnings(cfg)
	return p.endOnFault(l, cfg, err)
}

// readConfig reads a command's configuration, with an eye on variables that set nothing.
func (p program) readConfig(l *config.Loader, args []string) (config.Config, error) {
	if p.environ != nil {
		l.Environ = p.environ()
	}
	return l.Load(args, p.lookup, p.readFile)
}

// printWarnings prints the warnings of a configuration.
func (p program) printWarnings(cfg config.Config) {
	for _, w := range cfg.Warnings {
		fmt.Fprintln(p.stderr, "warning:", w)
	}
}

// endOnFault ends a command whose configuration has faults, or that was asked for help.
func (p program) endOnFault(l *config.Loader, cfg config.Config, err error) (config.Config, int, bool) {
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.printHelp(p.stdout, l)
		return cfg, exitOK, false
	case err != nil:
		return cfg, p.refuseStart(err), false
	}
	return cfg, exitOK, true
}

// refuseStart prints the reason why a command did not start, and returns its exit code.
//
// Faults of the configuration are listed one a line, and are the only errors with
// exitUsage.
func (p program) refuseStart(err error) int {
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

// runGateway runs the gateway until a signal comes or ctx ends.
//
// stdout is the log's; texts for a person go to stderr.
func (p program) runGateway(ctx context.Context, args []string) int {
	defer process.OutliveReaders()()
	var file settings.File
	l := settings.LoaderWith(&file)
	cfg, err := p.readConfig(l, args)
	if err != nil { // else the gateway logs the warnings
		p.printWarnings(cfg)
	}
	cfg, code, ok := p.endOnFault(l, cfg, err)
	if !ok {
		return code
	}
	gogc, _ := p.lookup("GOGC")
	var running atomic.Pointer[gateway.Service]
	defer process.PaceGC(gogc, func() uint64 {
		if s := running.Load(); s != nil {
			return s.StoreBytes()
		}
		return 0
	})()
	whole := gatewayConfig(cfg, file)
	whole.Manager, _ = p.lookup("NOTIFY_SOCKET")
	s, err := gateway.Listen(ctx, whole, p.stdout)
	if err != nil {
		return p.refuseStart(err)
	}
	defer s.Close()
	running.Store(s)
	printBanner(p.stderr, s)
	defer p.watchReloads(s, args, file.Path != "")()
	if s.Run(ctx, p.signals) != nil {
		return exitFailed
	}
	return exitOK
}

// watchReloads reads the secret files and the configuration file again at each hangup signal, until
// stop is called.
//
// A configuration with faults changes nothing: the gateway continues with the one that it has.
// stop waits for a reload that is under way.
func (p program) watchReloads(s *gateway.Service, args []string, hasFile bool) (stop func()) {
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
			cfg, err := p.readConfig(settings.LoaderAgain(&file), args)
			_ = s.Reload(gatewayConfig(cfg, file), err) // the log has it
		}
	})
	return func() {
		release()
		close(done)
		waiting.Wait()
	}
}

// gatewayConfig joins the settings and the file for the gateway.
func gatewayConfig(cfg config.Config, file settings.File) settings.Config {
	return settings.Config{
		Config: cfg, File: file, Version: version,
	}
}

// printBanner shows a person at a terminal where to go. The log has stdout for itself.
//
// It names the simulator as such, so that nobody takes its answers for a model's.
func printBanner(w io.Writer, s *gateway.Service) {
	cfg := s.Config()
	base := "http://" + reachableAddr(s.Addr())
	if s.Encrypted() {
		base = "https://" + reachableAddr(s.Addr())
	}
	fmt.Fprintf(w, "\nSluice %s is listening.\n\n  Browser   %s/\n  Terminal  curl -N %s/chat/stream -H 'Content-Type: application/json' -d '{\"input\":\"Remind me to buy eggs tomorrow at 3pm\"}'\n",
		version, base, base)
	if s.Offline() {
		fmt.Fprintf(w, "\n  Model     %s: a SIMULATOR that only knows todo phrases. Set GEMINI_API_KEY to use Gemini.\n", providers.OfflineModel)
	} else {
		fmt.Fprintf(w, "\n  Model     %s\n", s.Model())
	}
	if s.HasTodos() {
		fmt.Fprintf(w, "  Tools     built-in todo server, kept in %s\n", todoPlace(cfg))
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

// todoPlace names the todo database for a person.
func todoPlace(cfg config.Config) string {
	at := config.Of[settings.Todos](&cfg)
	switch {
	case at.DB != gateway.InMemory:
		return at.DB
	case at.IsDefault:
		return "memory until the end: no data folder can be written (set SLUICE_TODO_DB)"
	}
	return "memory until the end"
}

// reachableAddr turns a listen address into one that a client on this machine can use.
//
// An address that means all interfaces becomes localhost. An address that cannot be parsed is
// returned as it is.
func reachableAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
