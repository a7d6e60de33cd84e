// This file is the command ask: one turn or a conversation, shown as it comes. It is a
// client like any other and speaks HTTP even to the gateway that it starts itself, so that
// it shows what clients get. How a stream that broke is taken up is in ask_kept.go,
// questions to a person in ask_approval.go, what is shown in terminal.go.

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/clients/terminal"
	"sluice/config"
	"sluice/internal/gateway"
	"sluice/internal/process"
	"sluice/internal/settings"
	"sluice/stream/sse"
)

// maxFrame bounds one event that ask reads: an answer of 2 MiB, twice, escaped.
//
// An answer is at most 2 MiB; done and delta can both hold it, and JSON may escape each
// byte.
const maxFrame = 16 << 20

// askFlags are the flags of ask, but for those of a structured answer (formFlags).
type askFlags struct {
	url, channel, resume, user                  *string
	raw, talk, drafts, approve, reject, waiting *bool
}

// newAskFlags adds the flags.
func newAskFlags(l *config.Loader) askFlags {
	return askFlags{
		url:     l.String("url", "", "talk to the gateway at this base URL instead of starting one"),
		raw:     l.Bool("json", "print the raw events, one JSON object a line"),
		talk:    l.Bool("chat", "hold a conversation: each line of stdin is a message, sent with what was said before; TEXT may be the first one"),
		channel: l.String("channel", "", "have the answer in the form of a channel, such as sms or email"),
		drafts:  l.Bool("drafts", "show an answer that is held back until it is checked as it is written"),
		approve: l.Bool("approve", "allow every tool call that a person must allow"),
		reject:  l.Bool("reject", "allow none of them"),
		user:    l.String("user", "", "who asks, or answers: the user_id of the turn, of an answer, and of --waiting"),
		waiting: l.Bool("waiting", "in place of a message: answer what waits for --user, of turns that others began too"),
		resume:  l.String("resume", "", "in place of a message: follow the turn with this id, of a task or a turn, from its first event; or from behind the event with this id"),
	}
}

// streamed says whether a flag was given that only a stream of events gives a meaning.
func (f askFlags) streamed() bool {
	return *f.url != "" || *f.raw || *f.talk || *f.resume != "" || *f.waiting
}

// misuse says what is wrong with the flags together and the message, text; empty: nothing.
func (f askFlags) misuse(text string) string {
	switch {
	case *f.resume != "" && (text != "" || *f.talk || !canResume(*f.resume)):
		return "--resume takes the id of a task or of a turn, such as task_… and turn_…, and no message beside it"
	case *f.waiting && (text != "" || *f.talk || *f.resume != "" || *f.url == "" || *f.user == ""):
		return "--waiting needs --url and --user, and takes no message, --chat or --resume beside it"
	case text == "" && !*f.talk && *f.resume == "" && !*f.waiting:
		return `give the message as one argument: sluice ask "Remind me to buy eggs tomorrow at 3pm"`
	case *f.approve && *f.reject:
		return "--approve and --reject exclude each other"
	}
	return ""
}

// ask posts one message, holds a conversation, or follows a turn that was begun elsewhere,
// and shows the events as they come.
// The exit code is that of the last turn: see codeOf.
//
// Without --url a gateway is started on a free port and ended with the command. Flags that
// contradict each other end with exitUsage before anything is started.
func (p program) ask(ctx context.Context, args []string) int {
	var file settings.File
	l := settings.LoaderWith(&file)
	l.MaxArgs = 1
	f := newAskFlags(l)
	form := newFormFlags(l, f.streamed)
	cfg, code, ok := p.load(l, args)
	if !ok {
		return code
	}
	text := strings.Join(l.Args(), "")
	if wrong := f.misuse(text); wrong != "" {
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
			return p.refuse(err)
		}
		defer s.Close()
		base = "http://" + reachable(s.Addr())
	}
	return p.askAt(ctx, base, f, text)
}

// askAt asks the gateway at base. It returns the exit code.
func (p program) askAt(ctx context.Context, base string, f askFlags, text string) int {
	var show viewer = &screen{out: p.stdout, style: terminal.StyleFor(p.stdout, p.lookup)}
	if *f.raw {
		show = &jsonLines{out: p.stdout}
	}
	lines := p.lineReader(ctx)
	decide := p.deciderOf(*f.approve, *f.reject, lines)
	decide.user = *f.user
	switch {
	case *f.resume != "":
		return p.resume(ctx, base, *f.resume, show, decide)
	case *f.waiting:
		return p.answerWaiting(ctx, base, show, decide)
	}
	asked := conversation{Input: text, User: *f.user, Channel: *f.channel, Drafts: *f.drafts}
	if *f.talk {
		return p.converse(ctx, base, asked, show, lines, decide)
	}
	_, code, err := p.turn(ctx, base, asked, show, decide)
	return p.verdict(code, err)
}

// verdict returns the exit code of a turn, whose error it prints.
//
// code counts only if err is nil. A question that nobody could answer has its own code, so
// that a script can distinguish it from a failure.
func (p program) verdict(code int, err error) int { return p.verdictOf("sluice ask", code, err) }

