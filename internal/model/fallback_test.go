package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// answer is what a fake model does in one call: chunks, then an error or the end.
type answer struct {
	chunks []chat.Chunk
	err    error
}

// fakeLink plays answers in order behind a real breaker; the last one comes again.
type fakeLink struct {
	key     string
	answers []answer
	asked   []chat.ModelRequest
	breaker *breaker.Breaker
}

func newLink(key string, answers ...answer) *fakeLink {
	return &fakeLink{key: key, answers: answers, breaker: breaker.New(breaker.Config{Service: "model:" + key, Failures: 1000})}
}

func (f *fakeLink) Key() string  { return f.key }
func (f *fakeLink) Name() string { return "m-" + f.key }

func (f *fakeLink) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	done, err := f.breaker.Allow(ctx)
	if err != nil {
		return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Service: "model:" + f.key, Err: err}
	}
	defer done(breaker.Failure, nil)
	a := f.answers[min(len(f.asked), len(f.answers)-1)]
	f.asked = append(f.asked, *req)
	for _, c := range a.chunks {
		c.Maker = f.key
		c.Parts = slices.Clone(c.Parts)
		if err := yield(&c); err != nil {
			return err
		}
		clear(c.Parts)
	}
	if a.err != nil {
		return a.err
	}
	return yield(&chat.Chunk{Finish: chat.FinishStop})
}

func unavailable() error {
	return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: model.ErrCut}
}

func malformedCall() error {
	return &fault.Error{Type: fault.ModelError, Message: "cannot be read", Err: &model.Malformed{Reason: "no object"}}
}

func refusedAs(kind model.Kind, status int) error {
	return &fault.Error{Type: fault.ModelError, Message: "no", Err: &model.Refusal{Kind: kind, Status: status}}
}

func says(text string) answer { return answer{chunks: []chat.Chunk{parts(chat.Part{Text: text})}} }

func fails(err error, chunks ...chat.Chunk) answer { return answer{chunks, err} }

func parts(ps ...chat.Part) chat.Chunk { return chat.Chunk{Parts: ps} }

func thought(text string) chat.Part { return chat.Part{Text: text, Thought: true} }

func calls(id string) chat.Part {
	return chat.Part{Call: &tool.Call{ID: id, Name: "add", Arguments: []byte(`{"n":"` + id + `"}`)}, Kept: "kept of " + id}
}

func costs(n int) chat.Chunk { return chat.Chunk{Usage: &chat.Usage{InputTokens: n}} }

