package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// again is a word of an answer that takes back all of it so far.
const again = "<again> "

// agents answer by a function of what they are asked, a word at a time.
type agents struct {
	answer func(agent string, req *chat.Request) string
	pace   func(agent string) time.Duration // before each word; nil: none
	calls  tool.Call                        // made in a first step, if it has a name
	tools  interface {
		Tools(context.Context) *tool.Set
		Call(context.Context, tool.Call) (tool.Result, error)
	}

	mu    sync.Mutex // guards the field below
	asked []chat.Request
}

func (a *agents) Begin(_ context.Context, id string, req *chat.Request, _ stream.Sink) (engine.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, *req)
	s := &session{of: a, agent: id, req: req}
	if req.Resumed != nil {
		p, err := run.ReadPaused(chat.PausedAgent, req.Resumed.State)
		if err == nil {
			err = p.Into(&s.Steps)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

type session struct {
	of    *agents
	agent string
	req   *chat.Request
	Steps int
	over  bool
}

func (s *session) Step(ctx context.Context, sink stream.Sink) error {
	s.Steps++
	if s.of.calls.Name != "" && s.Steps == 1 {
		c := stream.Call{ID: "call_1", Tool: s.of.calls.Name, Server: "s", Arguments: s.of.calls.Arguments}
		if err := sink.Emit(&stream.ToolStarted{Call: c}); err != nil {
			return err
		}
		result, err := s.req.Facts.Guard.Call(ctx, s.of.tools.Tools(ctx).Lookup(s.of.calls.Name), s.of.calls, s.of.tools.Call)
		if err != nil {
			return err
		}
		return sink.Emit(&stream.ToolCompleted{Call: c, Result: result.Text})
	}
	answer := s.of.answer(s.agent, s.req)
	if message, failed := strings.CutPrefix(answer, "fail: "); failed {
		return &fault.Error{Type: fault.ModelUnavailable, Message: message}
	}
	said := 0
	for _, word := range strings.SplitAfter(answer, " ") {
		if word == again {
			if err := sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: said, Runes: said}); err != nil {
				return err
			}
			said = 0
			continue
		}
		said += len(word)
		if s.of.pace != nil {
			select {
			case <-time.After(s.of.pace(s.agent)):
			case <-ctx.Done():
				return fault.Cause(ctx)
			}
		}
		if err := sink.Emit(&stream.Delta{Text: word}); err != nil {
			return err
		}
		if err := sink.Flush(); err != nil {
			return err
		}
	}
	s.over = true
	return nil
}

func (s *session) IsOver() bool          { return s.over }
func (s *session) Waits() *chat.Question { return nil }
func (s *session) State() (jsontext.Value, error) {
	p, err := run.Pause(chat.PausedAgent, s.Steps)
	if err != nil {
		return nil, err
	}
	return p.Encode(), nil
}
func (s *session) Silent() (jsontext.Value, error) { return s.State() }
func (s *session) Result() stream.Result {
	return stream.Result{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1, OutputTokens: 2}, Model: []time.Duration{1}}
}

// tools are those of a server s, which answer by a function.
type tools struct {
	set    *tool.Set
	answer func(call tool.Call) (tool.Result, error)
	made   []tool.Call
}

func (t *tools) Tools(context.Context) *tool.Set { return t.set }
func (t *tools) Named(_ context.Context, server, name string) string {
	for _, s := range t.set.Specs {
		if s.Server == server && s.Name == name {
			return s.Name
		}
	}
	return ""
}

func (t *tools) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	t.made = append(t.made, call)
	return t.answer(call)
}

// critic gives the scores one after the other.
type critic struct {
	scores []float64
	texts  []string
}

func (c *critic) Ask(_ context.Context, agent, text string, _ jsontext.Value) (engine.Reply, error) {
	c.texts = append(c.texts, agent+": "+text)
	score := c.scores[0]
	c.scores = c.scores[1:]
	return engine.Reply{JSON: jsontext.Value(fmt.Sprintf(`{"score":%v,"passed":%v,"feedback":"more"}`, score, score >= 8))}, nil
}

// log keeps the events of a run, which it has checked.
type log struct{ events []stream.Event }

func (l *log) Emit(ev stream.Event) error {
	stored, err := stream.AppendStored(nil, stream.Stamp{N: len(l.events) + 1}, ev)
	if err != nil {
		return err
	}
	return stream.ReadStoredLine(stored, func(_ stream.Stamp, again stream.Event) { l.events = append(l.events, again) })
}

func (l *log) Flush() error { return nil }

// lines reports the events in a few words each.
func (l *log) lines() (lines []string) {
	for _, ev := range l.events {
		switch e := ev.(type) {
		case *stream.NodeRun:
			line := e.NodeID + " " + string(e.Status)
			if e.Attempt > 1 {
				line += fmt.Sprintf(" attempt %d", e.Attempt)
			}
			if e.Iteration > 0 {
				line += fmt.Sprintf(" after %d", e.Iteration)
			}
			if e.ErrorType != "" {
				line += " " + string(e.ErrorType)
			}
			lines = append(lines, line)
		case *stream.InnerDelta:
			lines = append(lines, fmt.Sprintf("%s inner %q", e.NodeID, e.Delta))
		case *stream.Delta:
			lines = append(lines, fmt.Sprintf("%s says %q", e.NodeID, e.Text))
		case *stream.Reset:
			lines = append(lines, fmt.Sprintf("%s takes back to %q", e.NodeID, e.Accumulated))
		case *stream.ToolStarted:
			lines = append(lines, e.NodeID+" calls "+e.Tool+string(e.Arguments))
		case *stream.ToolCompleted:
			lines = append(lines, e.NodeID+" got "+e.Result)
		case *stream.ToolFailed:
			lines = append(lines, e.NodeID+" failed call "+e.Message)
		case *stream.Error:
			lines = append(lines, fmt.Sprintf("%serror %s fatal=%v recoverable=%v", e.NodeID+" ", e.Type, e.Fatal, e.Recoverable))
		case *stream.Done:
			lines = append(lines, "done "+string(e.Reason))
		}
	}
	return lines
}

func (l *log) text() (text string) {
	for _, ev := range l.events {
		switch ev := ev.(type) {
		case *stream.Delta:
			text += ev.Text
		case *stream.Reset:
			text = ev.Accumulated
		}
	}
	return text
}

// turn runs one turn within the grammar.
func turn(ctx context.Context, r stream.Runner, req *chat.Request) (*log, error) {
	l := new(log)
	frame := stream.Frame{Runner: r}
	return l, frame.Run(ctx, req, l)
}

// askable are the facts of a turn in which a person can be asked.
func askable() chat.Facts { return chat.Facts{Ask: func(*chat.Paused) string { return "" }} }
