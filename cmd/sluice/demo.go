// This file is the command demo: it shows the use of the gateway in five tours. They ask no paid
// model, and change nothing of the person's own.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/examples"
	"sluice/internal/base/config"
	"sluice/internal/clients/ask"
	"sluice/internal/clients/terminal"
)

// tour is one demonstration.
type tour struct {
	name, short string
	// about says what to look at.
	about string
	// line is what somebody types to have the same without the tour.
	line string
	run  func(d demo, ctx context.Context) int
}

// listTours returns all tours, in their order.
func listTours() []tour {
	return []tour{
		{
			"tool", "an agent calls a tool",
			"The agent's thoughts, its tool calls and their results come live, each as an event of the stream. The todo list is an MCP server inside the gateway.",
			`sluice ask "Remind me to buy eggs tomorrow at 3pm"`,
			func(d demo, ctx context.Context) int {
				return d.askGateway(ctx, "Remind me to buy eggs tomorrow at 3pm")
			},
		},
		{
			"team", "a router chooses agents, and they work side by side",
			"The request is for two of three agents. Both run at the same time, each with its own tools, and one answer comes of it.",
			`sluice ask --config examples/home/sluice.yaml "Dim the kitchen lights to 30% and play some jazz"`,
			func(d demo, ctx context.Context) int {
				return d.askGateway(ctx, "--config", "examples/home/sluice.yaml", "Dim the kitchen lights to 30% and play some jazz")
			},
		},
		{
			"workflow", "a workflow asks a person before it pays",
			"The graph sorts the request, waits for a person, pays, and has the answer judged and refined. No money moves: the payment service is made up.",
			`SLUICE_STORE=memory sluice workflow run --config examples/workflows/refund.yaml refund "I want a refund of 30 EUR"`,
			demo.runRefund,
		},
		{
			"resume", "a gateway is killed in the middle of an answer",
			"A gateway is killed (kill -9) as soon as its answer begins. Another one finds the turn in the store and goes on with it, on the same stream; the tool that was called is not called again.",
			"sluice demo resume",
			demo.runResume,
		},
		{
			"sms", "an answer is checked before it goes out as an SMS",
			"The first draft has a number that no tool returned. It is held back, refined, checked again and only then worded for one segment of an SMS.",
			`sluice ask --config examples/quality/sluice.yaml --channel sms --drafts "Guess my timesheet"`,
			func(d demo, ctx context.Context) int {
				return d.askGateway(ctx, "--config", "examples/quality/sluice.yaml", "--channel", "sms", "--drafts", "Guess my timesheet")
			},
		},
	}
}

// demo is a program that sees nothing of the person's settings, and a folder of its own.
type demo struct {
	program
	folder string
}

// runDemo walks through the tours, or through the one that is named. At a terminal it waits for
// the person between two of them. It ends with the exit code of the first that fails.
func (p program) runDemo(ctx context.Context, args []string) int {
	l := new(config.Loader)
	l.MaxArgs = 1
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	all, ok := p.toursOf(strings.Join(l.Args(), ""))
	if !ok {
		return exitUsage
	}
	folder, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return p.refuseStart(err)
	}
	defer os.RemoveAll(folder)
	d := demo{p.withSettings(map[string]string{"SLUICE_TODO_DB": filepath.Join(folder, "todo.db")}), folder}
	p.printParagraph(p.stderr, "The offline model answers: a simulator, not Gemini. The demo sends nothing to other machines and does not touch your todo list.", "")
	for i, t := range all {
		p.printHeadline(t, i+1, len(all))
		if code := t.run(d, ctx); code != exitOK {
			return code
		}
		if i+1 < len(all) && terminal.IsTerminal(p.stdin) && !p.goesOn(ctx) {
			return exitOK
		}
	}
	return exitOK
}

// toursOf returns the tours of a name, or all tours for an empty name. For an unknown name it
// prints the known ones and returns false.
func (p program) toursOf(name string) ([]tour, bool) {
	all := listTours()
	if name == "" {
		return all, true
	}
	i := slices.IndexFunc(all, func(t tour) bool { return t.name == name })
	if i >= 0 {
		return all[i : i+1], true
	}
	fmt.Fprintf(p.stderr, "sluice demo: there is no tour %q; these are there:\n", name)
	for _, t := range all {
		fmt.Fprintf(p.stderr, "  %-10s %s\n", t.name, t.short)
	}
	return nil, false
}

// printHeadline announces a tour, and prints its command.
func (p program) printHeadline(t tour, n, of int) {
	style := terminal.StyleFor(p.stderr, p.lookup)
	fmt.Fprintf(p.stderr, "\n%s%d/%d  %s: %s%s\n\n", style.Bold, n, of, t.name, t.short, style.Reset)
	p.printParagraph(p.stderr, t.about, "")
	fmt.Fprintf(p.stderr, "\n%s$ %s%s\n", style.Dim, t.line, style.Reset)
}

// goesOn waits for Enter. It returns false if the person has seen enough. The end of stdin counts
// as Enter.
func (p program) goesOn(ctx context.Context) bool {
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	fmt.Fprint(p.stderr, "\nEnter goes on, q ends: ")
	text, _ := ask.LineReader(ctx, p.stdin)()
	return ctx.Err() == nil && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "q")
}

