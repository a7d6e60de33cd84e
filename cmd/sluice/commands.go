// This file is the table of commands. Dispatch, help and completion come from it; the flags
// of a command stand where it reads them, and are asked for by its own --help.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/base/config"
)

// command is one command of the program.
type command struct {
	// name has a space in it for a command of a group; empty is the gateway.
	name string
	// args follow the name and the flags in the line of usage.
	args  string
	short string // one line, for lists
	// examples are lines to copy.
	examples []string
	run      func(program, context.Context, []string) int
}

// withoutContext is for commands that end by themselves.
func withoutContext(run func(program, []string) int) func(program, context.Context, []string) int {
	return func(p program, _ context.Context, args []string) int { return run(p, args) }
}

// commands returns all of them, in the order of the help. It is a function, as the commands
// that print the help are among them.
func commands() []command {
	return []command{
		{"", "", "start the gateway", []string{"sluice", "SLUICE_ADDR=:8080 GEMINI_API_KEY_FILE=key sluice --config sluice.yaml"}, program.runGateway},
		{"ask", "TEXT", "ask one question and show the events live", []string{`sluice ask "Remind me to buy eggs tomorrow at 3pm"`, "git diff | sluice ask --url http://localhost:8080 --json -"}, program.runAsk},
		{"demo", "[TOUR]", "see the purpose of the gateway, in five tours without a key: tool, team, workflow, resume, sms", []string{"sluice demo", "sluice demo resume"}, program.runDemo},
		{"doctor", "", "find the proxies that buffer, cut or delay streams; or ask each model of a file for its abilities", []string{"sluice doctor --url https://chat.example.com", "sluice doctor --config sluice.yaml"}, program.runDoctor},
		{"healthcheck", "", "ask the gateway of this machine whether it lives", []string{"sluice healthcheck", "sluice healthcheck --addr :9090"}, program.runHealthcheck},
		{"loadtest", "", "make load on a gateway and audit every stream", []string{"sluice loadtest --url http://localhost:8080 --clients 50 --duration 30s", "sluice loadtest --url http://localhost:8080 --rate 100 --json report.json"}, program.runLoadtest},
		{"config check", "[FILE]", "check the configuration file, and the settings with it", []string{"sluice config check sluice.yaml", "SLUICE_CONFIG=sluice.yaml sluice config check"}, withoutContext(program.configCheck)},
		{"config schema", "", "print the JSON Schema of the configuration file", []string{"sluice config schema > sluice.schema.json", "sluice config schema | jq .properties.models"}, withoutContext(program.configSchema)},
		{"workflow check", "[FILE]", "check the workflows of the configuration file", []string{"sluice workflow check sluice.yaml", "SLUICE_CONFIG=sluice.yaml sluice workflow check"}, func(p program, _ context.Context, args []string) int { return p.withStore().workflowCheck(args) }},
		{"workflow graph", "NAME", "print the graph of a workflow for Mermaid", []string{"sluice workflow graph triage --config sluice.yaml", "sluice workflow graph triage > triage.mmd"}, func(p program, _ context.Context, args []string) int { return p.withStore().workflowGraph(args) }},
		{"workflow run", "NAME TEXT", "run a workflow once and show the events live", []string{`sluice workflow run triage "The invoice is wrong" --config sluice.yaml`, `sluice workflow run triage "The invoice is wrong" --approve --json`}, program.workflowRun},
		{"eval router", "", "ask the router of a configuration about a set of requests", []string{"sluice eval router --config sluice.yaml", "sluice eval router --config old.yaml --config new.yaml --set router.jsonl"}, program.evalRouter},
		{"format", "[FILE]", "word a text for a channel: sms, whatsapp, teams, email, plain", []string{"sluice format --channel sms answer.md", "echo '**Done.**' | sluice format --channel whatsapp -"}, program.runFormat},
		{"keys add", "", "make an API key; it is shown once, and its hash added to the file", []string{"sluice keys add --user ada --file keys.yaml", "sluice keys add --user ci --scopes chat --expires 90d --file keys.yaml"}, withoutContext(program.keysAdd)},
		{"keys list", "", "show the keys of the file, without the keys themselves", []string{"sluice keys list --file keys.yaml", "SLUICE_API_KEYS=keys.yaml sluice keys list"}, withoutContext(program.keysList)},
		{"keys revoke", "ID", "disable a key", []string{"sluice keys revoke k3f9ab2c4d --file keys.yaml", "SLUICE_API_KEYS=keys.yaml sluice keys revoke k3f9ab2c4d"}, withoutContext(program.keysRevoke)},
		{"keys rotate", "ID", "make another key for the same user, and let this one end", []string{"sluice keys rotate k3f9ab2c4d --file keys.yaml", "sluice keys rotate k3f9ab2c4d --grace 1h --file keys.yaml"}, withoutContext(program.keysRotate)},
		{"export", "TASK", "write a task of the store, its trace and its agents as files", []string{"sluice export task_01 --out evidence", "SLUICE_STORE=sqlite:sluice.db sluice export task_01"}, program.runExport},
		{"import", "DIR", "print the configuration file of a folder that export or another program wrote", []string{"sluice import evidence > sluice.yaml", "sluice import ~/.multi-agent > sluice.yaml"}, withoutContext(program.importFolder)},
		{"replay", "FILE", "print the stream of a recorded turn, or run the turn again and compare", []string{"sluice replay turn.slrec --speed 1", "sluice replay turn.slrec --rerun --config sluice.yaml"}, program.runReplay},
		{"retention run", "", "remove the records of tasks whose time is over", []string{"sluice retention run --dry-run", "sluice retention run --config sluice.yaml"}, program.retentionRun},
		{"todo-server", "", "start the built-in todo MCP server alone", []string{"sluice todo-server --addr 127.0.0.1:9000", "sluice todo-server --stdio"}, program.todoServer},
		{"gemini-sim", "", "start the simulator of the models' APIs alone", []string{"sluice gemini-sim --addr 127.0.0.1:9001", "sluice gemini-sim --script answers.txt"}, program.geminiSim},
		{"completion", "SHELL", "print what completes commands and flags in bash, zsh or fish", []string{"source <(sluice completion bash)", "sluice completion fish > ~/.config/fish/completions/sluice.fish"}, withoutContext(program.runCompletion)},
		{"version", "", "print the version", []string{"sluice version", "sluice --version"}, withoutContext(program.printVersion)},
		{"help", "[COMMAND|variables|exit-codes]", "explain a command, the variables or the exit codes", []string{"sluice help ask", "sluice help variables | less"}, program.runHelp},
	}
}

