package model_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// manner is the way in which a narrator continues a text.
type manner int

const (
	follows   manner = iota // repeats the anchor
	starts                  // begins the answer again from its first word
	ignores                 // says something else
	prefills                // goes on behind a last message of the model
	refuses                 // answers a prefill with 400, and follows the note
	thinks                  // thinks before the anchor, and follows
	callsOnly               // takes the text for complete, and calls a tool
	blocks                  // declines
)

// narrator is a model that knows one answer, and breaks off behind so many bytes of what it says.
type narrator struct {
	*fakeLink
	manner manner
	whole  string // the answer
	cuts   []int  // of each call, in bytes; a call behind the last one does not break
	calls  int
	noMore bool // it has refused a prefill
	call   bool // it ends with a call
}

func newNarrator(key, whole string, m manner, cuts ...int) *narrator {
	return &narrator{fakeLink: newLink(key), manner: m, whole: whole, cuts: cuts}
}

// Prefills reports whether the narrator is asked behind a last message of the model.
func (n *narrator) Prefills() bool { return !n.noMore && (n.manner == prefills || n.manner == refuses) }

// StopPrefill ends that.
func (n *narrator) StopPrefill() { n.noMore = true }

// answer returns what the narrator says to a request.
func (n *narrator) answer(req *chat.ModelRequest) (text string, prefix []chat.Chunk, err error) {
	last := req.Messages[len(req.Messages)-1]
	shown := ""
	for i := range req.Messages {
		if req.Messages[i].Maker == chat.ShownMaker {
			shown = req.Messages[i].Text()
		}
	}
	switch {
	case shown == "":
		return n.whole, nil, nil
	case last.Role == chat.RoleModel && n.manner == refuses:
		return "", nil, refusedAs(model.KindRejected, 400)
	case last.Role == chat.RoleModel:
		return strings.TrimPrefix(n.whole, shown), nil, nil
	}
	note := last.Text()
	anchor := note[strings.Index(note, "«")+len("«") : strings.LastIndex(note, "»")]
	rest := strings.TrimPrefix(n.whole, strings.TrimRight(shown, " \n"))
	switch n.manner {
	case starts:
		return n.whole, nil, nil
	case ignores:
		return strings.Repeat("I cannot see what you mean. ", 20), nil, nil
	case blocks:
		return "", nil, refusedAs(model.KindBlocked, 400)
	case callsOnly:
		return "", []chat.Chunk{parts(calls("late"))}, nil
	case thinks:
		return anchor + rest, []chat.Chunk{parts(thought("Where was I? "), chat.Part{Kept: "kept", Thought: true})}, nil
	}
	return anchor + rest, nil, nil
}

// Stream implements model.Link.
func (n *narrator) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	n.asked = append(n.asked, *req)
	text, chunks, err := n.answer(req)
	if err != nil {
		return err
	}
	cut := len(text)
	if i := n.calls; i < len(n.cuts) {
		cut = min(cut, n.cuts[i])
	}
	n.calls++
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut-- // a decoder holds half a code point
	}
	for said := text[:cut]; said != ""; {
		size := min(7, len(said))
		for size < len(said) && !utf8.RuneStart(said[size]) {
			size++
		}
		chunks = append(chunks, parts(chat.Part{Text: said[:size], Signature: "sig"}))
		said = said[size:]
	}
	if n.call {
		chunks = append(chunks, parts(calls(n.key)))
	}
	for _, c := range chunks {
		c.Maker = n.key
		if err := yield(&c); err != nil {
			return err
		}
		clear(c.Parts)
	}
	if cut < len(text) {
		return unavailable()
	}
	return yield(&chat.Chunk{Finish: chat.FinishStop, Usage: &chat.Usage{InputTokens: 100, OutputTokens: 10}})
}