// withSettings returns p with settings in place of those of the environment. It reads files below
// examples/ from the program itself.
func (p program) withSettings(settings map[string]string) program {
	lookup, readFile := p.lookup, p.readFile
	p.environ = nil
	p.lookup = func(name string) (string, bool) {
		if value, ok := settings[name]; ok {
			return value, true
		}
		if isSetting(name) {
			return "", false
		}
		return lookup(name)
	}
	p.readFile = func(name string) ([]byte, error) {
		if inside, ok := strings.CutPrefix(filepath.ToSlash(name), "examples/"); ok {
			return examples.Files.ReadFile(inside)
		}
		return readFile(name)
	}
	return p
}

// askGateway runs the command ask.
func (d demo) askGateway(ctx context.Context, args ...string) int { return d.program.runAsk(ctx, args) }

// runRefund runs the workflow. Without a person at a terminal, it approves by itself.
func (d demo) runRefund(ctx context.Context) int {
	args := []string{"--config", "examples/workflows/refund.yaml", "refund", "I want a refund of 30 EUR"}
	if !terminal.IsTerminal(d.stdin) {
		args = append([]string{"--approve"}, args...)
	}
	return d.withStore().workflowRun(ctx, args)
}

// runResume kills a gateway in the middle of its answer and starts another one at its address.
func (d demo) runResume(ctx context.Context) int {
	ctx, cancel := d.untilSignal(ctx)
	defer cancel()
	running, err := d.spawnGateway(ctx, "127.0.0.1:0")
	if err != nil {
		return d.refuseStart(err)
	}
	defer func() { running.kill() }()
	killed := false
	c := d.newClient("sluice ask", "http://"+running.addr, false, false)
	c.Seen = func(event string) {
		if event != "response_delta" || killed {
			return
		}
		killed = true
		running.kill()
		fmt.Fprintln(d.stderr, "\n-- the gateway was killed with -9; another one starts at its address --")
		next, failed := d.spawnGateway(ctx, running.addr)
		if failed != nil {
			err = failed
			cancel() // nobody is there to go on with the turn
			return
		}
		running = next
	}
	code := exitCodeOf(c.Turn(ctx, ask.Message{Text: "Remind me to water the plants on Friday at 9am"}))
	if err != nil {
		return d.refuseStart(err)
	}
	if code != exitOK {
		return code
	}
	fmt.Fprintln(d.stderr, "\n-- what the tool did stands in the list once --")
	c.Seen = nil
	return exitCodeOf(c.Turn(ctx, ask.Message{Text: "What is on my list?"}))
}

// child is a gateway in a process of its own.
type child struct {
	cmd  *exec.Cmd
	addr string
}

func (c child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// longestStart is how long a gateway of a tour may need until it listens.
const longestStart = 30 * time.Second

// spawnGateway starts a gateway with a store in the folder of the demo, and returns when it listens.
// It dies with ctx.
func (d demo) spawnGateway(ctx context.Context, addr string) (child, error) {
	self, err := os.Executable()
	if err != nil {
		return child{}, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Dir = d.folder
	cmd.Env = slices.DeleteFunc(os.Environ(), isSetting)
	cmd.Env = append(cmd.Env, "SLUICE_ADDR="+addr,
		"SLUICE_STORE=sqlite:"+filepath.Join(d.folder, "sluice.db"), "SLUICE_TODO_DB="+filepath.Join(d.folder, "resumed.db"))
	log := &listening{addr: make(chan string, 1)}
	cmd.Stdout = log
	if err := cmd.Start(); err != nil {
		return child{}, err
	}
	limit := time.NewTimer(longestStart)
	defer limit.Stop()
	select {
	case addr := <-log.addr:
		return child{cmd, addr}, nil
	case <-limit.C:
		err = errors.New("the gateway does not start")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	child{cmd: cmd}.kill()
	return child{}, err
}

// isSetting reports whether a variable would change the behaviour of a gateway. Variables of tests
// are not settings here: they make a test's binary be the program.
func isSetting(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	for _, prefix := range []string{"SLUICE_", "GEMINI_", "GOOGLE_", "MCP_", "OTEL_"} {
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, "SLUICE_TEST_") {
			return true
		}
	}
	return name == "PORT"
}

// listening looks through the log of a gateway for its address, and drops the log.
type listening struct {
	addr chan string // has room for the one that is found
	log  bytes.Buffer
	done bool
}

func (l *listening) Write(p []byte) (int, error) {
	if l.done {
		return len(p), nil
	}
	l.log.Write(p)
	for line := range bytes.Lines(l.log.Bytes()) {
		if _, rest, ok := bytes.Cut(line, []byte(`"addr":"`)); ok && bytes.Contains(line, []byte(`"listening"`)) && !l.done {
			if addr, _, whole := bytes.Cut(rest, []byte(`"`)); whole {
				l.addr <- string(addr)
				l.done = true
			}
		}
	}
	return len(p), nil
}