// verdictOf is verdict for a command of another name.
func (p program) verdictOf(command string, code int, err error) int {
	if err != nil {
		fmt.Fprintf(p.stderr, "%s: %s\n", command, terminal.Printable(err.Error())) // it may repeat what the gateway said
		if errors.Is(err, errAsked) {
			return exitAsked
		}
		return exitFailed
	}
	return code
}

// codeOf returns the exit code of a turn, which its done reports: 0 is a success, and
// exitUnchecked one whose answer did not pass its checks.
func codeOf(done eventData) int {
	switch {
	case !done.Success:
		return exitFailed
	case done.Quality != nil && !done.Quality.Passed:
		return exitUnchecked
	}
	return exitOK
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

// logger is the log of a command without a gateway: see logIfWanted.
func (p program) logger(cfg settings.Config) zerolog.Logger {
	return process.OwnLogger(process.NewLogger(p.logIfWanted(), settings.Of[settings.Logging](&cfg).Level))
}

// viewer shows the events of a turn.
//
// show is called for each event in order, from one goroutine. Its error ends the turn.
type viewer interface {
	show(ev sse.Event, data eventData) error
}

// eventData is the union of what ask reads of the events' data.
//
// A member means what docs/events.md says of it in the event at hand; others are zero. New
// events of a gateway do not break it: members that it does not know are passed over.
type eventData struct {
	RequestID    string         `json:"request_id"`
	TaskID       string         `json:"task_id"`
	Model        string         `json:"model"`
	Key          string         `json:"key"`
	Previous     string         `json:"previous"`
	Reason       string         `json:"reason"`
	Content      string         `json:"content"`
	Tool         string         `json:"tool_name"`
	Server       string         `json:"server"`
	Arguments    jsontext.Value `json:"arguments"`
	Status       string         `json:"status"`
	Progress     float64        `json:"progress"`
	Total        float64        `json:"total"`
	Duration     int64          `json:"duration_ms"`
	Result       string         `json:"result"`
	Error        string         `json:"error"`
	Delta        string         `json:"delta"`
	ErrorType    string         `json:"error_type"`
	Message      string         `json:"message"`
	Success      bool           `json:"success"`
	Finish       string         `json:"finish_reason"`
	teamData     `json:",inline"`
	approvalData `json:",inline"`
	checkData    `json:",inline"`
	Usage        struct {
		Input    int `json:"input_tokens"`
		Output   int `json:"output_tokens"`
		Thinking int `json:"thinking_tokens"`
	} `json:"usage"`
	Timings struct {
		Total      int64  `json:"total_ms"`
		FirstDelta *int64 `json:"first_delta_ms"`
	} `json:"timings"`
}

// said is what came of a stream.
//
// code holds only if the turn ended without an error.
type said struct {
	text  string          // of the answer, as much of it as came
	code  int             // the exit code of the turn
	waits bool            // the turn has ended for now because people are asked
	asked []*approvalData // what they are asked
}

// post runs one turn, or continues with one.
func (p program) post(ctx context.Context, base string, c conversation, show viewer) (said, error) {
	return p.send(ctx, base, "/chat/stream", c, show)
}

// send posts a body, and shows the turn that it begins or continues with.
//
// The key for idempotency is new for each call, so that a retry by a proxy does not run a
// turn twice.
func (p program) send(ctx context.Context, base, path string, given any, show viewer) (said, error) {
	body, err := json.Marshal(given)
	if err != nil {
		return said{code: exitFailed}, errors.New("the message is not valid UTF-8")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return said{code: exitFailed}, err
	}
	req.Close = true // the next one may be long in coming
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "ask-"+rand.Text())
	a := &asking{base: base, show: show, note: p.stderr}
	code, err := a.run(ctx, req)
	return a.said(code), err
}

// refusal is what a problem reply says.
//
// status is kept for callers that can mend some of them, such as 422.
type refusal struct {
	status int
	text   string
}

// Error is what the gateway replied, for people.
func (r *refusal) Error() string { return r.text }

// refused says what a problem reply says.
//
// A reply without the problem's detail (RFC 9457) is reported by its status line; 64 KiB of it
// are read.
func refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(body, &p) != nil || p.Detail == "" {
		return &refusal{resp.StatusCode, "the gateway answered " + resp.Status}
	}
	return &refusal{resp.StatusCode, fmt.Sprintf("the gateway answered %s: %s", resp.Status, p.Detail)}
}

// jsonLines prints each event as one line of JSON.
//
// It is for programs: a line is one event, with nothing left out and nothing that could
// steer a terminal.
type jsonLines struct{ out io.Writer }

// show prints an event as one line, data as it was sent.
func (j *jsonLines) show(ev sse.Event, _ eventData) error {
	line, err := json.Marshal(struct {
		ID    string         `json:"id"`
		Event string         `json:"event"`
		Data  jsontext.Value `json:"data"`
	}{ev.ID, ev.Type, jsontext.Value(ev.Data)}, jsontext.PreserveRawStrings(true))
	if err != nil {
		return err
	}
	_, err = j.out.Write(append(terminal.PrintableJSON(line), '\n'))
	return err
}
