// This file gathers what a task's document will say of a turn, from the same events that
// clients get. It is fed one event after the other, keeps text once and notes whose parts
// of it are, so that an answer of several agents needs no copy of each. Nothing is written
// here.

package task

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/stream"
)

// answer is what a task's document says of a turn. It is gathered while the turn is sent.
//
// One goroutine uses it, that of the turn. text may be lent from a pool (buffer.go): what
// outlives the turn is copied.
type answer struct {
	// text is the answer as clients saw it, to its last byte.
	text []byte
	// spans say which agent wrote which part of text, where the document names agents.
	spans   []span
	failure string // of the fatal error
	reason  stream.FinishReason
	agent   string // who was chosen to answer
	asker   string // who asked the user
	route   *stream.Route
	// runs are the agents' parts, in the order in which they began.
	runs    []AgentResponse
	begins  []int          // where in text each of them began
	checked jsontext.Value // how the answer was checked; nil: it was not

	asked   []string  // ids of the questions that wait for a person
	prompt  string    // of the first of them
	expires time.Time // the last of them
}

// hear takes the next event.
func (a *answer) hear(ev stream.Event) {
	switch ev := ev.(type) {
	case *stream.Delta:
		from := len(a.text)
		a.text = append(a.text, ev.Text...)
		a.spoke(ev.AgentID, from)
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

// asks notes a question to a person. A time that cannot be read counts as none.
func (a *answer) asks(ev *stream.Approval) {
	if a.asked = append(a.asked, ev.ID); a.prompt == "" {
		a.prompt = ev.Prompt
	}
	if at, err := time.Parse(stream.ExpiryFormat, ev.ExpiresAt); err == nil && at.After(a.expires) {
		a.expires = at
	}
}

// waits is how long a person may take to answer.
//
// 0: no question says until when.
func (a *answer) waits() time.Duration {
	if a.expires.IsZero() {
		return 0
	}
	return max(0, time.Until(a.expires))
}

// span is a part of an answer that one agent has said, from byte from up to byte to.
type span struct {
	agent    string
	from, to int
}

// spoke notes whose the end of the text is, from byte from on. What an agent says in one go
// is one span, unless another run began meanwhile: that one has not said what was before.
func (a *answer) spoke(agent string, from int) {
	if len(a.runs) == 0 {
		return
	}
	if n := len(a.spans); n > 0 && a.spans[n-1].agent == agent && a.spans[n-1].from >= a.begins[len(a.begins)-1] {
		a.spans[n-1].to = len(a.text)
		return
	}
	a.spans = append(a.spans, span{agent, from, len(a.text)})
}

// content returns what the agent of a run has said since the run began.
//
// A run of the same agent before it does not count, a later one does.
func (a *answer) content(run int) string {
	var said []byte
	for _, s := range a.spans {
		if s.agent == a.runs[run].AgentID && s.from >= a.begins[run] {
			said = append(said, a.text[s.from:s.to]...)
		}
	}
	return string(said)
}

// ran notes that an agent began or ended. An agent may run more than once; the
// run that is open ends.
func (a *answer) ran(ev *stream.AgentRun) {
	if stream.Inner(ev) {
		return // its caller answers
	}
	if ev.Status == stream.AgentStarted {
		a.runs, a.begins = append(a.runs, AgentResponse{AgentID: ev.AgentID}), append(a.begins, len(a.text))
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
//
// It is called once, when the turn is over. Without a route the document names no agents, as
// there is no team.
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
	for i := range a.runs {
		a.runs[i].Content = a.content(i)
	}
	m.AgentResponses = a.runs
	if a.route.Decision == stream.Routed && a.reason.Success() {
		m.LastAgent = a.route.AgentID
	}
}
