// Command sluice is a stateless Server-Sent Events gateway: a chat turn goes in, and an agent's
// thoughts, tool calls and answer come out as a live event stream.
//
// Everything that a command touches of its process is in one value (program): streams, environment,
// files and signals. The function run takes it and returns the exit code, so that tests start the
// whole program in their own process. This package has only commands and their output.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"sluice/internal/base/config"
)

// version is the newest version of CHANGELOG.md. A release and make build set it by the linker.
var version = "0.1.0"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // could not start, was forced to stop, or the turn failed
	exitUsage  = 2 // bad flags or configuration; nothing was started
	exitAsked  = 3 // a person is asked, and none is there
	// exitUnchecked: the turn was a success, and its answer did not pass its checks.
	exitUnchecked = 4
)

// main gives the program its surroundings. Everything else is in run, so that
// tests can start the whole program.
func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	os.Exit(run(context.Background(), os.Args[1:], program{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		lookup:   os.LookupEnv,
		environ:  os.Environ,
		readFile: config.ReadFile,
		signals:  signals,
		hangups:  notifyHangups,
	}))
}

// notifyHangups takes SIGHUP over, which ends the process otherwise.
func notifyHangups() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// program is the part of the process that a command uses, so that a test can run a whole command.
//
// A test gives it buffers and channels of its own; nothing else of the process is used, but
// for the files that a configuration names.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool)
	// environ lists the environment; nil: unknown variables are not looked for.
	environ  func() []string
	readFile func(string) ([]byte, error)
	signals  <-chan os.Signal
	// hangups returns a channel of requests to read the configuration again, until release is
	// called; nil turns that off.
	hangups func() (signals <-chan os.Signal, release func())

	// command is the one that runs.
	command command
	// inspect, unless nil, gets the loader of a command that is asked for its help.
	inspect func(*config.Loader)
}