func chain(t testing.TB, on []string, links ...model.Link) *model.Chain {
	t.Helper()
	c, err := model.NewChain(model.ChainConfig{Links: links, On: on})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// observed notes what a call hands on, in words.
func observed(t *testing.T, c *model.Chain, req *chat.ModelRequest) ([]string, error) {
	t.Helper()
	var got []string
	err := c.Stream(t.Context(), req, func(c *chat.Chunk) error {
		switch {
		case c.Switch != nil:
			got = append(got, fmt.Sprintf("switch %s %s %s %s", c.Switch.Key, c.Switch.Model, c.Switch.Previous, c.Switch.Reason))
		case c.Restarted:
			got = append(got, "again")
		}
		for _, p := range c.Parts {
			switch {
			case p.Thought:
				got = append(got, "thought "+p.Text)
			case p.Call != nil:
				got = append(got, "call "+p.Call.ID)
			default:
				got = append(got, "text "+p.Text)
			}
		}
		if c.Usage != nil {
			got = append(got, fmt.Sprintf("usage %d", c.Usage.InputTokens))
		}
		return nil
	})
	return got, err
}

func TestChain(t *testing.T) {
	t.Parallel()
	on := model.DefaultFallbackOn()
	open := newLink("c", says("never"))
	open.breaker = breaker.New(breaker.Config{Service: "model:c", Failures: 1, Recovery: time.Hour}) // the other tests may take long
	done, _ := open.breaker.Allow(t.Context())
	done(breaker.Failure, nil)
	last := refusedAs(model.KindQuota, 429)
	first := unavailable()
	tests := []struct {
		name  string
		on    []string
		links []model.Link
		req   chat.ModelRequest
		want  []string
		err   error // nil: an answer
		asked []int
	}{
		{name: "the first answers", links: []model.Link{newLink("a", says("x")), newLink("b", says("y"))}, want: []string{"text x"}, asked: []int{1, 0}},
		{name: "nothing came", links: []model.Link{newLink("a", fails(first)), newLink("b", says("y"))},
			want: []string{"switch b m-b a unavailable", "text y"}, asked: []int{1, 1}},
		{name: "thoughts and a call came", links: []model.Link{newLink("a", fails(first, parts(thought("hm")), parts(calls("1")))), newLink("b", says("y"))},
			want: []string{"thought hm", "call 1", "again", "switch b m-b a unavailable", "text y"}, asked: []int{1, 1}},
		{name: "text came", links: []model.Link{newLink("a", fails(first, parts(chat.Part{Text: " "}))), newLink("b", says("y"))},
			want: []string{"text  "}, err: first, asked: []int{1, 0}},
		{name: "one in the middle gave nothing", links: []model.Link{newLink("a", fails(&fault.Error{Type: fault.Timeout, Err: model.ErrSilent})), newLink("b", fails(first)), newLink("c", says("z"))},
			want: []string{"switch c m-c a timeout", "text z"}, asked: []int{1, 1, 1}},
		{name: "one in the middle thought", links: []model.Link{newLink("a", fails(refusedAs(0, 402))), newLink("b", fails(first, parts(thought("hm")))), newLink("c", says("z"))},
			want: []string{"switch b m-b a misconfigured", "thought hm", "again", "switch c m-c b unavailable", "text z"}, asked: []int{1, 1, 1}},
		{name: "all fail", links: []model.Link{newLink("a", fails(first)), newLink("b", fails(last))}, err: last, asked: []int{1, 1}},
		{name: "the last is not asked", links: []model.Link{newLink("a", fails(first)), newLink("b", fails(last)), open}, err: first, asked: []int{1, 1, 0}},
		{name: "a class that is not listed", links: []model.Link{newLink("a", fails(refusedAs(model.KindBlocked, 400))), newLink("b", says("y"))},
			err: refusedAs(model.KindBlocked, 400), asked: []int{1, 0}},
		{name: "a class that is listed", on: []string{model.ClassBlocked}, links: []model.Link{newLink("a", fails(refusedAs(model.KindBlocked, 400))), newLink("b", says("y"))},
			want: []string{"switch b m-b a blocked", "text y"}, asked: []int{1, 1}},
		{name: "malformed once", links: []model.Link{newLink("a", fails(malformedCall(), parts(thought("hm"))), says("x")), newLink("b", says("y"))},
			want: []string{"thought hm", "again", "text x"}, asked: []int{2, 0}},
		{name: "malformed twice", links: []model.Link{newLink("a", fails(malformedCall())), newLink("b", says("y"))},
			want: []string{"switch b m-b a unavailable", "text y"}, asked: []int{2, 1}},
		{name: "the turn stays", req: chat.ModelRequest{Answered: "b"}, links: []model.Link{newLink("a", says("x")), newLink("b", says("y")), newLink("c", says("z"))},
			want: []string{"text y"}, asked: []int{0, 1, 0}},
		{name: "the turn moves on", req: chat.ModelRequest{Answered: "b"}, links: []model.Link{newLink("a", says("x")), newLink("b", fails(first)), newLink("c", says("z"))},
			want: []string{"switch c m-c b unavailable", "text z"}, asked: []int{0, 1, 1}},
		{name: "failures have their price", links: []model.Link{
			newLink("a", fails(malformedCall(), costs(5), costs(7)), fails(malformedCall(), costs(10))), newLink("b", fails(first)),
			newLink("c", answer{chunks: []chat.Chunk{parts(chat.Part{Text: "z"}), costs(100), costs(101)}})},
			want:  []string{"usage 5", "usage 7", "again", "usage 17", "again", "switch c m-c a unavailable", "text z", "usage 117", "usage 118"},
			asked: []int{2, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.on == nil {
				tt.on = on
			}
			got, err := observed(t, chain(t, tt.on, tt.links...), &tt.req)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("handed on (-want +got):\n%s", diff)
			}
			if fmt.Sprint(err) != fmt.Sprint(tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			for i, l := range tt.links {
				if n := len(l.(*fakeLink).asked); n != tt.asked[i] {
					t.Errorf("%s was asked %d times, want %d", l.Key(), n, tt.asked[i])
				}
			}
		})
	}
}

// A model whose window is too small is passed over, if the chain has that class; the
// last one is asked whatever its window.
func TestChainKnowsWindows(t *testing.T) {
	t.Parallel()
	req := &chat.ModelRequest{Messages: []chat.Message{{Parts: []chat.Part{{Text: strings.Repeat("x", 5000)}}}}}
	for _, tt := range []struct {
		on      []string
		windows map[string]int
		want    []string
	}{
		{[]string{model.ClassOverflow}, map[string]int{"a": 1250}, []string{"text a"}},
		{[]string{model.ClassOverflow}, map[string]int{"a": 1249}, []string{"switch b m-b a overflow", "text b"}},
		{[]string{model.ClassOverflow}, map[string]int{"a": 1024, "b": 1024}, []string{"switch b m-b a overflow", "text b"}},
		{model.DefaultFallbackOn(), map[string]int{"a": 1024}, []string{"text a"}},
	} {
		c, err := model.NewChain(model.ChainConfig{On: tt.on, Windows: tt.windows, Links: []model.Link{newLink("a", says("a")), newLink("b", says("b"))}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := observed(t, c, req)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v, %v, error %v (-want +got):\n%s", tt.on, tt.windows, err, diff)
		}
	}
}

// The caller's own error, and the end of the turn, are nobody's failure.
func TestChainEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	a, b := newLink("a", answer{chunks: []chat.Chunk{parts(thought("hm"))}}), newLink("b", says("y"))
	if err := chain(t, model.DefaultFallbackOn(), a, b).Stream(t.Context(), &chat.ModelRequest{}, func(*chat.Chunk) error { return gone }); err != gone {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a = newLink("a", fails(unavailable(), parts(thought("hm"))))
	err := chain(t, model.DefaultFallbackOn(), a, b).Stream(ctx, &chat.ModelRequest{}, func(*chat.Chunk) error { cancel(); return nil })
	if err == nil || len(b.asked) > 0 {
		t.Errorf("error %v, the second was asked %d times", err, len(b.asked))
	}
}

func TestFallbacksAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	reg := metrics.New()
	c, err := model.NewChain(model.ChainConfig{On: model.DefaultFallbackOn(), Metrics: reg,
		Links: []model.Link{newLink("a", fails(unavailable())), newLink("b", fails(refusedAs(0, 401))), newLink("c", says("z"))}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	ctx := zerolog.New(&log).WithContext(t.Context())
	if err := c.Stream(ctx, &chat.ModelRequest{Step: 2}, func(*chat.Chunk) error { return nil }); err != nil {
		t.Fatal(err)
	}
	const wantLog = `{"level":"WARNING","details":{"from":"a","to":"b","reason":"unavailable","step":2},"event":"model_fallback"}
{"level":"WARNING","details":{"from":"b","to":"c","reason":"misconfigured","step":2},"event":"model_fallback"}
`
	if diff := cmp.Diff(wantLog, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	want := map[string]int{"a b unavailable": 1, "b c misconfigured": 1}
	if diff := cmp.Diff(want, counts(t, reg, "sluice_model_fallbacks_total", "from", "to", "reason")); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// counts returns the values of a counter by those of its labels.
func counts(t *testing.T, reg *metrics.Registry, name string, labels ...string) map[string]int {
	t.Helper()
	families, err := reg.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			values := make([]string, len(labels))
			for _, pair := range m.GetLabel() {
				values[slices.Index(labels, pair.GetName())] = pair.GetValue()
			}
			got[strings.Join(values, " ")] = int(m.GetCounter().GetValue())
		}
	}
	return got
}

// script makes what a model does in its n-th call, at random. All texts, ids and what is
// kept name the model and are never made twice.
func script(r *rand.Rand, key string, n int) answer {
	id := func(what string, i int) string { return fmt.Sprintf("%s/%s%d.%d;", key, what, n, i) }
	var a answer
	for i := range r.IntN(3) {
		a.chunks = append(a.chunks, parts(thought(id("thought", i))), costs(1))
	}
	if r.IntN(2) == 0 {
		a.chunks = append(a.chunks, parts(chat.Part{Kept: id("kept", 0)}))
	}
	if r.IntN(2) == 0 {
		a.chunks = append(a.chunks, parts(calls(id("call", 0))), parts(calls(id("call", 1))))
	}
	failures := []error{unavailable(), malformedCall(), malformedCall(), refusedAs(0, 401), refusedAs(0, 400), refusedAs(model.KindBlocked, 400),
		&fault.Error{Type: fault.Timeout, Err: model.ErrSilent}, &fault.Error{Type: fault.ModelRateLimited}}
	if r.IntN(5) > 2 {
		a.err = failures[r.IntN(len(failures))]
		a.chunks = a.chunks[:r.IntN(len(a.chunks)+1)]
		if r.IntN(6) == 0 {
			a.chunks = append(a.chunks, parts(chat.Part{Text: id("text", 0)}))
		}
		return a
	}
	a.chunks = append(a.chunks, parts(chat.Part{Text: id("text", 0)}), parts(chat.Part{Text: id("text", 1)}))
	return a
}

// story is what a turn has shown, and what ran.
type story struct {
	events []string // "<model>/…" for what a model said, else the event's name
	said   []string // by events, in order, of text and calls
	model  string   // that the events say answers
	spoke  bool     // in the step at hand
	faults []string
}

func (s *story) Flush() error { return nil }

func (s *story) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.ModelChanged:
		if ev.Previous != s.model {
			s.faults = append(s.faults, "previous is "+ev.Previous+", not "+s.model)
		}
		if s.spoke {
			s.faults = append(s.faults, ev.Key+" goes on after text")
		}
		s.model = ev.Key
	case *stream.Delta:
		if s.spoke = true; ev.Text != "\n\n" {
			s.observe(ev.Text)
		}
	case *stream.ToolCompleted:
		s.spoke = false
	case *stream.Thinking:
		s.observe(ev.Content)
	case *stream.ToolStarted:
		s.observe(strings.Split(string(ev.Arguments), `"`)[3])
	}
	s.events = append(s.events, stream.Name(ev))
	return nil
}

func (s *story) observe(text string) {
	if !strings.HasPrefix(text, s.model+"/") {
		s.faults = append(s.faults, text+" is told to be of "+s.model)
	}
	if slices.Contains(s.said, text) {
		s.faults = append(s.faults, text+" is said twice")
	}
	s.said = append(s.said, text)
}

func (s *story) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "add", Server: "todo"}}}
}

