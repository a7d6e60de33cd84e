package run_test

import (
	"fmt"

	"sluice/internal/engine/run"
	"sluice/stream"
)

// turn is an Owner that prints the events of one run inside it.
type turn struct{}

func (turn) EmitText(piece *stream.Delta) error {
	fmt.Println("text:", piece.Text)
	return nil
}

func (turn) Pass(ev stream.Event, _ bool) error {
	if e, ok := ev.(*stream.ToolStarted); ok {
		fmt.Println(e.AgentID, "calls", e.Tool, "as", e.ID)
	}
	return nil
}

func (turn) CallID(own string, _ bool) string { return "research/" + own }

// A Branch names the agent of a run's events, and bounds the run's text.
func ExampleOwner() {
	branch := &run.Branch{Owner: turn{}, Attribution: stream.Attribution{AgentID: "research"}, Max: 20}
	for _, ev := range []stream.Event{
		&stream.ToolStarted{Call: stream.Call{ID: "1", Tool: "search"}},
		&stream.Delta{Text: "It is short."},
		&stream.Delta{Text: "This is too long by far."},
	} {
		if err := branch.Emit(ev); err != nil {
			fmt.Println("stopped:", err != nil)
		}
	}
	// Output:
	// research calls search as research/1
	// text: It is short.
	// stopped: true
}
