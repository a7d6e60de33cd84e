package quality

import (
	"testing"
	"time"

	"sluice/stream"
)

// Steps of a plan count as done by whether their agents did their part, those of this package
// by whether the answer was evaluated and delivered.
func TestStepsOfACourse(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, test := range []struct {
		name                          string
		plan                          *plan
		runs                          []*stream.AgentRun
		deliver, evaluated, delivered bool
		steps, ran                    int
	}{
		{name: "no plan", evaluated: true, steps: 3, ran: 3},
		{name: "nothing evaluated", deliver: true, steps: 4},
		{name: "delivered", deliver: true, evaluated: true, delivered: true, steps: 4, ran: 4},
		{name: "one agent, without events", plan: &plan{steps: make([]step, 2)}, evaluated: true, steps: 5, ran: 5},
		{name: "one agent that failed early", plan: &plan{steps: make([]step, 2)}, steps: 5},
		{name: "a team", plan: &plan{steps: []step{{Agent: "a"}, {Agent: "b"}, {Agent: "c"}}}, evaluated: true,
			runs: []*stream.AgentRun{{AgentID: "a", Success: &no}, {AgentID: "a", Success: &yes}, {AgentID: "b", Success: &no}}, steps: 6, ran: 4},
	} {
		c := course{plan: test.plan}
		for _, ev := range test.runs {
			c.recordAgent(ev)
		}
		if steps, ran := c.countSteps(test.deliver), c.stepsRun(test.evaluated, test.delivered); steps != test.steps || ran != test.ran {
			t.Errorf("%s: %d of %d steps, want %d of %d", test.name, ran, steps, test.ran, test.steps)
		}
	}
}

// The length of a text is reported when it begins, and once a second from then on.
func TestLengthIsReported(t *testing.T) {
	t.Parallel()
	var c composed
	now := time.Unix(1, 0)
	for i, test := range []struct {
		after      time.Duration
		first, due bool
	}{{0, true, true}, {999 * time.Millisecond, false, false}, {time.Millisecond, false, true}, {time.Millisecond, false, false}, {time.Second, false, true}} {
		now = now.Add(test.after)
		if first, due := c.countText(2, now); first != test.first || due != test.due || c.chars != 2*(i+1) {
			t.Errorf("piece %d: first %v, due %v, %d chars", i, first, due, c.chars)
		}
	}
	if c.firstText != time.Unix(1, 0) {
		t.Errorf("the first text came at %v", c.firstText)
	}
}
