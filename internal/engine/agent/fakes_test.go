package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// scene is a turn to be played: what is asked, and how model and tools behave.
type scene struct {
	agent.Config
	request chat.Request
	answers []answer // one for each model call
	tools   *tool.Set
	listing time.Duration // how long it takes to learn which tools there are
	call    func(context.Context, tool.Call) (tool.Result, error)
	// onEmit and onFlush, if there, decide how the n-th Emit or Flush, from 1, fails.
	onEmit, onFlush func(n int) error
	timeout         time.Duration // of the turn; 0: 30 s
	turn            chat.Turn
	cut             bool // the turn is stored and continued between steps
	decide          func(*agent.State)
	wrap            func(*agent.Agent) stream.Runner // what runs the agent; nil: it does so itself
}

// logged logs the error that ends a turn, as the package that frames turns does.
func logged(ctx context.Context, err error) {
	zerolog.Ctx(ctx).Error().Dict("details", zerolog.Dict().
		Str("error_type", string(fault.From(err).Type)).Str("error_message", fault.LogText(err, false)).
		Bool("recoverable", fault.From(err).Type.Recoverable())).Msg("error_occurred")
}

// outcome is what came of a scene.
type outcome struct {
	events   []string // in the words of describe
	faults   []stream.Error
	done     stream.Done
	requests []chat.ModelRequest
	calls    []tool.Call // as they began
	safe     []string    // ids of calls of which nothing is left if they end unseen
	flushed  []int       // events in each Flush that had any
	log      string
	elapsed  time.Duration
	err      error
}

// answer is one model call.
type answer func(ctx context.Context, yield func(*chat.Chunk) error) error

// cancelKey finds the function that ends the turn's context with a cause.
type cancelKey struct{}

func cancelTurn(ctx context.Context, cause error) {
	ctx.Value(cancelKey{}).(context.CancelCauseFunc)(cause)
}

// play runs the scene in a bubble, where time costs nothing and a goroutine that
// is left over is an error.
func play(t *testing.T, s scene) (got outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		ctx = context.WithValue(ctx, cancelKey{}, cancel)
		var log bytes.Buffer
		ctx = chat.WithTurn(zerolog.New(&log).WithContext(ctx), s.turn)

		rec := &recorder{t: t, out: &got, onEmit: s.onEmit, onFlush: s.onFlush}
		s.Model = &model{t: t, rec: rec, answers: s.answers}
		s.Tools = &tools{t: t, rec: rec, set: s.tools, listing: s.listing, call: s.call}
		if s.request.Input == "" {
			s.request.Input = "hi"
		}
		began := time.Now()
		var run stream.Runner = agent.New(s.Config)
		if s.wrap != nil {
			run = s.wrap(agent.New(s.Config))
		}
		if s.cut {
			run = &stepwise{[]*agent.Agent{agent.New(s.Config), agent.New(s.Config)}, s.decide}
		}
		frame := stream.Frame{Runner: run, Model: s.Model.Name(), Timeout: s.timeout, OnError: logged}
		if s.timeout == 0 {
			frame.Timeout = 30 * time.Second
		}
		got.err = frame.Run(ctx, &s.request, rec)
		got.elapsed, got.log = time.Since(began), log.String()
		if errors.Is(got.err, stream.ErrGrammar) {
			t.Errorf("the grammar is broken: %v", got.err)
		}
		if got.err == nil && got.done.Reason == "" {
			t.Error("Run returned nil without Done")
		}
		if got.err == nil && rec.held > 0 {
			t.Errorf("%d events were never flushed", rec.held)
		}
	})
	return got
}

