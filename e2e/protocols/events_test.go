package protocols

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/stream"
)

// witness writes down the events of a turn, but for times, ids and names that the
// providers give. Deltas of one kind in a row are one: how a text is cut is the
// provider's affair.
type witness struct {
	events []string
	ended  []string // since the last other event
	ids    map[string]string
	model  string
}

func (w *witness) Flush() error { return nil }

func (w *witness) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Start:
		w.add("start", strings.ReplaceAll(ev.Model, w.model, "MODEL"))
	case *stream.Thinking:
		w.goOn("thinking", ev.Content)
	case *stream.Delta:
		w.goOn("delta", ev.Text)
	case *stream.ToolStarted:
		w.add("started", w.call(ev.Call))
	case *stream.ToolCompleted:
		w.add("ended", w.call(ev.Call)+" well: "+ev.Result)
	case *stream.ToolFailed:
		w.add("ended", w.call(ev.Call)+" badly: "+ev.Message)
	case *stream.Error:
		w.add("ended", fmt.Sprint("error ", ev.Type, " of ", ev.Service, ": ", ev.Message))
	case *stream.Done:
		w.add("done", fmt.Sprintf("%s, %d models, %d tools, %v, tokens told: %v", ev.Reason, len(ev.Model), len(ev.Tools), ev.Models, ev.Usage.InputTokens > 0 && ev.Usage.OutputTokens > 0 && !ev.Usage.Estimated))
	default:
		w.add(stream.Name(ev), fmt.Sprintf("%+v", ev))
	}
	return nil
}

func (w *witness) add(kind, text string) {
	if kind != "ended" {
		slices.Sort(w.ended) // tools that run side by side end in any order
		w.events, w.ended = append(w.events, w.ended...), nil
		w.events = append(w.events, kind+": "+text)
		return
	}
	w.ended = append(w.ended, kind+": "+text)
}

func (w *witness) goOn(kind, text string) {
	if n := len(w.events); n > 0 && strings.HasPrefix(w.events[n-1], kind+": ") {
		w.events[n-1] += text
		return
	}
	w.add(kind, text)
}

// call names calls by the order in which they began.
func (w *witness) call(c stream.Call) string {
	if w.ids == nil {
		w.ids = map[string]string{}
	}
	if w.ids[c.ID] == "" {
		w.ids[c.ID] = fmt.Sprint("call ", len(w.ids)+1)
	}
	args := c.Arguments.Clone()
	_ = args.Compact() // white space is the provider's affair, too
	return fmt.Sprintf("%s %s of %s %s", w.ids[c.ID], c.Tool, c.Server, args)
}

// A turn with two tools at once, and a third after them, gives the same events, whichever
// protocol its model speaks.
func TestSameEventsThroughEachProtocol(t *testing.T) {
	t.Parallel()
	const list = `call 1 todo.list of todo {"done":false,"text":"grüß \"Gott\""}`
	want := []string{
		"start: MODEL",
		"thinking: The user wants the todos. And the time. ",
		"started: " + list,
		"started: call 2 clock:now of clock {}",
		"ended: " + list + " well: The result of todo.list.",
		"ended: call 2 clock:now of clock {} badly: The tool clock:now answered with an error",
		"ended: error tool_execution_failed of mcp:clock: The tool clock:now answered with an error",
		"thinking: One more. ",
		`started: call 3 todo_list of todo {"id":7}`,
		`ended: call 3 todo_list of todo {"id":7} well: The result of todo_list.`,
		"thinking: Enough. ",
		"delta: Two todos,\nand it is 😀 o'clock: " + `{"output":"The result of todo_list."}`,
		"done: stop, 3 models, 3 tools, [], tokens told: true",
	}
	for _, p := range append(protocols(), dialects()...) {
		t.Run(p.spec.Key, func(t *testing.T) {
			t.Parallel()
			if p.spec.Key == "chat" {
				p.directives += "; reasoning plain" // OpenAI's own never shows any
			}
			if p.spec.Key == "geminicompat" {
				p.directives += "; reasoning content"
			}
			m := p.open(t, clerk{}, nil)
			w := &witness{model: m.Name()}
			frame := stream.Frame{Runner: agent.New(agent.Config{Model: m, Tools: newDesk(), Keyed: true}), Model: m.Name()}
			if err := frame.Run(t.Context(), question(), w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.events); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
