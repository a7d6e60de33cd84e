package task

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// answerOf returns what events have reported.
func answerOf(events ...stream.Event) *answer {
	a := new(answer)
	for _, ev := range events {
		a.addEvent(ev)
	}
	return a
}

// Each agent's part of the answer is its own, also where they speak in turns, or one of them
// runs again: that run has what came after it began.
func TestContentIsOfItsAgent(t *testing.T) {
	t.Parallel()
	var a answer
	say := func(agent, text string) {
		a.addEvent(&stream.Delta{Attribution: stream.Attribution{AgentID: agent}, Text: text})
	}
	start := func(agent string) { a.addEvent(&stream.AgentRun{AgentID: agent, Status: stream.AgentStarted}) }
	say("", "before")
	start("x")
	say("x", "1")
	say("x", "2")
	start("y")
	say("x", "3")
	say("y", "4")
	say("x", "5")
	start("x")
	say("x", "6")
	say("x", "7")
	say("y", "8")
	a.addEvent(&stream.Route{AgentID: "x"})
	var m metadata
	a.fillMetadata(&m)
	var got []string
	for _, r := range m.AgentResponses {
		got = append(got, r.AgentID+":"+r.Content)
	}
	if diff := cmp.Diff([]string{"x:1235" + "67", "y:48", "x:67"}, got); diff != "" || string(a.text) != "before12345678" {
		t.Errorf("%s (-want +got):\n%s", a.text, diff)
	}
}
