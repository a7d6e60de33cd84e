package record

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/base/telemetry/trace"
	"sluice/stream"
)

// modelCalls are the calls of models in one turn, each from its request to its last byte. Events
// report their outcomes. They do not report how long a model ran, nor calls that clients do not
// learn of. It is safe for concurrent use.
type modelCalls struct {
	mu    sync.Mutex // guards the fields below
	began time.Time  // of the turn, on the line of time of its events
	list  []*modelCall
}

// modelCall is one of them. The mutex of modelCalls guards it.
type modelCall struct {
	speaker  stream.Attribution
	purpose  string // of a question of the gateway's own; empty: an agent works
	model    string
	began    time.Duration
	elapsed  time.Duration // once it is over
	hasEnded bool
	failed   bool
	usage    Usage
	first    time.Duration // since it began; 0: nothing has come
	finish   string
	step     int // of the part that shows it; -1: none yet
}

// Context returns a context that records the calls of models for the trace. began is the moment
// from which the events of the turn count.
func (r *Recorder) Context(ctx context.Context, began time.Time) context.Context {
	r.models.mu.Lock()
	r.models.began = began
	r.models.mu.Unlock()
	return trace.Within(ctx, func(below trace.Recorder) trace.Recorder { return &noter{below: below, calls: &r.models} })
}

// areRecorded reports whether the recorder learns of model calls. It does not for the events of a
// dead process.
func (m *modelCalls) areRecorded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.began.IsZero()
}

// claimModelCall sets the step of the model call that now speaks for who, and returns its begin. Only
// the newest one speaks: an earlier call without a step has failed, and another model answers. ok is
// false if the newest one has a step, or no model was asked.
func (m *modelCalls) claimModelCall(who *stream.Attribution, step int) (began time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range slices.Backward(m.list) {
		if c.purpose != "" || !c.speaksFor(who) {
			continue
		}
		if c.step >= 0 {
			return 0, false
		}
		c.step = step
		return c.began, true
	}
	return 0, false
}

// speaksFor reports whether the call is of who: sessions have unique ids, others a name within
// their node.
func (c *modelCall) speaksFor(who *stream.Attribution) bool {
	if c.speaker.SessionID != "" || who.SessionID != "" {
		return c.speaker.SessionID == who.SessionID
	}
	return c.speaker.AgentID == who.AgentID && c.speaker.NodeID == who.NodeID
}

// addModelCalls adds the data of model calls to the steps of an ended turn. A call that no event
// has reported gets a step of its own.
func (r *Recorder) addModelCalls() {
	r.models.mu.Lock()
	defer r.models.mu.Unlock()
	for _, c := range r.models.list {
		if c.step < 0 && !r.addModelStep(c) {
			return
		}
		c.fillStep(&r.part.Steps[c.step])
	}
	slices.SortStableFunc(r.part.Steps[1:], func(a, b Step) int { return strings.Compare(a.Timestamp, b.Timestamp) }) // the turn stays first
}

// fillStep fills a step with the data of the call.
func (c *modelCall) fillStep(s *Step) {
	s.Model = c.model
	if c.usage != (Usage{}) {
		usage := c.usage
		usage.Output -= usage.Thinking // telemetry counts them as one
		s.Usage = &usage
	}
	s.Finish = c.finish
	if c.first > 0 {
		ms := c.first.Milliseconds()
		s.FirstToken = &ms
	}
	if c.failed {
		s.Status = Warning
	}
	if c.hasEnded {
		ms := c.elapsed.Milliseconds()
		s.Millis = &ms
	}
}

// addModelStep gives a call a step of its own. ok is false if the part is full.
func (r *Recorder) addModelStep(c *modelCall) (ok bool) {
	i := r.beginStep(Step{Name: cmp.Or(c.purpose, Speak), ParentID: r.stepAbove(c), Agent: c.speaker.AgentID, NodeID: c.speaker.NodeID, SessionID: c.speaker.SessionID}, "", c.began)
	if i < 0 {
		return false
	}
	c.step = r.open[i].step
	r.endStep(i, max(c.elapsed, 0))
	return true
}