// continuing returns a chain that continues broken answers for every front end.
func continuing(t testing.TB, links ...model.Link) *model.Chain {
	t.Helper()
	c, err := model.NewChain(model.ChainConfig{Links: links, On: append(model.DefaultFallbackOn(), model.ClassBlocked), AfterText: model.AfterText{Word: "continue"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const tale = "The museum opens at nine in the morning, and it closes at five in the afternoon. On Mondays it is closed, but the garden is open all day."

// handedOn is what a call has handed on, with the text joined.
func handedOn(t *testing.T, c *model.Chain, req *chat.ModelRequest) (events []string, text string, err error) {
	t.Helper()
	err = c.Stream(t.Context(), req, func(c *chat.Chunk) error {
		switch {
		case c.Switch != nil:
			events = append(events, fmt.Sprintf("%s continues %s after %d: %s %t", c.Switch.Key, c.Switch.Previous, len(text), c.Switch.Reason, c.Switch.Continued))
		case c.Restarted:
			events = append(events, "again")
		}
		for _, p := range c.Parts {
			switch {
			case p.Thought:
				events = append(events, fmt.Sprintf("thought after %d", len(text)))
			case p.Call != nil:
				events = append(events, "call "+p.Call.ID)
			}
			if !p.Thought {
				text += p.Text
			}
			if c.Maker == chat.SeamMaker && p.Signature+p.Kept != "" {
				t.Errorf("a part behind a seam has data of its maker: %+v", p)
			}
		}
		return nil
	})
	return events, text, err
}

func asking() *chat.ModelRequest {
	return &chat.ModelRequest{System: "s", Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "When?"}}}}, Seams: new(chat.Seams), MaxTokens: 100, ForceTool: true}
}

// A call that fails in the middle of its answer is continued by the next one, which differs
// from one that does not continue it.
func TestChainContinues(t *testing.T) {
	t.Parallel()
	cut := strings.Index(tale, "osed, but") // within a word
	for name, tt := range map[string]struct {
		links  []model.Link
		shown  string // by another process
		events []string
		text   string
		err    error
	}{
		"by the next model": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, follows)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut)}, text: tale},
		"by the same model": {links: []model.Link{newNarrator("a", tale, follows, cut)},
			events: []string{fmt.Sprintf("a continues a after %d: unavailable true", cut)}, text: tale},
		"by a model that begins again": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, starts)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut)}, text: tale},
		"by prefill": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, prefills)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut)}, text: tale},
		"by a model that refuses a prefill": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, refuses)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut)}, text: tale},
		"thoughts wait for the end": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, thinks)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut), fmt.Sprintf("thought after %d", len(tale))}, text: tale},
		"calls alone": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, callsOnly)},
			events: []string{fmt.Sprintf("b continues a after %d: unavailable true", cut), "call late"}, text: tale[:cut]},
		"the third one does": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, ignores), newNarrator("c", tale, follows)},
			events: []string{fmt.Sprintf("c continues a after %d: unavailable true", cut)}, text: tale},
		"twice": {links: []model.Link{newNarrator("a", tale, follows, 20), newNarrator("b", tale, follows, 60), newNarrator("c", tale, follows)},
			events: []string{"b continues a after 20: unavailable true", "c continues b after 60: unavailable true"}, text: tale},
		"the same model once": {links: []model.Link{newNarrator("a", tale, follows, 20, 60)},
			events: []string{"a continues a after 20: unavailable true"}, text: tale[:60], err: unavailable()},
		"nobody does": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, ignores)}, text: tale[:cut], err: unavailable()},
		"a model that declines": {links: []model.Link{newNarrator("a", tale, follows, cut), newNarrator("b", tale, blocks), newNarrator("c", tale, follows)},
			text: tale[:cut], err: unavailable()},
		"white space alone is no anchor": {links: []model.Link{newNarrator("a", "\n "+tale, follows, 2), newNarrator("b", tale, follows)},
			events: []string{"b continues a after 2: unavailable true"}, text: "\n " + tale},
		"text of another process": {links: []model.Link{newNarrator("a", tale, follows)}, shown: tale[:cut],
			events: []string{"a continues a after 0: taken_over true"}, text: tale[cut:]},
		"text of another process, without success": {links: []model.Link{newNarrator("a", tale, ignores)}, shown: tale[:cut],
			err: &fault.Error{Type: fault.TurnLost, Message: fault.TurnLostMessage}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := asking()
			req.ShownText = tt.shown
			events, text, err := handedOn(t, continuing(t, tt.links...), req)
			if diff := cmp.Diff(tt.events, events); diff != "" || text != tt.text || fmt.Sprint(err) != fmt.Sprint(tt.err) && !(tt.shown != "" && fault.From(err).Type == fault.TurnLost) {
				t.Errorf("%v, text %q\nwant %v, %q; events (-want +got):\n%s", err, text, tt.err, tt.text, diff)
			}
		})
	}
}

