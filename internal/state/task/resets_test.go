package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// wanders is a Runner that says random texts and takes some of them back. inner is what a part of
// the gateway within the turn has of it, such as the memory of a conversation.
type wanders struct {
	r     *rand.Rand
	inner *stream.Fold
}

// Run implements stream.Runner.
func (w wanders) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	resets, size := 0, 0
	for range 3 + w.r.IntN(30) {
		ev := stream.Event(&stream.Delta{Text: []string{"a", "ö", "\n\n", "word ", "\"", "漢字"}[w.r.IntN(6)]})
		if size > 0 && resets < stream.MaxResets && w.r.IntN(6) == 0 {
			resets++
			back := 1 + w.r.IntN(size)
			for !startsRune(w.inner.Text(), size-back) {
				back++
			}
			ev = &stream.Reset{Reason: stream.ResetFallback, Back: back}
		}
		w.inner.Add(ev)
		size = w.inner.Size
		if err := sink.Emit(ev); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// startsRune says whether a text can be cut at i.
func startsRune(text string, i int) bool { return i == 0 || text[i]&0xC0 != 0x80 }

// readers are all who have the text of a turn: a client that joins deltas by the rule, and what a
// task, a trace, a log and the memory come to.
type readers struct {
	t      *testing.T
	joined string
	resets int

	said  answer
	trace *record.Recorder
	log   []byte
	whole stream.Fold
	inner *stream.Fold
}

// Write implements stream.Output.
func (r *readers) Write(s stream.Stamp, ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		r.joined += ev.Text
	case *stream.Reset:
		r.joined = ev.Accumulated
		r.resets++
	}
	r.said.addEvent(ev)
	r.trace.Observe(s.At, ev)
	r.whole.Add(ev)
	line, err := stream.AppendStored(nil, s, ev)
	r.log = append(append(r.log, line...), '\n')
	spoken := ""
	if p := r.trace.Part(false); len(p.Steps) > 1 {
		spoken = p.Steps[1].Message
	}
	want := r.joined
	for who, text := range map[string]string{"task": string(r.said.text), "trace": spoken, "sum": r.whole.Text(), "memory": r.inner.Text()} {
		if _, done := ev.(*stream.Done); text != want && (who != "trace" || done) { // a trace has what a step says at its end
			return errors.Join(err, fmt.Errorf("%s has %q, want %q", who, text, want))
		}
	}
	return err
}

func (*readers) Flush() error           { return nil }
func (*readers) Blocked() time.Duration { return 0 }

// The text of a turn of which parts are taken back is the same for everybody, at each event.
func TestResetsAreTheSameForAll(t *testing.T) {
	t.Parallel()
	resets := 0
	for seed := range uint64(300) {
		inner := new(stream.Fold)
		r := &readers{t: t, inner: inner, trace: record.New(record.Spec{}, "turn_1", time.Now())}
		frame := stream.Frame{Runner: wanders{rand.New(rand.NewPCG(seed, 5)), inner}}
		if err := frame.Run(t.Context(), &chat.Request{Facts: chat.Facts{Retracts: true}}, stream.NewStamper(r, time.Now())); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		resets += r.resets
		var again stream.Fold
		for line := range bytes.Lines(r.log) {
			if err := stream.ReadStoredLine(line, func(_ stream.Stamp, ev stream.Event) { again.Add(ev) }); err != nil {
				t.Fatal(err)
			}
		}
		if again.Text() != r.joined {
			t.Fatalf("seed %d: the log has %q, want %q", seed, again.Text(), r.joined)
		}
	}
	if resets < 300 {
		t.Errorf("%d resets: the test proves little", resets)
	}
}

// Each agent's part of an answer is without what was taken back of it.
func TestResetOfAnAgent(t *testing.T) {
	t.Parallel()
	of := func(id string) stream.Attribution { return stream.Attribution{AgentID: id} }
	a := answerOf(
		&stream.AgentRun{AgentID: "x", Status: stream.AgentStarted}, &stream.AgentRun{AgentID: "y", Status: stream.AgentStarted},
		&stream.Delta{Attribution: of("x"), Text: "one "}, &stream.Delta{Attribution: of("y"), Text: "two "},
		&stream.Delta{Attribution: of("x"), Text: "three"}, &stream.Reset{Accumulated: "one tw", Attribution: of("y")},
		&stream.Delta{Attribution: of("y"), Text: "elve"})
	a.addEvent(&stream.Route{AgentID: "x"})
	var m metadata
	a.fillMetadata(&m)
	if x, y := m.AgentResponses[0].Content, m.AgentResponses[1].Content; x != "one " || y != "twelve" || string(a.text) != "one twelve" {
		t.Errorf("x %q, y %q in %q", x, y, a.text)
	}
}
