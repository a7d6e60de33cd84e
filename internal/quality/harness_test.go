package quality_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const requestID = "req_0123456789ab"

// sectionsOf reads the sections of a configuration file.
func sectionsOf(t testing.TB, yaml string) (s quality.Spec) {
	t.Helper()
	if yaml == "" {
		return s
	}
	table := file.Table{
		quality.Section(&s, "web", "sms"),
		quality.OfAgents(&s, file.Section{Name: "agents", Schema: `{"type":"object","additionalProperties":{"type":"object","properties":{"quality":{"$comment": "schema of quality"}}}}`, Read: func(*file.Node) {}}),
	}
	r := table.Read("f", []byte(yaml), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	if len(r.Faults) > 0 {
		t.Fatalf("%v", r.Faults)
	}
	return s
}

// clientView is what a client received, an event a line.
type clientView struct {
	lines []string
	done  *stream.Done
	text  string
}

func (s *clientView) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		s.text += ev.Text
		s.lines = append(s.lines, strings.TrimSpace(fmt.Sprintf("delta %q %s", ev.Text, ev.AgentID)))
	case *stream.InnerDelta:
		s.lines = append(s.lines, fmt.Sprintf("draft %d %q", ev.Attempt, ev.Delta))
	case *stream.Quality:
		line := fmt.Sprintf("%s %d", ev.Phase, ev.Attempt)
		if ev.Chars > 0 {
			line += fmt.Sprintf(" chars=%d", ev.Chars)
		}
		if ev.Plan != nil {
			line += " plan"
		}
		if ev.Failed != nil {
			line += fmt.Sprintf(" failed=%v", ev.Failed)
		}
		s.lines = append(s.lines, line)
	case *stream.Error:
		s.lines = append(s.lines, fmt.Sprintf("error %s %v", ev.Type, ev.Fatal))
	case *stream.ChannelMessage:
		s.lines = append(s.lines, fmt.Sprintf("message %d/%d %q", ev.Sequence, ev.Total, ev.Content))
	case *stream.Done:
		s.done = ev
		s.lines = append(s.lines, "done "+string(ev.Reason))
	default:
		s.lines = append(s.lines, stream.Name(ev))
	}
	return nil
}

func (s *clientView) Flush() error { return nil }

// inner is a runner that does what was asked of it.
type inner func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error)

func (f inner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	return f(ctx, req, sink)
}

// says is an inner runner that asks a tool and says something, in pieces.
func says(pieces ...string) inner {
	return func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		call := stream.Call{ID: "c1", Tool: "get_hours", Arguments: jsontext.Value(`{}`)}
		_ = sink.Emit(&stream.ToolStarted{Call: call})
		_ = sink.Emit(&stream.ToolCompleted{Call: call, Result: `{"hours_logged":32,"hours_target":40}`})
		for _, p := range pieces {
			if err := sink.Emit(&stream.Delta{Text: p}); err != nil {
				return stream.Result{}, err
			}
		}
		return stream.Result{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1}}, sink.Flush()
	}
}

// again is an inner runner that takes back what it has said first, then says something.
func again(half string, pieces ...string) inner {
	return func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		_ = sink.Emit(&stream.Delta{Text: half})
		_ = sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: len(half), Runes: len(half)})
		return says(pieces...)(ctx, req, sink)
	}
}

// asker answers planner and judge.
type asker struct {
	plan, judge func(ctx context.Context, q *quality.Question) (quality.Reply, error)
	asked       []string // names, with what was asked
}

func (a *asker) Ask(ctx context.Context, q *quality.Question) (quality.Reply, error) {
	f := a.judge
	if q.Name == "plan" {
		f = a.plan
	} else {
		a.asked = append(a.asked, q.User)
	}
	if f == nil {
		f = replies(`{"criteria":[],"steps":[],"verdicts":[]}`)
	}
	return f(ctx, q)
}

func replies(text string) func(context.Context, *quality.Question) (quality.Reply, error) {
	return func(context.Context, *quality.Question) (quality.Reply, error) {
		return quality.Reply{JSON: jsontext.Value(text), Usage: chat.Usage{InputTokens: 10, OutputTokens: 1}}, nil
	}
}