// The request that continues has the messages of the one that failed, the shown text and a note.
func TestContinuingRequest(t *testing.T) {
	t.Parallel()
	b, c := newNarrator("b", tale, refuses), newNarrator("c", tale, follows)
	b.cuts = []int{5}
	req := asking()
	if _, text, err := handedOn(t, continuing(t, newNarrator("a", tale, follows, 80), b, c), req); err != nil || text != tale {
		t.Fatal(err, text)
	}
	before := req.Messages
	if len(b.asked) != 2 || len(b.asked[0].Messages) != 2 || !b.asked[0].Prefill || b.asked[1].Prefill {
		t.Fatalf("the one that takes no prefill was asked %+v", b.asked)
	}
	got := c.asked[0]
	if len(got.Messages) != 3 || cmp.Diff(before, got.Messages[:1]) != "" || got.Messages[1].Text() != tale[:80] || got.Messages[2].Role != chat.RoleUser {
		t.Errorf("messages %+v", got.Messages)
	}
	if got.ForceTool || got.LimitOf(got.MaxTokens) != 80 || got.LimitOf(70) != 64 || got.LimitOf(30) != 30 || got.LimitOf(0) != 0 {
		t.Errorf("limit %d of 100, a forced tool %t", got.LimitOf(got.MaxTokens), got.ForceTool)
	}
}

// Some texts are not continued.
func TestNotContinued(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("All work and no play. ", 3000)
	for name, tt := range map[string]struct {
		whole string
		cut   int
		ctx   context.Context
		req   func(*chat.ModelRequest)
		want  bool
	}{
		"64 KiB":            {long, 64 << 10, t.Context(), nil, true},
		"64 KiB and a byte": {long, 64<<10 + 1, t.Context(), nil, false},
		"a spent budget":    {tale, 30, spentBudget(t.Context()), nil, false},
		"not allowed":       {tale, 30, t.Context(), func(r *chat.ModelRequest) { r.Seams = nil }, false},
		"three seams before": {tale, 30, t.Context(), func(r *chat.ModelRequest) {
			for range chat.MaxSeams {
				r.Seams.Claim()
			}
		}, false},
	} {
		b := newNarrator("b", tt.whole, prefills)
		req := asking()
		if tt.req != nil {
			tt.req(req)
		}
		err := continuing(t, newNarrator("a", tt.whole, follows, tt.cut), b).Stream(tt.ctx, req, func(*chat.Chunk) error { return nil })
		if (err == nil) != tt.want || (len(b.asked) > 0) != tt.want {
			t.Errorf("%s: %v, the next one was asked %d times", name, err, len(b.asked))
		}
	}
}

func spentBudget(ctx context.Context) context.Context {
	b := chat.NewTokenBudget(1)
	b.Spend(chat.Usage{InputTokens: 1})
	return chat.WithTurn(ctx, chat.Turn{Budget: b})
}

// An answer that nobody sees before its end begins again, whatever the front end.
func TestHiddenAnswersBeginAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after model.AfterText
		req   chat.ModelRequest
		again bool
	}{
		"structured":                        {model.AfterText{}, chat.ModelRequest{Hidden: true}, true},
		"held":                              {model.AfterText{Word: "continue"}, chat.ModelRequest{Held: true}, true},
		"held, by default":                  {model.AfterText{}, chat.ModelRequest{Held: true}, false},
		"shown, where it can be taken back": {model.AfterText{Restarts: true}, chat.ModelRequest{Retracts: true}, true},
		"shown, with continue":              {model.AfterText{Word: "continue"}, chat.ModelRequest{Retracts: true}, false},
	} {
		c, err := model.NewChain(model.ChainConfig{Links: []model.Link{newNarrator("a", tale, follows, 30), newNarrator("b", tale, follows)}, On: model.DefaultFallbackOn(), AfterText: tt.after})
		if err != nil {
			t.Fatal(err)
		}
		req := tt.req
		req.Messages = asking().Messages
		if tt.again {
			req.Seams = new(chat.Seams)
		}
		events, _, _ := handedOn(t, c, &req)
		if again := len(events) > 0 && events[0] == "again"; again != tt.again {
			t.Errorf("%s: %v", name, events)
		}
	}
}