func (s *story) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ID: c.ID, Name: c.Name, Text: "ok"}, nil
}

// Whatever fails wherever: there is one done, nothing is said or run twice, an answer is
// of one model, the turn stays with the model that answered, and it ends.
func TestTurnsOfAChainThatFailsAtRandom(t *testing.T) {
	t.Parallel()
	reasons, moved := map[stream.FinishReason]int{}, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 7))
		links := make([]model.Link, 2+r.IntN(3))
		for i := range links {
			l := newLink(string(rune('a' + i)))
			for n := range 12 {
				l.answers = append(l.answers, script(r, l.key, n))
			}
			if i > 0 && r.IntN(8) == 0 {
				l.breaker = breaker.New(breaker.Config{Failures: 1})
				done, _ := l.breaker.Allow(t.Context())
				done(breaker.Failure, nil)
			}
			links[i] = l
		}
		c := chain(t, model.DefaultFallbackOn(), links...)
		s := &story{model: "a"}
		last := ""
		var end stream.Done
		sink := tee{s, func(ev stream.Event) {
			if d, ok := ev.(*stream.Done); ok {
				end = *d
			}
		}}
		frame := stream.Frame{Runner: agent.New(agent.Config{Model: c, Tools: s, MaxSteps: 4}), Model: c.Name()}
		if err := frame.Run(t.Context(), &chat.Request{Input: "hi"}, sink); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(s.events), func(e string) bool { return e != "done" })); n != 1 || s.events[len(s.events)-1] != "done" {
			s.faults = append(s.faults, fmt.Sprintf("%d done", n))
		}
		for i, l := range links {
			s.faults = append(s.faults, checkRequests(l.(*fakeLink), links[i+1:])...)
			if len(l.(*fakeLink).asked) > 0 {
				last = l.Key()
			}
		}
		if end.Reason.Success() && last != s.model {
			s.faults = append(s.faults, "the answer is of "+last+", told is "+s.model)
		}
		if len(s.faults) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, strings.Join(s.faults, "\n"), strings.Join(s.events, " "))
		}
		reasons[end.Reason]++
		if slices.Contains(s.events, "model") {
			moved++
		}
	}
	if reasons[stream.Stop] < 200 || reasons[stream.Failed] < 200 || moved < 500 {
		t.Errorf("the test proves little: %v, %d changes", reasons, moved)
	}
}

