package stop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// inner emits pieces of text and events, until it is cancelled.
type inner struct {
	events []stream.Event
	err    error
}

func (r inner) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	out := stream.Result{Reason: stream.MaxSteps}
	for _, ev := range r.events {
		if err := sink.Emit(ev); err != nil {
			return out, err
		}
		if err := fault.Cause(ctx); err != nil {
			return stream.Result{Reason: stream.Cancelled}, err
		}
	}
	return out, r.err
}

// output is a sink that joins the text and marks the other events.
type output struct {
	strings.Builder
	fails bool
}

var errGone = errors.New("nobody reads")

func (s *output) Emit(ev stream.Event) error {
	if s.fails {
		return errGone
	}
	if d, ok := ev.(*stream.Delta); ok {
		s.WriteString(d.Text)
	} else {
		s.WriteString("|")
	}
	return nil
}

func (s *output) Flush() error { return nil }

func pieces(texts ...string) (events []stream.Event) {
	for _, text := range texts {
		if text == "|" {
			events = append(events, &stream.Thinking{Content: "hm"})
			continue
		}
		events = append(events, &stream.Delta{Text: text})
	}
	return events
}

// An answer ends before the first string, however its text is cut into pieces, and has the whole
// text if no string comes.
func TestAnswerEndsBeforeAString(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before []string
		events []stream.Event
		want   string
		found  bool
	}{
		"in one piece":                {[]string{"END"}, pieces("one END two"), "one ", true},
		"in three":                    {[]string{"END"}, pieces("one E", "N", "D two", "three"), "one ", true},
		"the first of two":            {[]string{"two", "one"}, pieces("zero on", "e two"), "zero ", true},
		"at the beginning":            {[]string{"one"}, pieces("one"), "", true},
		"a false beginning":           {[]string{"END"}, pieces("E", "EN", "ENDE"), "EEN", true},
		"no string":                   {[]string{"END"}, pieces("one EN", "tity E"), "one ENtity E", false},
		"a beginning at events":       {[]string{"END"}, pieces("one E", "|", "ND"), "one E|ND", false},
		"characters of several bytes": {[]string{"é!"}, pieces("caf", "é", "! no"), "caf", true},
	} {
		sink := new(output)
		got, err := Around(inner{events: tt.events}, tt.before).Run(t.Context(), new(chat.Request), sink)
		if err != nil || sink.String() != tt.want || (got.Reason == stream.Stop) != tt.found {
			t.Errorf("%s: %q, %s, %v; want %q", name, sink.String(), got.Reason, err, tt.want)
		}
	}
}

// A run that fails before a string fails, and so does one whose client is gone.
func TestFailureWithoutAString(t *testing.T) {
	t.Parallel()
	failure := &fault.Error{Type: fault.ModelUnavailable}
	sink := new(output)
	if _, err := Around(inner{pieces("one E"), failure}, []string{"END"}).Run(t.Context(), new(chat.Request), sink); !errors.Is(err, failure) || sink.String() != "one E" {
		t.Errorf("%v with %q", err, sink.String())
	}
	if _, err := Around(inner{events: pieces("one END")}, []string{"END"}).Run(t.Context(), new(chat.Request), &output{fails: true}); !errors.Is(err, errGone) {
		t.Errorf("the client is gone: %v", err)
	}
}

// The figures of an answer that was cancelled at a string are estimated.
func TestFiguresAreEstimated(t *testing.T) {
	t.Parallel()
	got, err := Around(inner{events: pieces("four words of text END")}, []string{"END"}).Run(t.Context(), &chat.Request{Input: "eight by"}, new(output))
	if err != nil || !got.Usage.Estimated || got.Usage.OutputTokens != 5 || got.Usage.InputTokens != 2 {
		t.Errorf("%+v, %v", got.Usage, err)
	}
}