// verdicts answers the judge with these, true or false each.
func verdicts(passed map[string]bool) string {
	type verdict struct {
		ID       string `json:"id"`
		Passed   bool   `json:"passed"`
		Feedback string `json:"feedback"`
	}
	list := []verdict{}
	for id, ok := range passed {
		list = append(list, verdict{id, ok, "because"})
	}
	text, _ := json.Marshal(map[string]any{"verdicts": list})
	return string(text)
}

// writer rewrites.
type writer func(ctx context.Context, o *quality.Order, yield func(string) error) (quality.Written, error)

func (f writer) Write(ctx context.Context, o *quality.Order, yield func(string) error) (quality.Written, error) {
	return f(ctx, o, yield)
}

func writes(pieces ...string) writer {
	return func(_ context.Context, _ *quality.Order, yield func(string) error) (quality.Written, error) {
		for _, p := range pieces {
			if err := yield(p); err != nil {
				return quality.Written{}, err
			}
		}
		return quality.Written{Usage: chat.Usage{InputTokens: 5}, Finish: chat.FinishStop}, nil
	}
}

// phone is a formatter that shouts, and parts a text at "|". "forever" takes as long as the
// turn.
type phone struct{}

func (phone) Form() string { return "sms" }

func (phone) Format(ctx context.Context, in quality.Text) (*quality.Formatted, error) {
	if strings.Contains(in.Markdown, "forever") {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts := strings.Split(strings.ToUpper(in.Before+in.Markdown+in.After), "|")
	f := &quality.Formatted{Content: strings.Join(parts, ""), IsSplit: len(parts) > 1, Metadata: jsontext.Value(`{"x":1}`), Segments: len(parts),
		Response: func() jsontext.Value { return jsontext.Value(`{"content":"x"}`) }}
	f.Truncated = strings.Contains(in.Markdown, "cut")
	for i, p := range parts {
		f.Messages = append(f.Messages, stream.ChannelMessage{Channel: "sms", Sequence: i + 1, Total: len(parts), Content: p, ContentType: "text/plain", Encoding: "GSM-7", Segments: 1})
	}
	return f, nil
}

// turn is one turn of a checker.
type turn struct {
	yaml    string
	inner   stream.Runner
	asker   *asker
	writer  quality.Writer
	style   quality.Style
	sender  quality.Sender
	req     chat.Request
	agent   string
	timeout time.Duration
	spent   bool
	unkept  bool // the turn has no task
	// payloads has the log have texts.
	payloads bool
}

// runInner runs it through a Frame, whose Guard judges the grammar.
func (tt turn) runInner(t testing.TB) *clientView {
	t.Helper()
	turn := chat.Turn{RequestID: requestID}
	if tt.spent {
		turn.Budget = chat.NewTokenBudget(1)
		turn.Budget.Spend(chat.Usage{InputTokens: 1})
	}
	return tt.runIn(t, chat.WithTurn(t.Context(), turn))
}

func (tt turn) runIn(t testing.TB, ctx context.Context) *clientView {
	t.Helper()
	if !tt.unkept {
		tt.req.Task = "task_1"
	}
	cfg := quality.Config{
		Spec: sectionsOf(t, tt.yaml), Formatters: map[string]quality.Formatter{"sms": phone{}}, Writer: tt.writer, Style: tt.style,
		Agents: func(context.Context, *chat.Request) []quality.Agent {
			return []quality.Agent{{ID: "assistant", Tools: []string{"get_hours"}}}
		},
	}
	cfg.LogPayloads = tt.payloads
	if tt.asker != nil {
		cfg.Asker = tt.asker
	}
	if tt.sender != nil {
		cfg.Senders = map[string]quality.Sender{"sms": tt.sender}
	}
	c := quality.New(cfg)
	if faults := c.Check(&tt.req, tt.agent); len(faults) > 0 {
		t.Fatalf("the request is refused: %v", faults)
	}
	if tt.req.Input == "" {
		tt.req.Input = "How many hours?"
	}
	sink := new(clientView)
	run := tt.inner
	if c.Applies(&tt.req, tt.agent) {
		run = c.Around(run, tt.agent)
	}
	frame := stream.Frame{Runner: run, Timeout: tt.timeout, Model: "m"}
	_ = frame.Run(ctx, &tt.req, sink)
	return sink
}