// checkRequests looks at what a model was asked: each answer in it is of one model, and
// nobody before it in the chain is asked after it.
func checkRequests(l *fakeLink, after []model.Link) (faults []string) {
	for step, n := range stepsOf(l.asked) {
		if n > 2 {
			faults = append(faults, fmt.Sprintf("%s is asked %d times in step %d", l.key, n, step))
		}
	}
	for _, later := range after {
		for step := range stepsOf(later.(*fakeLink).asked) {
			if len(l.asked) > 0 && l.asked[len(l.asked)-1].Step > step {
				faults = append(faults, l.key+" is asked again after "+later.Key())
			}
		}
	}
	for _, req := range l.asked {
		for _, m := range req.Messages {
			if m.Role != chat.RoleModel {
				continue
			}
			for _, p := range m.Parts {
				of := p.Text + strings.TrimPrefix(p.Kept, "kept of ")
				if !strings.HasPrefix(of, m.Maker+"/") || m.Maker == "" {
					faults = append(faults, of+" is in an answer of "+m.Maker)
				}
			}
		}
	}
	return faults
}

func stepsOf(asked []chat.ModelRequest) map[int]int {
	steps := map[int]int{}
	for _, req := range asked {
		steps[req.Step]++
	}
	return steps
}

// tee also shows the events to see.
type tee struct {
	stream.Sink
	see func(stream.Event)
}

