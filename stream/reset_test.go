package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// emits is a Runner that emits events.
type emits []stream.Event

// Run implements stream.Runner.
func (e emits) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	for _, ev := range e {
		if err := sink.Emit(ev); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

func delta(text string) stream.Event { return &stream.Delta{Text: text} }

func back(bytes int) stream.Event {
	return &stream.Reset{Reason: stream.ResetFallback, Back: bytes, Runes: bytes}
}

// A Reset says what stays of the text of the turn, whatever its run knew of that.
func TestResetOfATurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events emits
		want   []string // what stays, of each Reset
		text   string   // at the end
	}{
		"by length":               {emits{delta("one "), delta("twö"), back(4), delta("three")}, []string{"one "}, "one three"},
		"all":                     {emits{delta("one"), back(3), delta("two")}, []string{""}, "two"},
		"more than there is":      {emits{delta("one"), back(9), delta("two")}, []string{""}, "two"},
		"by text":                 {emits{delta("one two"), &stream.Reset{Accumulated: "one ", Reason: stream.ResetTakenOver}, delta("three")}, []string{"one "}, "one three"},
		"twice":                   {emits{delta("one"), back(1), delta("a"), back(2), delta("b")}, []string{"on", "o"}, "ob"},
		"nothing was shown of it": {emits{back(3), delta("two")}, nil, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink := &recorder{}
			var reported []stream.Reset
			frame := stream.Frame{Runner: tt.events, OnReset: func(_ context.Context, r *stream.Reset) { reported = append(reported, *r) }}
			if err := frame.Run(t.Context(), &chat.Request{Facts: chat.Facts{Retracts: true}}, sink); err != nil {
				t.Fatal(err)
			}
			var fold stream.Fold
			var got []string
			for _, ev := range sink.events {
				fold.Add(ev)
				if r, ok := ev.(*stream.Reset); ok {
					got = append(got, r.Accumulated)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || fold.Text() != tt.text || fold.Size != len(tt.text) || len(reported) != len(tt.want) {
				t.Errorf("%q, %d reported (-want +got):\n%s", fold.Text(), len(reported), diff)
			}
		})
	}
}

// What was taken back is counted in code points.
func TestResetCountsCodePoints(t *testing.T) {
	t.Parallel()
	runes := 0
	frame := stream.Frame{Runner: emits{delta("aö"), delta("öü"), back(4)}, OnReset: func(_ context.Context, r *stream.Reset) { runes += r.Runes }}
	if err := frame.Run(t.Context(), &chat.Request{Facts: chat.Facts{Retracts: true}}, &recorder{}); err != nil || runes != 2 {
		t.Errorf("%d, %v", runes, err)
	}
}

// The ninth Reset ends the turn.
func TestNinthReset(t *testing.T) {
	t.Parallel()
	var events emits
	for range stream.MaxResets + 1 {
		events = append(events, delta("a"), back(1))
	}
	sink := &recorder{}
	frame := stream.Frame{Runner: events}
	if err := frame.Run(t.Context(), &chat.Request{Facts: chat.Facts{Retracts: true}}, sink); err != nil {
		t.Fatal(err)
	}
	fatal, _ := sink.events[len(sink.events)-2].(*stream.Error)
	if n := strings.Count(letters(sink.events), "R"); n != stream.MaxResets || fatal == nil || fatal.Type != fault.TurnLost {
		t.Errorf("%d resets, then %+v", n, fatal)
	}
}

// Before any text, and behind an answer that is complete, there is nothing to take back.
func TestResetOutOfPlace(t *testing.T) {
	t.Parallel()
	said := &stream.ChannelMessage{Channel: "sms", Sequence: 1, Total: 1, Content: "a", ContentType: "text/plain"}
	reset := &stream.Reset{Reason: stream.ResetFallback}
	for name, before := range map[string][]stream.Event{
		"first":                  {},
		"without text":           {&stream.Start{}, &stream.Thinking{Content: "a"}},
		"behind one that is all": {&stream.Start{}, delta("a"), reset},
		"behind the answer":      {&stream.Start{}, delta("a"), said},
		"behind a fatal error":   {&stream.Start{}, delta("a"), &stream.Error{Fatal: true}},
		"without a reason":       {&stream.Start{}, delta("a")},
	} {
		guard := stream.NewGuard(&recorder{})
		for _, ev := range before {
			if err := guard.Emit(ev); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		ev := *reset
		if name == "without a reason" {
			ev.Reason = ""
		}
		if err := guard.Emit(&ev); !errors.Is(err, stream.ErrGrammar) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A Fold that notes a part of an answer has the right part of it after each Reset.
func TestResetOfABoundedFold(t *testing.T) {
	t.Parallel()
	f := stream.Fold{Max: 4}
	for _, ev := range []stream.Event{delta("abc"), delta("def"), delta("ghi"), back(4), delta("j"), back(4), delta("k")} {
		f.Add(ev)
	}
	if f.Text() != "abk" || f.Size != 3 {
		t.Errorf("%q, %d", f.Text(), f.Size)
	}
}
