package chatkit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/chatkit"
	"sluice/stream"
)

// Messages that are complete are removed like the open one, from the page and from the thread that
// is kept; what stays of the first of them begins a new one. Workflows stay.
func TestResetRemovesMessages(t *testing.T) {
	t.Parallel()
	a, b := stream.Call{ID: "a", Tool: "look"}, stream.Call{ID: "b", Tool: "read"}
	turn := []stream.Event{
		started, &stream.Delta{Text: "One. "},
		&stream.ToolStarted{Call: a}, &stream.ToolCompleted{Call: a, Result: "r"}, &stream.Delta{Text: "Twö. "},
		&stream.ToolStarted{Call: b}, &stream.ToolCompleted{Call: b, Result: "r"}, &stream.Delta{Text: "Three"},
	}
	thought := append([]stream.Event{started, &stream.ToolStarted{Call: a}, &stream.ToolCompleted{Call: a, Result: "r"}}, turn[1], turn[5], turn[6])
	for name, tt := range map[string]struct {
		turn    []stream.Event
		stays   string
		removed int
		kept    string // in the thread
	}{
		"of the open one":            {turn, "One. Twö. Th", 1, "hi|One. |workflow|Twö. |workflow|Th new"},
		"the open one":               {turn, "One. Twö. ", 1, "hi|One. |workflow|Twö. |workflow| new"},
		"of one in front of it":      {turn, "One. Tw", 2, "hi|One. |workflow|workflow|Tw new"},
		"one in front of it, wholly": {turn, "One. ", 2, "hi|One. |workflow|workflow| new"},
		"of the first":               {turn, "O", 3, "hi|workflow|workflow|O new"},
		"behind a workflow":          {thought, "O", 1, "hi|workflow|workflow|O new"},
		"all":                        {turn, "", 3, "hi|workflow|workflow| new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory)})
			events := append(tt.turn[:len(tt.turn):len(tt.turn)], &stream.Reset{Accumulated: tt.stays, Reason: stream.ResetFallback}, &stream.Delta{Text: " new"}, &stream.Done{Reason: stream.Stop})
			frames, x := ask(t, s, as("ann", create("hi")), events...)
			x.Close()
			c, err := follow(frames, false)
			if err != nil {
				t.Fatalf("%v\n%s", err, frames)
			}
			if got := strings.Count(frames, "thread.item.removed"); got != tt.removed || c.answer() != tt.stays+" new" {
				t.Errorf("%d items were removed, want %d; the answer is %q", got, tt.removed, c.answer())
			}
			thread := c.items[0].ThreadID
			list := reply[items](t, s, request("items.list", `"thread_id":"`+thread+`","order":"asc"`, "ann"))
			if diff := cmp.Diff(tt.kept, strings.Join(list.texts(), "|")); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}