func (t tee) Emit(ev stream.Event) error {
	t.see(ev)
	return t.Sink.Emit(ev)
}

// deltas is a model whose answer has a thousand deltas.
type deltas struct{ key string }

func (d deltas) Key() string  { return d.key }
func (d deltas) Name() string { return d.key }

func (deltas) Stream(_ context.Context, _ *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c := chat.Chunk{Parts: []chat.Part{{Text: "some words of an answer"}}}
	for range 1000 {
		if err := yield(&c); err != nil {
			return err
		}
	}
	return yield(&chat.Chunk{Finish: chat.FinishStop})
}

type nothing struct{ story }

func (nothing) Emit(stream.Event) error { return nil }

// BenchmarkTurnThroughAChain is a turn with a thousand deltas, through the agent alone,
// with and without a chain that is not used.
func BenchmarkTurnThroughAChain(b *testing.B) {
	for name, m := range map[string]agent.Model{"alone": deltas{"a"}, "chain": chain(b, nil, deltas{"a"}, deltas{"b"})} {
		b.Run(name, func(b *testing.B) {
			a := agent.New(agent.Config{Model: m, Tools: new(story)})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), &chat.Request{Input: "hi"}, &nothing{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenBreaker is how long it takes to come to the second model of a chain if the
// breaker of the first is open.
func BenchmarkOpenBreaker(b *testing.B) {
	open := newLink("a")
	open.breaker = breaker.New(breaker.Config{Failures: 1})
	done, _ := open.breaker.Allow(b.Context())
	done(breaker.Failure, nil)
	c := chain(b, model.DefaultFallbackOn(), open, pieces{"x"})
	for b.Loop() {
		if err := c.Stream(b.Context(), &chat.ModelRequest{}, func(*chat.Chunk) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
