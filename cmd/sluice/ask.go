// This file is the command ask around package ask: its flags, the gateway that it starts
// where none is named, and the exit code of an outcome.

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/clients/ask"
	"sluice/internal/clients/terminal"
)

// askFlags are the flags of ask, but for those of a structured answer (formFlags).
type askFlags struct {
	url, agent, workflow, channel, resume, user          *string
	raw, talk, drafts, deliver, approve, reject, waiting *bool
}

// newAskFlags adds the flags.
func newAskFlags(l *config.Loader) askFlags {
	return askFlags{
		url:      l.BaseURL("url", "talk to the gateway at this base URL instead of starting one"),
		agent:    l.String("agent", "", "ask the agent with this id; default: the gateway chooses"),
		workflow: l.String("workflow", "", "run the workflow with this name"),
		raw:      l.Bool("json", "print the raw events, one JSON object a line"),
		talk:     l.Bool("chat", "hold a conversation: each line of stdin is a message, sent with the messages before it; TEXT may be the first one"),
		channel:  l.String("channel", "", "have the answer in the form of a channel, such as sms or email"),
		deliver:  l.Bool("deliver", "with --channel: have the gateway send the answer to the channel's receiver, too"),
		drafts:   l.Bool("drafts", "show an answer that is held back until it is checked as it is written"),
		approve:  l.Bool("approve", "allow every tool call that a person must allow"),
		reject:   l.Bool("reject", "allow none of them"),
		user:     l.String("user", "", "who asks, or answers: the user_id of the turn, of an answer, and of --waiting"),
		waiting:  l.Bool("waiting", "in place of a message: answer what waits for --user, of turns that others began too"),
		resume:   l.String("resume", "", "in place of a message: follow the turn with this id, of a task or a turn, from its first event; or from behind the event with this id"),
	}
}

// needStream reports whether a flag was given that has a meaning only for a stream of events.
func (f askFlags) needStream() bool {
	return *f.url != "" || *f.raw || *f.talk || *f.resume != "" || *f.waiting || *f.agent != "" || *f.workflow != "" || *f.deliver
}

// checkUse returns the fault of the flags and the message, text, taken together, or an empty text.
func (f askFlags) checkUse(text string) string {
	switch {
	case *f.approve && *f.reject:
		return "--approve and --reject exclude each other"
	case *f.resume != "" || *f.waiting:
		return f.checkUseWithout(text)
	case text == "" && !*f.talk:
		return `give the message as one argument, or through a pipe: sluice ask "Remind me to buy eggs tomorrow at 3pm"`
	case *f.deliver && *f.channel == "":
		return "--deliver needs --channel"
	}
	return ""
}

// checkUseWithout is checkUse for the flags that stand in place of a message.
func (f askFlags) checkUseWithout(text string) string {
	switch {
	case *f.resume != "" && (text != "" || *f.talk || !ask.CanFollow(*f.resume)):
		return "--resume takes the id of a task or of a turn, such as task_… and turn_…, and no message beside it"
	case *f.waiting && (text != "" || *f.talk || *f.resume != "" || *f.url == "" || *f.user == ""):
		return "--waiting needs --url and --user, and takes no message, --chat or --resume beside it"
	case *f.agent != "" || *f.workflow != "" || *f.deliver:
		return "--agent, --workflow and --deliver belong to a message"
	}
	return ""
}

// runAsk posts one message, holds a conversation, or follows a turn that was begun elsewhere,
// and shows the events as they come.
// The exit code is that of the outcome: see exitCodeOf.
//
// Without --url a gateway is started on a free port and ended with the command. Flags that
// contradict each other end with exitUsage before anything is started.
func (p program) runAsk(ctx context.Context, args []string) int {
	var file settings.File
	l := settings.LoaderWith(&file)
	l.MaxArgs = 1
	f := newAskFlags(l)
	form := newFormFlags(l, f.needStream)
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	text, err := p.messageText(strings.Join(l.Args(), ""), *f.talk || *f.resume != "" || *f.waiting)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice ask: %v\n", err)
		return exitUsage
	}
	if wrong := f.checkUse(text); wrong != "" {
		fmt.Fprintln(p.stderr, "sluice ask: "+wrong)
		return exitUsage
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	if *form.schema != "" {
		return p.fillIn(ctx, gatewayConfig(cfg, file), form, text)
	}
	base := strings.TrimSuffix(*f.url, "/")
	if base == "" {
		s, err := p.startForAsk(ctx, cfg, file)
		if err != nil {
			return p.refuseStart(err)
		}
		defer s.Close()
		defer p.warnOfServers(s)
		base = "http://" + reachableAddr(s.Addr())
	}
	c := p.newClient("sluice ask", base, *f.approve, *f.reject)
	c.User, c.Raw, c.Header = *f.user, *f.raw, withCredential(cfg, nil)
	m := ask.Message{Text: text, Agent: *f.agent, Workflow: *f.workflow, Channel: *f.channel, Drafts: *f.drafts, Deliver: *f.deliver}
	switch {
	case *f.resume != "":
		return exitCodeOf(c.Follow(ctx, *f.resume))
	case *f.waiting:
		return exitCodeOf(c.Waiting(ctx))
	case *f.talk:
		return exitCodeOf(c.Converse(ctx, m))
	}
	return p.adviseOnFailure(*f.url == "", c.Turn(ctx, m))
}

