// Command sluice is a stateless Server-Sent Events gateway: a chat turn goes in,
// what a Gemini agent thinks, which tools it calls and what it answers comes out
// as a live event stream.
//
// Everything that a command touches of its process is in one value (program):
// streams, environment, files and signals. run takes it and returns the exit
// code, so that tests start the whole program in their own process. Nothing
// else is in this package but commands and what they print.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"sluice/config"
	"sluice/internal/settings"
)

// version is set by the linker.
var version = "dev"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // could not start, was forced to stop, or the turn was no success
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
		hangups:  hangups,
	}))
}

// hangups takes SIGHUP over, which ends the process otherwise.
func hangups() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// program is what a command needs of the process, so that a test can run one whole.
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
	// hangups returns what comes when the configuration is to be read again, until
	// release is called; nil: nothing ever does.
	hangups func() (signals <-chan os.Signal, release func())
}

const usage = `Sluice streams what a Gemini agent thinks, calls and answers as Server-Sent Events.

  sluice [flags]              start the gateway
  sluice ask [flags] TEXT     ask one question and show the events live
  sluice ask --resume ID      follow a turn that was begun elsewhere, by its task or turn
  sluice ask --chat [flags]   the same for each line of stdin, as one conversation
  sluice ask --schema FILE TEXT
                              ask for one JSON object that a schema describes
  sluice todo-server [flags]  start the built-in todo MCP server alone
  sluice gemini-sim [flags]   start the simulator of the Gemini API alone
  sluice loadtest [flags]     make load on a gateway and audit every stream
  sluice eval router [flags]  ask the router of a configuration about a set of requests
  sluice healthcheck          ask the gateway of this machine whether it lives
  sluice doctor [flags]       find what buffers, cuts or delays streams on the way
  sluice doctor --config FILE ask each model of a configuration file what it can do
  sluice format [flags] [FILE]
                              word a text for a channel: sms, whatsapp, teams, email, plain
  sluice workflow check [FILE]
                              check the workflows of the configuration file
  sluice workflow graph NAME  print the graph of a workflow for Mermaid
  sluice workflow run NAME TEXT
                              run a workflow once and show the events live
  sluice export TASK [--out DIR]
                              write a task of the store, its trace and its agents as files
  sluice retention run [--dry-run]
                              remove the records of tasks whose time is over
  sluice replay FILE [--speed N]
                              print what the client of a recorded turn got
  sluice replay --rerun FILE  run a recorded turn again and compare
  sluice keys add --user USER make an API key; it is shown once, and its hash added to the file
  sluice keys list            show the keys of the file, without the keys themselves
  sluice keys revoke ID       disable a key
  sluice keys rotate ID       make another key for the same user, and let this one end
  sluice config check [FILE]  check the configuration file, and the settings with it
  sluice config schema        print the JSON Schema of the configuration file
  sluice version              print the version

Every command takes the flags and variables below; "sluice COMMAND --help" adds its own.

`

// run runs a command and returns its exit code. It returns when ctx ends or a
// signal comes, after what was begun has ended.
//
// The command is the first argument that is not a flag.
func run(ctx context.Context, args []string, p program) int {
	name := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	if command, ok := p.commands()[name]; ok {
		return command(ctx, args)
	}
	fmt.Fprintf(p.stderr, "sluice: there is no command %q; see sluice help\n", name)
	return exitUsage
}

// commands returns what runs for each name. No name at all is the gateway.
func (p program) commands() map[string]func(context.Context, []string) int {
	return map[string]func(context.Context, []string) int{
		"":            p.serve,
		"ask":         p.ask,
		"todo-server": p.todoServer,
		"gemini-sim":  p.geminiSim,
		"loadtest":    p.loadtest,
		"healthcheck": p.healthcheck,
		"doctor":      p.doctor,
		"eval":        p.eval,
		"format":      p.format,
		"config":      func(_ context.Context, args []string) int { return p.configFile(args) },
		"workflow":    p.workflow,
		"export":      p.export,
		"retention":   p.retention,
		"replay":      p.replay,
		"keys":        func(_ context.Context, args []string) int { return p.keys(args) },
		"version": func(context.Context, []string) int {
			fmt.Fprintln(p.stdout, version)
			return exitOK
		},
		"help": func(context.Context, []string) int {
			p.help(p.stdout, settings.Loader())
			return exitOK
		},
	}
}

// help prints the commands, and all settings of the one that l belongs to.
func (p program) help(w io.Writer, l *config.Loader) {
	fmt.Fprint(w, usage)
	l.Usage(w)
}
