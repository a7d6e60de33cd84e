package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// retracting returns a chain that continues in the middle of an answer.
func retracting(t *testing.T, links ...model.Link) *model.Chain {
	t.Helper()
	c, err := model.NewChain(model.ChainConfig{Links: links, On: model.DefaultFallbackOn(), AfterText: model.AfterText{Restarts: true}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A call that fails in the middle of its answer goes to the next model, where what was shown can
// be taken back.
func TestChainAfterText(t *testing.T) {
	t.Parallel()
	first, last := unavailable(), &fault.Error{Type: fault.Timeout, Err: model.ErrSilent}
	half := parts(chat.Part{Text: "half"})
	for name, tt := range map[string]struct {
		links []model.Link
		fixed bool // nothing can be taken back
		want  []string
		err   error
	}{
		"nothing can be taken back": {links: []model.Link{newLink("a", fails(first, half)), newLink("b", says("y"))}, fixed: true, want: []string{"text half"}, err: first},
		"the second answers": {links: []model.Link{newLink("a", fails(first, half)), newLink("b", says("y"))},
			want: []string{"text half", "again", "usage 0", "switch b m-b a unavailable", "text y"}},
		"its usage counts": {links: []model.Link{newLink("a", fails(first, half, costs(7))), newLink("b", answer{chunks: []chat.Chunk{parts(chat.Part{Text: "y"}), costs(100)}})},
			want: []string{"text half", "usage 7", "again", "usage 7", "switch b m-b a unavailable", "text y", "usage 107"}},
		"the second fails too": {links: []model.Link{newLink("a", fails(first, half)), newLink("b", fails(last, parts(chat.Part{Text: "more"}))), newLink("c", says("z"))},
			want: []string{"text half", "again", "usage 0", "switch b m-b a unavailable", "text more", "again", "usage 0", "switch c m-c b timeout", "text z"}},
		"all fail before their text": {links: []model.Link{newLink("a", fails(first, half)), newLink("b", fails(last))}, want: []string{"text half", "again", "usage 0"}, err: last},
		"all fail behind it":         {links: []model.Link{newLink("a", fails(first, half)), newLink("b", fails(last, half))}, want: []string{"text half", "again", "usage 0", "switch b m-b a unavailable", "text half"}, err: last},
		"a class that is not listed": {links: []model.Link{newLink("a", fails(refusedAs(model.KindBlocked, 400), half)), newLink("b", says("y"))}, want: []string{"text half"}, err: refusedAs(model.KindBlocked, 400)},
		"it is not asked again":      {links: []model.Link{newLink("a", fails(malformedCall(), half), says("x")), newLink("b", says("y"))}, want: []string{"text half", "again", "usage 0", "switch b m-b a unavailable", "text y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := observed(t, retracting(t, tt.links...), &chat.ModelRequest{Retracts: !tt.fixed})
			if diff := cmp.Diff(tt.want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(tt.err) {
				t.Errorf("error %v, want %v; handed on (-want +got):\n%s", err, tt.err, diff)
			}
		})
	}
}

// What a model has used that broke off is guessed where it was not reported.
func TestUsageOfABrokenAnswer(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 41)
	for name, tt := range map[string]struct {
		chunks []chat.Chunk
		want   chat.Usage
	}{
		"not reported":       {[]chat.Chunk{parts(chat.Part{Text: text})}, chat.Usage{InputTokens: 10, OutputTokens: 11, Estimated: true}},
		"its begin reported": {[]chat.Chunk{{Usage: &chat.Usage{InputTokens: 7, OutputTokens: 1}}, parts(chat.Part{Text: text})}, chat.Usage{InputTokens: 7, OutputTokens: 11, Estimated: true}},
		"reported":           {[]chat.Chunk{parts(chat.Part{Text: text}), {Usage: &chat.Usage{InputTokens: 7, OutputTokens: 20}}}, chat.Usage{InputTokens: 7, OutputTokens: 20, Estimated: true}},
	} {
		var got chat.Usage
		c := retracting(t, newLink("a", fails(unavailable(), tt.chunks...)), newLink("b", says("y")))
		err := c.Stream(t.Context(), &chat.ModelRequest{System: strings.Repeat("s", 40), Retracts: true}, func(c *chat.Chunk) error {
			if c.Usage != nil {
				got = *c.Usage
			}
			return nil
		})
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}

// The client that leaves in the middle of an answer is nobody's failure.
func TestRetractingChainEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	gone, b := fmt.Errorf("gone"), newLink("b", says("y"))
	pieces := answer{chunks: []chat.Chunk{parts(chat.Part{Text: "1"}), parts(chat.Part{Text: "2"})}}
	n := 0
	err := retracting(t, newLink("a", pieces), b).Stream(t.Context(), &chat.ModelRequest{Retracts: true}, func(*chat.Chunk) error {
		if n++; n == 2 {
			return gone
		}
		return nil
	})
	if err != gone || len(b.asked) > 0 {
		t.Errorf("%v, the second was asked %d times", err, len(b.asked))
	}
}

// chapters makes what a model does in its calls: texts with and without white space, calls, and
// failures in the middle.
func chapters(r *rand.Rand, key string) (all []answer) {
	for n := range 5 {
		var a answer
		for i := range r.IntN(4) {
			text := fmt.Sprintf("%s%s%d.%d", []string{"", " ", "\n", "ö"}[r.IntN(4)], key, n, i)
			a.chunks = append(a.chunks, parts(chat.Part{Text: text, Signature: strings.Repeat("s", r.IntN(2))}))
			if r.IntN(4) == 0 {
				a.chunks = append(a.chunks, parts(thought("hm")))
			}
		}
		if r.IntN(2) == 0 {
			a.chunks = append(a.chunks, parts(calls(fmt.Sprintf("%s/%d", key, n))))
		}
		if r.IntN(3) == 0 {
			a.err = unavailable()
		}
		all = append(all, a)
	}
	return all
}

// pages is the turn as two readers have it: one joins the deltas by the rule, and one knows what
// each step of an answer that counts has said.
type pages struct {
	stream.Fold
	joined string
	resets int
}

func (p *pages) Emit(ev stream.Event) error {
	p.Add(ev)
	switch ev := ev.(type) {
	case *stream.Delta:
		p.joined += ev.Text
	case *stream.Reset:
		p.joined = ev.Accumulated
		p.resets++
	}
	return nil
}

func (*pages) Flush() error { return nil }

func (*pages) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "add", Server: "todo"}}}
}