// stepAbove returns the step that an unreported call is a part of.
func (r *Recorder) stepAbove(c *modelCall) string {
	if c.purpose == stepRouter {
		for _, s := range r.part.Steps {
			if s.Name == stepRoute {
				return s.ID
			}
		}
	}
	return cmp.Or(r.parentStep(c.speaker), r.part.Steps[0].ID)
}

// For returns a context in which models are asked for a purpose of the gateway's own, which becomes
// the name of the step. Without a trace it changes nothing.
func For(ctx context.Context, purpose string) context.Context {
	return trace.Within(ctx, func(at trace.Recorder) trace.Recorder {
		if n, ok := at.(*noter); ok {
			return &noter{below: n.below, calls: n.calls, speaker: n.speaker, purpose: purpose}
		}
		return at
	})
}

// noter is a span that notes which models are asked below it, and hands everything on to
// the span that telemetry has.
type noter struct {
	below   trace.Recorder // nil without telemetry
	calls   *modelCalls
	speaker stream.Attribution
	purpose string
	call    *modelCall // of the span of a model call
}

// Names of spans that give the agent, the node or the purpose of a model's call. Other spans are
// those of the span above.
const (
	spanNode  = "node"
	spanRoute = "RouterExecutor.Route"
	// SpanSession is the attribute of a sub-agent's session.
	SpanSession = "sluice.session.id"
)

// Begin implements trace.Recorder.
func (n *noter) Begin(kind trace.Kind, operation, subject string) trace.Recorder {
	next := &noter{calls: n.calls, speaker: n.speaker, purpose: n.purpose}
	if n.below != nil {
		next.below = n.below.Begin(kind, operation, subject)
	}
	switch operation {
	case trace.InvokeAgent:
		next.speaker.AgentID = subject
	case spanNode:
		next.speaker.NodeID = subject
	case spanRoute:
		next.purpose = stepRouter
	case trace.Chat:
		next.call = n.calls.addModelCall(n.speaker, n.purpose, subject)
	}
	return next
}

func (m *modelCalls) addModelCall(who stream.Attribution, purpose, model string) *modelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &modelCall{speaker: who, purpose: purpose, model: model, began: time.Since(m.began), step: -1}
	if len(m.list) < maxSteps {
		m.list = append(m.list, c)
	}
	return c
}

// String implements trace.Recorder.
func (n *noter) String(key, value string) {
	if key == SpanSession {
		n.speaker.SessionID = value // before anything begins below it
	}
	if n.below != nil {
		n.below.String(key, value)
	}
}

// Int implements trace.Recorder.
func (n *noter) Int(key string, value int) {
	if n.call != nil {
		n.calls.mu.Lock()
		switch key {
		case trace.InputTokens:
			n.call.usage.Input = value
		case trace.OutputTokens:
			n.call.usage.Output = value
		}
		n.calls.mu.Unlock()
	}
	if n.below != nil {
		n.below.Int(key, value)
	}
}

// First implements trace.Noter.
func (n *noter) First() {
	if n.call != nil {
		n.calls.mu.Lock()
		n.call.first = max(1, time.Since(n.calls.began)-n.call.began)
		n.calls.mu.Unlock()
	}
}

// Replied implements trace.Noter.
func (n *noter) Replied(cached, thinking int, finish string) {
	if n.call != nil {
		n.calls.mu.Lock()
		n.call.usage.Cached, n.call.usage.Thinking, n.call.finish = cached, thinking, finish
		n.calls.mu.Unlock()
	}
}

// Float implements trace.Recorder.
func (n *noter) Float(key string, value float64) {
	if n.below != nil {
		n.below.Float(key, value)
	}
}

// Propagate implements trace.Recorder.
func (n *noter) Propagate(header http.Header) {
	if n.below != nil {
		n.below.Propagate(header)
	}
}

// Link implements trace.Recorder.
func (n *noter) Link(name string) {
	if n.below != nil {
		n.below.Link(name)
	}
}

// End implements trace.Recorder.
func (n *noter) End(failure string) {
	if n.call != nil {
		n.calls.mu.Lock()
		n.call.hasEnded, n.call.failed = true, failure != ""
		n.call.elapsed = time.Since(n.calls.began) - n.call.began
		n.calls.mu.Unlock()
	}
	if n.below != nil {
		n.below.End(failure)
	}
}