// warnOfServers names the unavailable MCP servers of a gateway of the command's own. The
// model may only say that it lacks a tool, and nobody sees the gateway's log.
func (p program) warnOfServers(s *gateway.Service) {
	for _, server := range s.Disconnected() {
		fmt.Fprintf(p.stderr, "sluice ask: warning: the MCP server %s (%s) is unavailable; its tools were not offered\n", server.Name, server.Address())
	}
}

// adviseOnFailure says where to look if a turn failed at a gateway of the command's own, since nobody
// sees its log. The log does not mention a refused request. It returns the exit code.
func (p program) adviseOnFailure(own bool, outcome ask.Outcome) int {
	code := exitCodeOf(outcome)
	if own && code == exitFailed && outcome != ask.Refused && p.logIfWanted() == io.Discard {
		fmt.Fprintln(p.stderr, "sluice: with SLUICE_LOG_LEVEL=warning the gateway's log says why; sluice doctor --config FILE asks each model of a file")
	}
	return code
}

// messageText returns the text of a turn: given, or the text from a pipe if given is "-". An empty
// given reads the pipe too, unless needless is true or stdin is a terminal. White space around that
// is dropped.
func (p program) messageText(given string, needless bool) (string, error) {
	if given != "-" && (given != "" || needless || terminal.IsTerminal(p.stdin)) {
		return given, nil
	}
	text, err := p.textOf("-")
	return strings.TrimSpace(text), err
}

// newClient returns a client of the gateway at base, for a command. Without approve and reject
// it asks the person at the terminal.
func (p program) newClient(command, base string, approve, reject bool) *ask.Client {
	c := &ask.Client{
		Command: command, Base: base, Simulator: providers.OfflineModel,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, Lookup: p.lookup,
	}
	switch {
	case approve:
		c.Action = ask.Approve
	case reject:
		c.Action = ask.Reject
	}
	return c
}

// withCredential returns the headers of a client of a gateway: those that are given, and the
// credential of SLUICE_KEY unless there is one among them.
func withCredential(cfg config.Config, given http.Header) http.Header {
	key := config.Of[settings.Client](&cfg).Key
	if key == "" || given.Get("Authorization") != "" || given.Get("X-API-Key") != "" {
		return given
	}
	header := given.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Authorization", "Bearer "+key.Reveal())
	return header
}

// exitCodeOf returns the exit code of an outcome.
func exitCodeOf(o ask.Outcome) int {
	switch o {
	case ask.Succeeded:
		return exitOK
	case ask.Unanswered:
		return exitAsked
	case ask.Unchecked:
		return exitUnchecked
	}
	return exitFailed
}

// startForAsk starts a gateway on a free port of the loopback interface. Its log
// would be in the way, so it is written, to stderr, only if a level was asked for.
//
// The admin port stays closed, for it might be taken by the gateway that serves.
func (p program) startForAsk(ctx context.Context, cfg config.Config, file settings.File) (*gateway.Service, error) {
	config.Change(&cfg, func(p *settings.Process) { p.Addr, p.AdminAddr = "127.0.0.1:0", "" })
	return gateway.Listen(ctx, gatewayConfig(cfg, file), p.logIfWanted())
}

// logIfWanted returns stderr if a level was asked for.
func (p program) logIfWanted() io.Writer {
	if level, _ := p.lookup("SLUICE_LOG_LEVEL"); level != "" {
		return p.stderr
	}
	return io.Discard
}

// newLogger returns the log of a command without a gateway: see logIfWanted.
func (p program) newLogger(cfg settings.Config) zerolog.Logger {
	return process.OwnLogger(process.NewLogger(p.logIfWanted(), settings.Of[settings.Logging](&cfg).Level))
}
