package task

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/stream"
)

// answer is what a task's document tells of a turn, gathered as the turn is told.
type answer struct {
	// text is the answer as clients saw it, to its last byte.
	text    []byte
	failure string // of the fatal error
	reason  stream.FinishReason
	agent   string // who was chosen to answer
	asker   string // who asked the user
	route   *stream.Route
	// runs are the agents' parts, in the order in which they began.
	runs    []AgentResponse
	checked jsontext.Value // how the answer was checked; nil: it was not

	asked   []string  // ids of the questions that wait for a person
	prompt  string    // of the first of them
	expires time.Time // the last of them
}

// hear takes the next event.
func (a *answer) hear(ev stream.Event) {
	switch ev := ev.(type) {
	case *stream.Delta:
		a.text = append(a.text, ev.Text...)
		a.spoke(ev)
	case *stream.Error:
		if ev.Fatal {
			a.failure = ev.Message
		}
	case *stream.Done:
		a.reason, a.asker, a.checked = ev.Reason, ev.Asker, ev.Checked
	case *stream.Route:
		route := *ev
		a.route, a.agent = &route, ev.AgentID
	case *stream.AgentRun:
		a.ran(ev)
	case *stream.Approval:
		a.asks(ev)
	}
}

func (a *answer) asks(ev *stream.Approval) {
	if a.asked = append(a.asked, ev.ID); a.prompt == "" {
		a.prompt = ev.Prompt
	}
	if at, err := time.Parse(stream.ExpiryFormat, ev.ExpiresAt); err == nil && at.After(a.expires) {
		a.expires = at
	}
}

// waits is how long a person may take to answer.
func (a *answer) waits() time.Duration {
	if a.expires.IsZero() {
		return 0
	}
	return max(0, time.Until(a.expires))
}

// spoke adds a piece to what its agent has said, where there are several.
func (a *answer) spoke(ev *stream.Delta) {
	for i := range a.runs {
		if a.runs[i].AgentID == ev.AgentID {
			a.runs[i].Content += ev.Text
		}
	}
}

// ran notes that an agent began or ended. An agent may run more than once; the
// run that is open ends.
func (a *answer) ran(ev *stream.AgentRun) {
	if ev.Status == stream.AgentStarted {
		a.runs = append(a.runs, AgentResponse{AgentID: ev.AgentID})
		return
	}
	for i := range a.runs {
		if r := &a.runs[i]; r.AgentID == ev.AgentID && ev.Success != nil {
			r.Success, r.ErrorMessage = *ev.Success, ev.ErrorMessage
			if ev.Millis != nil {
				r.ExecutionTimeMs = Number(*ev.Millis)
			}
		}
	}
}

// describe writes how the answer was checked, who was chosen, and what each agent said.
func (a *answer) describe(m *Metadata) {
	if a.checked != nil {
		if m.Others == nil {
			m.Others = Others{}
		}
		m.Others["quality"] = a.checked
	}
	if a.route == nil {
		return
	}
	m.AgentSelections = append([]string{a.route.AgentID}, a.route.Additional...)
	m.RoutingConfidence = Number(a.route.Confidence)
	m.Routing = &Routing{AgentID: a.route.AgentID, Confidence: Number(a.route.Confidence), Reasoning: a.route.Reasoning, AdditionalAgents: a.route.Additional}
	m.AgentResponses = a.runs
	if a.route.Decision == stream.Routed && a.reason.Success() {
		m.LastAgent = a.route.AgentID
	}
}
