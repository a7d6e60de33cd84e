package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// careful are agents of which one says the canary and then calls what a person must allow.
// Another, failing, fails once the first one waits.
type careful struct {
	waits chan struct{} // closed when a checkpoint says so
}

func (c *careful) Begin(_ context.Context, id string, req *chat.Request, _ stream.Sink) (engine.Session, error) {
	return &carefulSession{all: c, id: id, allowed: req.Resumed != nil}, nil
}

type carefulSession struct {
	all     *careful
	id      string
	allowed bool
	over    bool
	asks    *chat.Question
}

func (s *carefulSession) Step(_ context.Context, sink stream.Sink) error {
	if s.id == "reviewer" {
		<-s.all.waits
		return &fault.Error{Type: fault.ModelUnavailable, Message: "no"}
	}
	if !s.allowed {
		s.asks = &chat.Question{Kind: chat.AskTools, Calls: []chat.PendingCall{{ID: "call_1", Tool: "echo", Server: "s"}}}
		return sink.Emit(&stream.Delta{Text: "CANARY"})
	}
	s.over = true
	return sink.Emit(&stream.Delta{Text: "done"})
}

func (s *carefulSession) IsOver() bool                    { return s.over }
func (s *carefulSession) Waits() *chat.Question           { return s.asks }
func (s *carefulSession) State() (jsontext.Value, error)  { return jsontext.Value(`"CANARY"`), nil }
func (s *carefulSession) Silent() (jsontext.Value, error) { return jsontext.Value(`"silent"`), nil }
func (s *carefulSession) Result() stream.Result           { return stream.Result{Reason: stream.Stop} }

// written is a keeper that notes the text of all that it is given.
type written struct {
	*engine.Kept
	mu    sync.Mutex // guards the field below
	all   string
	waits chan struct{}
	once  sync.Once
}

func (w *written) note(values ...any) {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all += string(text) + "\n"
}

func (w *written) Save(ctx context.Context, c *engine.Checkpoint) error {
	w.note(c, c.Messages, c.Ended)
	if c.AwaitingHuman {
		w.once.Do(func() { close(w.waits) })
	}
	return w.Kept.Save(ctx, c)
}

func (w *written) Wait(_ context.Context, p *engine.Progress) error {
	w.note(p)
	return nil
}

func (w *written) Journal(ctx context.Context, e *engine.Entry) error {
	w.note(e)
	return w.Kept.Journal(ctx, e)
}

// What an agent has said before it waits for a person is kept once it is sent. Where the
// answer is held back, and nobody can be asked, or the run fails meanwhile, it is not sent,
// and so it is not kept.
func TestWordsBeforeAQuestion(t *testing.T) {
	t.Parallel()
	const alone = "  w: {nodes: {x: {type: agent, agent: writer}}}\n"
	for name, tt := range map[string]struct {
		content string
		held    bool
		refusal string
		want    bool // the words are kept
		asked   bool
	}{
		"asked":            {alone, true, "", true, true},
		"nobody there":     {alone, true, "nobody is there", false, false},
		"live":             {alone, false, "nobody is there", true, false},
		"a branch fails":   {"  w: {nodes: {c: {type: condition}, a: {type: tool, tool: s/look}, x: {type: agent, agent: writer}, y: {type: agent, agent: reviewer}}, edges: [{from: c, to: a}, {from: a, to: x}, {from: a, to: y}]}\n", true, "", false, false},
		"it fails, a live": {"  w: {nodes: {c: {type: condition}, a: {type: tool, tool: s/look}, x: {type: agent, agent: writer}, y: {type: agent, agent: reviewer}}, edges: [{from: c, to: a}, {from: a, to: x}, {from: a, to: y}]}\n", false, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waits := make(chan struct{})
			kept := &written{Kept: new(engine.Kept), waits: waits}
			r := runOf(t, tt.content, engine.Config{Agents: &careful{waits}, Tools: lockedTools{echoTools()},
				Records: func(context.Context, *engine.Run) (engine.Records, error) { return kept, nil },
				Load:    func(context.Context, string) (*engine.Run, error) { return nil, errors.New("not here") }})
			facts := chat.Facts{Held: func() bool { return tt.held }, Ask: func(*chat.Paused) string {
				if tt.held && strings.Contains(kept.all, "CANARY") {
					t.Errorf("kept before it is sure that it is sent: %s", kept.all)
				}
				return tt.refusal
			}}
			l := new(log)
			result, err := r.Run(t.Context(), &chat.Request{Input: "hi", Facts: facts}, l)
			if (err != nil) != strings.Contains(name, "fails") || (result.Paused != nil) != tt.asked {
				t.Fatalf("%v, %+v", err, result)
			}
			if result.StoreAnswer != nil {
				if err := result.StoreAnswer("what was sent"); err != nil {
					t.Error(err)
				}
			}
			if strings.Contains(kept.all, "CANARY") != tt.want || !strings.Contains(l.text(), "CANARY") {
				t.Errorf("said %q, kept\n%s", l.text(), kept.all)
			}
			if tt.held && tt.want && !strings.Contains(kept.all, `"silent"`) {
				t.Errorf("the words were kept with the first checkpoint:\n%s", kept.all)
			}
		})
	}
}