func (*pages) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ID: c.ID, Name: c.Name, Text: "ok"}, nil
}

// tapped is a Runner that keeps what its turn has made.
type tapped struct {
	stream.Runner
	made *[]chat.TurnMessages
}

// Run implements stream.Runner.
func (r tapped) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	result, err := r.Runner.Run(ctx, req, sink)
	*r.made = result.TurnMessages
	return result, err
}

// severalSpeak reports whether pieces of more than one model are in a text.
func severalSpeak(text string) bool {
	of := map[rune]bool{}
	for _, r := range text {
		if 'a' <= r && r <= 'd' {
			of[r] = true
		}
	}
	return len(of) > 1
}

// Wherever models fail: the text of a turn is that of the answers that count, and the model is
// shown no other.
func TestTextOfTurnsThatAreBegunAgain(t *testing.T) {
	t.Parallel()
	resets, several := 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 11))
		links := make([]model.Link, 2+r.IntN(3))
		for i := range links {
			key := string(rune('a' + i))
			links[i] = newLink(key, chapters(r, key)...)
		}
		p := new(pages)
		c := retracting(t, links...)
		var made []chat.TurnMessages
		run := tapped{agent.New(agent.Config{Model: c, Tools: p, MaxSteps: 4}), &made}
		frame := stream.Frame{Runner: run}
		if err := frame.Run(t.Context(), &chat.Request{Input: "hi", Record: true, Facts: chat.Facts{Retracts: true}}, p); err != nil {
			t.Fatal(err)
		}
		if p.Text() != p.joined || p.Size != len(p.joined) {
			t.Fatalf("seed %d: %q, joined %q", seed, p.Text(), p.joined)
		}
		if resets += p.resets; p.resets > 1 {
			several++
		}
		if !p.Done.Reason.Success() {
			continue
		}
		want := ""
		for _, m := range made {
			for _, m := range m.Messages {
				said := ""
				for _, part := range m.Parts {
					said += part.Text
				}
				if m.Role != chat.RoleModel || said == "" {
					continue
				}
				if want != "" && !strings.ContainsAny(want[len(want)-1:], " \n") && !strings.ContainsAny(said[:1], " \n") {
					want += "\n\n"
				}
				want += said
			}
		}
		if rest, ok := strings.CutPrefix(p.joined, want); !ok || strings.Contains(rest[min(2, len(rest)):], "\n\n") || severalSpeak(rest) {
			t.Fatalf("seed %d: the client has %q, the model is shown %q", seed, p.joined, want)
		}
		if slices.ContainsFunc(p.Calls, func(c stream.CallState) bool { return c.Outcome != stream.CallCompleted }) {
			t.Fatalf("seed %d: %+v", seed, p.Calls)
		}
	}
	if resets < 300 || several < 50 {
		t.Errorf("%d resets, %d turns with several: the test proves little", resets, several)
	}
}