// The tokens of all calls count, and those of one that broke off are guessed. A seam is counted
// and logged, without a text.
func TestReportsOfASeam(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	registry := metrics.New()
	c, err := model.NewChain(model.ChainConfig{
		Links: []model.Link{newNarrator("a", tale, follows, 130), newNarrator("b", tale, ignores), newNarrator("c", tale, starts)},
		On:    model.DefaultFallbackOn(), AfterText: model.AfterText{Restarts: true}, Metrics: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	var usage chat.Usage
	logger := zerolog.New(&log)
	err = c.Stream(logger.WithContext(t.Context()), asking(), func(c *chat.Chunk) error {
		if c.Usage != nil {
			usage = *c.Usage
		}
		return nil
	})
	if err != nil || !usage.Estimated || usage.OutputTokens < 10+20 || usage.InputTokens < 100 {
		t.Errorf("%v, usage %+v", err, usage)
	}
	for _, want := range []string{
		`{"from":"a","to":"b","reason":"unavailable","way":"anchor","outcome":"refused","chars":130,`,
		`{"from":"a","to":"c","reason":"unavailable","way":"anchor","outcome":"repeated","chars":130,"dropped":130}`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "museum") {
		t.Errorf("the log has a text:\n%s", log.String())
	}
	families, err := registry.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values := f.GetName()
			for _, l := range m.GetLabel() {
				values += " " + l.GetValue()
			}
			got[values] = int(m.GetCounter().GetValue())
		}
	}
	for _, want := range []string{"sluice_seams_total refused anchor", "sluice_seams_total repeated anchor", "sluice_model_fallbacks_total a unavailable b", "sluice_model_fallbacks_total b unavailable c"} {
		if got[want] != 1 {
			t.Errorf("%s is not 1: %v", want, got)
		}
	}
}

// For the breaker an answer without a seam is an answer.
func TestNoSeamIsAnAnswerForTheBreaker(t *testing.T) {
	t.Parallel()
	if got := model.VerdictOfNoSeam(); got != breaker.Success {
		t.Errorf("the verdict is %v", got)
	}
}

// Wherever models fail: the text of a turn is the whole answer, and tools run once. If no model
// follows, the text is a part of it.
func TestTextOfContinuedTurns(t *testing.T) {
	t.Parallel()
	whole, seams := 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := tale + " «Ça va?» 👩‍👩‍👧 \n\n" + strings.Repeat("| 1 | 2 |\n", r.IntN(40)) + fmt.Sprint("End ", seed)
		links := make([]model.Link, 1+r.IntN(4))
		follow := true
		for i := range links {
			key := string(rune('a' + i))
			n := newNarrator(key, text, []manner{follows, starts, prefills, refuses, thinks, ignores}[r.IntN(6)])
			for range 2 {
				if r.IntN(3) > 0 {
					n.cuts = append(n.cuts, r.IntN(len(text)))
				}
			}
			follow = follow && n.manner != ignores && n.manner != starts
			links[i] = n
		}
		p := new(pages)
		frame := stream.Frame{Runner: agent.New(agent.Config{Model: continuing(t, links...), Tools: p, MaxSteps: 4})}
		if err := frame.Run(t.Context(), &chat.Request{Input: "hi", Facts: chat.Facts{Seams: new(chat.Seams)}}, p); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, p.joined) || p.Done.Reason.Success() && p.joined != text {
			t.Fatalf("seed %d: %q is emitted, of %q; seams %+v", seed, p.joined, text, p.Done.Seams)
		}
		for _, s := range p.Done.Seams {
			if s.At > utf8.RuneCountInString(p.joined) || s.Key == "" || s.Reason != "unavailable" {
				t.Fatalf("seed %d: seam %+v in %d", seed, s, len(p.joined))
			}
		}
		if seams += len(p.Done.Seams); p.Done.Reason.Success() {
			whole++
		}
	}
	if whole < 850 || seams < 500 {
		t.Errorf("%d whole answers, %d seams: the test proves little", whole, seams)
	}
}