// run runs a command and returns its exit code. It returns when ctx ends or a signal comes, after
// it has ended all that it began.
//
// The command is the first argument, or the first two, unless it is a flag.
func run(ctx context.Context, args []string, p program) int {
	if len(args) > 0 && slices.Contains([]string{"-v", "--version"}, args[0]) {
		return p.printVersion(args[1:])
	}
	if !namesCommand(args) {
		return p.startCommand(ctx, commands()[0], args)
	}
	for _, words := range []int{2, 1} {
		if c, ok := findCommand(strings.Join(args[:min(words, len(args))], " ")); ok {
			return p.startCommand(ctx, c, args[len(strings.Fields(c.name)):])
		}
	}
	if members := commandGroup(args[0]); len(members) > 0 {
		return p.runGroup(args[0], members, args[1:])
	}
	p.reportUnknown(args[0], commands())
	return exitUsage
}

// namesCommand says whether the arguments begin with the name of a command.
func namesCommand(args []string) bool {
	return len(args) > 0 && args[0] != "" && args[0][0] != '-'
}

// startCommand runs a command. Its help is then about that command.
func (p program) startCommand(ctx context.Context, c command, args []string) int {
	p.command = c
	return c.run(p, ctx, args)
}

// findCommand returns the command of a name.
func findCommand(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name && name != "" })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// commandGroup returns the commands whose names begin with a word.
func commandGroup(word string) []command {
	return slices.DeleteFunc(commands(), func(c command) bool { return !strings.HasPrefix(c.name, word+" ") })
}

// runGroup explains a group of commands: it does nothing by itself.
func (p program) runGroup(word string, members []command, args []string) int {
	switch {
	case len(args) == 0:
		fmt.Fprintf(p.stderr, "sluice %s: say what to do\n\n", word)
		p.groupHelp(p.stderr, members)
		return exitUsage
	case isHelp(args[0]):
		p.groupHelp(p.stdout, members)
		return exitOK
	}
	p.reportUnknown(word+" "+args[0], members)
	return exitUsage
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// reportUnknown says that a command is unknown, and names a similar one.
func (p program) reportUnknown(name string, among []command) {
	var names []string
	for _, c := range among {
		if c.name != "" {
			names = append(names, c.name)
		}
	}
	if best, ok := config.Nearest(name, names); ok {
		fmt.Fprintf(p.stderr, "sluice: there is no command %q; did you mean %s? See sluice help\n", name, best)
		return
	}
	fmt.Fprintf(p.stderr, "sluice: there is no command %q; see sluice help\n", name)
}

// printVersion prints it. It does not take arguments.
func (p program) printVersion(args []string) int {
	if _, code, ok := p.loadConfig(new(config.Loader), args); !ok {
		return code
	}
	fmt.Fprintln(p.stdout, version)
	return exitOK
}
