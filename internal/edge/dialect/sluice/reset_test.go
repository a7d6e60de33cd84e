package sluice

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// wavers is a Runner that says random texts and takes some of them back, by length or by text.
type wavers struct{ *rand.Rand }

// Run implements stream.Runner.
func (w wavers) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	text, resets := "", 0
	for range 3 + w.IntN(40) {
		ev := stream.Event(&stream.Delta{Text: []string{"a", "ö", "\n\n", "word ", "\"\\", "漢字", "<&>", "\u2028"}[w.IntN(8)]})
		if text != "" && resets < stream.MaxResets && w.IntN(5) == 0 {
			runes := []rune(text)
			stays := string(runes[:w.IntN(len(runes))])
			reset := &stream.Reset{Reason: stream.ResetTakenOver, Accumulated: stays}
			if w.IntN(2) == 0 {
				reset = &stream.Reset{Reason: stream.ResetFallback, Back: len(text) - len(stays)}
			}
			ev, text, resets = reset, stays, resets+1
		} else {
			text += ev.(*stream.Delta).Text
		}
		if err := sink.Emit(ev); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// clients are two readers of one stream: one joins deltas by the rule, the other one only reads
// what is repeated.
type clients struct {
	t       *testing.T
	encoder stream.Encoder
	n       int
	joined  string
	resets  int
	done    bool
}

// Emit implements stream.Sink.
func (c *clients) Emit(ev stream.Event) error {
	c.n++
	frame := c.encoder.Encode(nil, stream.Stamp{N: c.n}, ev)
	_, data, _ := bytes.Cut(frame, []byte("\ndata: "))
	var got struct {
		Delta       string
		Accumulated *string
		Final       string `json:"final_output"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		c.t.Fatalf("%v: %s", err, frame)
	}
	switch ev.(type) {
	case *stream.Delta:
		c.joined += got.Delta
		if got.Accumulated == nil || *got.Accumulated != c.joined {
			c.t.Fatalf("want %q, got %s", c.joined, frame)
		}
	case *stream.Reset:
		before := c.joined
		c.joined = *got.Accumulated
		c.resets++
		if len(c.joined) >= len(before) || !strings.HasPrefix(before, c.joined) {
			c.t.Fatalf("%q becomes %q", before, c.joined)
		}
	case *stream.Done:
		c.done = true
		if got.Final != c.joined {
			c.t.Fatalf("want %q, got %s", c.joined, frame)
		}
	}
	return nil
}

func (*clients) Flush() error { return nil }

// However often a turn takes text back, who joins deltas by the rule and who reads what events
// repeat have the same text at each event, and at the end.
func TestTextIsTheSameForAllClients(t *testing.T) {
	t.Parallel()
	resets := 0
	for seed := range uint64(300) {
		c := &clients{t: t, encoder: newEncoder("turn", "req", true, 0)}
		frame := stream.Frame{Runner: wavers{rand.New(rand.NewPCG(seed, 6))}}
		if err := frame.Run(t.Context(), &chat.Request{Facts: chat.Facts{Retracts: true}}, c); err != nil || !c.done {
			t.Fatalf("seed %d: %v, done %t", seed, err, c.done)
		}
		resets += c.resets
	}
	if resets < 300 {
		t.Errorf("%d resets: the test proves little", resets)
	}
}

// After text was taken back, what events and the end repeat of it is what stays, whether deltas
// repeat the text or not, and whether a client has read them all or came later.
func TestTextAfterAReset(t *testing.T) {
	t.Parallel()
	events := []stream.Event{
		&stream.Start{}, &stream.Delta{Text: "one\n"}, &stream.Delta{Text: "two"}, &stream.Reset{Accumulated: "one\n", Reason: stream.ResetFallback},
		&stream.Delta{Text: "\"three\""}, &stream.Reset{Reason: stream.ResetTakenOver, Attribution: stream.Attribution{AgentID: "a"}}, &stream.Delta{Text: "four"}, &stream.Done{Reason: stream.Stop},
	}
	for _, accumulated := range []bool{true, false} {
		for skipped := range events {
			e := newEncoder("turn", "req", accumulated, 0)
			var frames []byte
			for i, ev := range events {
				if i < skipped {
					e.Skip(ev)
					continue
				}
				frames = e.Encode(frames, stream.Stamp{N: i + 2}, ev)
			}
			text := string(frames)
			if !strings.Contains(text, `"final_output":"four"`) || accumulated && skipped <= 4 && !strings.Contains(text, `"accumulated":"one\n\"three\""`) {
				t.Errorf("accumulated %t, %d skipped:\n%s", accumulated, skipped, text)
			}
		}
	}
	e := newEncoder("turn", "req", false, 0)
	got := string(e.Encode(nil, stream.Stamp{N: 2}, events[3]))
	want := "id: turn:2\nevent: response_reset\ndata: {\"request_id\":\"req\",\"accumulated\":\"one\\n\",\"reason\":\"fallback\"}\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = string(e.Encode(nil, stream.Stamp{N: 3}, events[5]))
	if want := `{"request_id":"req","accumulated":"","reason":"taken_over","agent_id":"a"}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