func (o *outcome) want(t *testing.T, events ...string) {
	t.Helper()
	if diff := cmp.Diff(events, o.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// recorder is the sink at the end.
type recorder struct {
	t               *testing.T
	out             *outcome
	onEmit, onFlush func(n int) error
	emits, flushes  int
	held            int // events since the last Flush
	failed          atomic.Bool
}

func (r *recorder) Emit(ev stream.Event) error {
	if r.failed.Load() {
		r.t.Errorf("Emit(%s) after the sink failed", describe(ev))
	}
	if r.emits++; r.onEmit != nil {
		if err := r.onEmit(r.emits); err != nil {
			r.failed.Store(true)
			return err
		}
	}
	r.held++
	r.out.events = append(r.out.events, describe(ev))
	switch ev := ev.(type) {
	case *stream.ToolStarted:
		if ev.Repeatable {
			r.out.safe = append(r.out.safe, ev.ID)
		}
	case *stream.Error:
		r.out.faults = append(r.out.faults, *ev)
	case *stream.Done:
		r.out.done = *ev
	}
	return nil
}

func (r *recorder) Flush() error {
	if r.failed.Load() {
		r.t.Error("Flush after the sink failed")
	}
	if r.flushes++; r.onFlush != nil {
		if err := r.onFlush(r.flushes); err != nil {
			r.failed.Store(true)
			return err
		}
	}
	if r.held > 0 {
		r.out.flushed = append(r.out.flushed, r.held)
	}
	r.held = 0
	return nil
}

// describe writes an event as a line.
func describe(ev stream.Event) string {
	switch ev := ev.(type) {
	case *stream.Start:
		return "start " + ev.Model
	case *stream.Thinking:
		return "thinking " + ev.Content
	case *stream.Delta:
		return "delta " + ev.Text
	case *stream.ToolStarted:
		return fmt.Sprintf("call %s %s@%s %s", ev.ID, ev.Tool, ev.Server, ev.Arguments)
	case *stream.ToolProgress:
		return fmt.Sprintf("progress %s %v/%v %s", ev.ID, ev.Progress, ev.Total, ev.Message)
	case *stream.ToolCompleted:
		return fmt.Sprintf("completed %s %v %s", ev.ID, ev.Duration, ev.Result)
	case *stream.ToolFailed:
		return fmt.Sprintf("failed %s %v %s", ev.ID, ev.Duration, ev.Message)
	case *stream.ToolUnknown:
		return fmt.Sprintf("unknown %s %v %s", ev.ID, ev.Duration, ev.Message)
	case *stream.Error:
		fatal := ""
		if ev.Fatal {
			fatal = "fatal "
		}
		return fmt.Sprintf("error %s%s %s", fatal, ev.Type, ev.Message)
	case *stream.ModelChanged:
		return fmt.Sprintf("model %d %s %s %s %s", ev.Step, ev.Key, ev.Model, ev.Previous, ev.Reason)
	case *stream.Done:
		return "done " + string(ev.Reason)
	}
	return fmt.Sprintf("%T", ev)
}

// model answers from the script and notes what it was asked.
type model struct {
	t       *testing.T
	rec     *recorder
	answers []answer
}

func (m *model) Name() string { return "m" }

func (m *model) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	if m.rec.failed.Load() {
		m.t.Error("the model is asked after the sink failed")
	}
	if m.rec.held > 0 {
		m.t.Errorf("the model is asked while %d events are held back", m.rec.held)
	}
	seen := *req
	seen.Messages = slices.Clone(req.Messages)
	m.rec.out.requests = append(m.rec.out.requests, seen)
	n := len(m.rec.out.requests)
	if n > len(m.answers) {
		return fmt.Errorf("model call %d is not in the script", n)
	}
	return m.answers[n-1](ctx, yield)
}

// chunks streams what is given and then takes it back: a chunk is valid until
// yield returns, and a sink that kept more than its strings will show it.
func chunks(cs ...chat.Chunk) answer {
	return func(_ context.Context, yield func(*chat.Chunk) error) error {
		for _, c := range cs {
			parts := make([]chat.Part, len(c.Parts))
			for i, p := range c.Parts {
				if parts[i] = p; p.Call != nil {
					call := *p.Call
					call.Arguments = call.Arguments.Clone()
					parts[i].Call = &call
				}
			}
			c.Parts = parts
			if err := yield(&c); err != nil {
				return err
			}
			for i := range parts {
				if call := parts[i].Call; call != nil {
					clear(call.Arguments)
					*call = tool.Call{Name: "stale"}
				}
				parts[i] = chat.Part{Text: "stale"}
			}
		}
		return nil
	}
}

// says is a plain answer, a chunk for each text.
func says(texts ...string) answer {
	var cs []chat.Chunk
	for _, s := range texts {
		cs = append(cs, chat.Chunk{Parts: []chat.Part{{Text: s}}})
	}
	return chunks(append(cs, chat.Chunk{Finish: chat.FinishStop})...)
}

// wants is an answer that calls tools.
func wants(calls ...tool.Call) answer {
	var parts []chat.Part
	for i := range calls {
		parts = append(parts, chat.Part{Call: &calls[i]})
	}
	return chunks(chat.Chunk{Parts: parts, Finish: chat.FinishStop})
}

func fails(err error) answer {
	return func(context.Context, func(*chat.Chunk) error) error { return err }
}

func call(id, name, args string) tool.Call {
	return tool.Call{ID: id, Name: name, Arguments: []byte(args)}
}

// tools runs the scene's function. Without one, each tool says "ok".
type tools struct {
	t       *testing.T
	rec     *recorder
	set     *tool.Set
	listing time.Duration
	call    func(context.Context, tool.Call) (tool.Result, error)
	mu      sync.Mutex // guards rec.out.calls
}

// addAndRead are the tools of a scene that names no others. read may be repeated.
var addAndRead = &tool.Set{Specs: []tool.Spec{
	{Name: "add", Server: "todo"},
	{Name: "read", Server: "todo", Annotations: tool.Annotations{ReadOnly: true}},
}}

func (f *tools) Tools(ctx context.Context) *tool.Set {
	if f.rec.held > 0 {
		f.t.Errorf("the tools are listed while %d events are held back", f.rec.held)
	}
	_ = wait(ctx, f.listing)
	if f.set == nil {
		return addAndRead
	}
	return f.set
}

func (f *tools) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if f.rec.failed.Load() {
		f.t.Errorf("%s is called after the sink failed", c.Name)
	}
	f.mu.Lock()
	f.rec.out.calls = append(f.rec.out.calls, c)
	f.mu.Unlock()
	if f.call == nil {
		return result(c, "ok"), nil
	}
	return f.call(ctx, c)
}

func result(c tool.Call, text string) tool.Result {
	return tool.Result{ID: c.ID, Name: c.Name, Text: text}
}

// wait lets d pass, or less if ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// text joins the deltas.
func (o outcome) text() (all string) {
	for _, ev := range o.events {
		if s, ok := strings.CutPrefix(ev, "delta "); ok {
			all += s
		}
	}
	return all
}
