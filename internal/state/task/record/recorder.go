package record

import (
	"cmp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// Bounds of a part.
const (
	maxSteps = 500     // the last ones of a longer turn are left out
	maxBytes = 1 << 20 // of texts; later steps are recorded without texts
	// usualSteps is room for a turn without tool calls: the turn itself and its answer.
	usualSteps = 2
)

// Recorder makes the part of one turn. Use New.
type Recorder struct {
	spec   Spec
	began  time.Time
	part   Part
	bytes  int
	size   int           // of the answer
	last   time.Duration // of the last event
	open   []open        // steps that have not ended, the turn first
	calls  []place       // that are under way
	models modelCalls
}

// open is a step that has not ended.
type open struct {
	step     int // index in the part
	key      string
	speaker  stream.Attribution // of a lane, as a lane lacks a key
	lane     bool
	began    time.Duration
	text     text
	busy     int  // calls of it that are under way
	hasCalls bool // it has asked for calls
}

// place is where a call stands.
type place struct {
	id         string
	step, call int
	speaker    stream.Attribution
}

// New returns the Recorder of a turn.
func New(spec Spec, turn string, began time.Time) *Recorder {
	r := &Recorder{spec: spec, began: began, part: Part{Turn: turn, Steps: make([]Step, 0, usualSteps)}, open: make([]open, 0, usualSteps)}
	r.beginStep(Step{Name: Turn}, "", 0)
	return r
}

// Observe takes the next event of the turn.
func (r *Recorder) Observe(at time.Duration, ev stream.Event) {
	if stream.Passing(ev) {
		return
	}
	r.last = max(r.last, at)
	switch ev := ev.(type) {
	case *stream.Delta:
		r.size += len(ev.Text)
		r.addText(&ev.Attribution, ev.Text, at)
	case *stream.Reset:
		r.retractText(ev)
	case *stream.InnerDelta:
		r.addInnerText(ev, at)
	case *stream.Thinking:
		r.speechStep(&ev.Attribution, at, stepText)
	case *stream.ToolStarted:
		r.startCall(&ev.Call, at)
	case stream.ToolEnd:
		r.endCall(ev)
	case *stream.Route:
		r.recordRoute(ev, at)
	case *stream.AgentRun:
		r.recordAgent(ev, at)
	case *stream.NodeRun:
		r.recordNode(ev, at)
	case *stream.ModelChanged:
		r.addInstant(Step{Name: stepModel, Status: Warning, Message: ev.Previous + ": " + ev.Reason + "; now " + ev.Key, Agent: ev.AgentID, NodeID: ev.NodeID, SessionID: ev.SessionID}, at)
	case *stream.Approval:
		r.recordApproval(ev, at)
	case *stream.Error:
		r.recordFailure(ev, at)
	case *stream.Done:
		r.recordDone(ev)
	}
}

// addText adds text to its speaker's step.
func (r *Recorder) addText(a *stream.Attribution, text string, at time.Duration) {
	if i := r.speechStep(a, at, stepText); i >= 0 {
		r.open[i].text.add(text)
	}
}

// addInnerText adds to the text of an agent. The text of a tool's node is the result of its call, so it
// is left out.
func (r *Recorder) addInnerText(ev *stream.InnerDelta, at time.Duration) {
	if ev.AgentID != "" {
		r.addText(&ev.Attribution, ev.Delta, at)
	}
}

// retractText removes the retracted end of a speaker's text.
func (r *Recorder) retractText(ev *stream.Reset) {
	back := r.size - len(ev.Accumulated)
	r.size = len(ev.Accumulated)
	if i := r.findLane(&ev.Attribution); i >= 0 {
		o := &r.open[i]
		if o.text.cutEnd(back); !o.text.hasText() {
			r.part.Steps[o.step].Message = "" // that of a part that was asked for before the end
		}
	}
}

// beginStep opens a step. It returns its index among the open steps, or -1 if the part is full.
func (r *Recorder) beginStep(s Step, key string, at time.Duration) int {
	if len(r.part.Steps) == maxSteps {
		return -1
	}
	s.ID = r.part.Turn + ":" + strconv.Itoa(len(r.part.Steps))
	if len(r.open) > 0 && s.ParentID == "" {
		s.ParentID = r.part.Steps[0].ID
	}
	s.Status = cmp.Or(s.Status, Info)
	s.Timestamp = r.began.Add(at).UTC().Format(timeFormat)
	r.part.Steps = append(r.part.Steps, s)
	r.open = append(r.open, open{step: len(r.part.Steps) - 1, key: key, began: at})
	return len(r.open) - 1
}

// endStep closes an open step, which took so long.
func (r *Recorder) endStep(i int, elapsed time.Duration) {
	o := &r.open[i]
	s := &r.part.Steps[o.step]
	ms := elapsed.Milliseconds()
	s.Millis = &ms
	if o.text.hasText() {
		s.Message = r.recordedText(o.text.contents())
	}
	r.open = append(r.open[:i], r.open[i+1:]...)
}

// findStep returns the open step of a key, or -1.
func (r *Recorder) findStep(key string) int {
	for i := range r.open {
		if r.open[i].key == key {
			return i
		}
	}
	return -1
}

// addInstant adds a step without a duration.
func (r *Recorder) addInstant(s Step, at time.Duration) {
	if i := r.beginStep(s, "note", at); i >= 0 {
		r.endStep(i, 0)
	}
}

// findLane returns the open step in which somebody speaks, or -1. Steps of a lane follow each
// other; lanes run at the same time. Every piece of an answer asks: it builds no key.
func (r *Recorder) findLane(a *stream.Attribution) int {
	for i := range r.open {
		if r.open[i].lane && r.open[i].speaker == *a {
			return i
		}
	}
	return -1
}

// speechStep returns the step in which somebody speaks, and begins one behind calls that have
// ended: it is the model's next one. If the speaker has asked no model, the step gets the name
// unasked: no step may stand for a model call that never was.
func (r *Recorder) speechStep(a *stream.Attribution, at time.Duration, unasked string) int {
	i := r.findLane(a)
	if i >= 0 && r.open[i].hasCalls && r.open[i].busy == 0 {
		r.endStep(i, at-r.open[i].began)
		i = -1
	}
	if i < 0 {
		name, at := Speak, at
		if began, ok := r.models.claimModelCall(a, len(r.part.Steps)); ok {
			at = min(began, at)
		} else if r.models.areRecorded() {
			name = unasked
		}
		i = r.beginStep(Step{Name: name, ParentID: r.parentStep(*a), Agent: a.AgentID, NodeID: a.NodeID, SessionID: a.SessionID}, "", at)
		if i >= 0 {
			r.open[i].speaker, r.open[i].lane = *a, true
		}
		r.countMessages(*a, 1)
	}
	return i
}

// parentStep returns the step that a speaker's step is a part of; empty: the turn.
func (r *Recorder) parentStep(a stream.Attribution) string {
	if a == (stream.Attribution{}) {
		return ""
	}
	for i := len(r.part.Steps) - 1; i > 0; i-- {
		if s := &r.part.Steps[i]; s.belongsTo(a) {
			return s.ID
		}
	}
	return ""
}

// belongsTo reports whether a step is the speaker's: that of the node, or else of the agent.
func (s *Step) belongsTo(a stream.Attribution) bool {
	if a.NodeID != "" {
		return s.Name == stepNode && s.NodeID == a.NodeID
	}
	return s.Name == Agent && s.Agent == a.AgentID && s.SessionID == a.SessionID
}

// countMessages counts the messages of a sub-agent.
func (r *Recorder) countMessages(a stream.Attribution, messages int) {
	if a.SessionID == "" {
		return
	}
	if r.part.Sessions == nil {
		r.part.Sessions = map[string]Session{}
	}
	s, known := r.part.Sessions[a.SessionID]
	if !known {
		messages++ // the task
	}
	s.SessionID, s.Agent, s.Status = a.SessionID, a.AgentID, "running"
	s.MessageCount += messages
	r.part.Sessions[a.SessionID] = s
}

func (r *Recorder) startCall(c *stream.Call, at time.Duration) {
	i := r.speechStep(&c.Attribution, at, stepCall)
	if i < 0 {
		return
	}
	o := &r.open[i]
	o.hasCalls = true
	o.busy++
	s := &r.part.Steps[o.step]
	s.Calls = append(s.Calls, Call{CallID: c.ID, Server: c.Server, Tool: c.Tool, Arguments: r.recordedArguments(c.Arguments), Started: (at - o.began).Milliseconds(), Outcome: outcomeRunning})
	r.calls = append(r.calls, place{c.ID, o.step, len(s.Calls) - 1, o.speaker})
}

func (r *Recorder) endCall(ev stream.ToolEnd) {
	end := ev.End()
	for i, p := range r.calls {
		if p.id != end.Call.ID {
			continue
		}
		r.calls = append(r.calls[:i], r.calls[i+1:]...)
		if i := r.findLane(&p.speaker); i >= 0 && r.open[i].step == p.step {
			r.open[i].busy--
		}
		s := &r.part.Steps[p.step]
		call := &s.Calls[p.call]
		ms := end.Duration.Milliseconds()
		call.Outcome, call.Millis = Outcome(end.Outcome), &ms
		if done, ok := ev.(*stream.ToolCompleted); ok {
			r.completeCall(done, s, call)
		} else {
			s.Status, call.Error = Warning, r.recordedText(end.Result, false)
		}
		r.countMessages(end.Call.Attribution, 1)
		return
	}
}

// completeCall records the result of a successful call.
func (r *Recorder) completeCall(ev *stream.ToolCompleted, s *Step, call *Call) {
	if ev.Cached {
		call.Outcome = outcomeCached
	}
	if ev.Warning != "" {
		s.Status, call.Error = Warning, r.recordedText(ev.Warning, false)
	}
	if r.recordsTexts() {
		text, cut := r.boundText(ev.Result, false)
		call.Result = &Result{text, cut || ev.Truncated}
	}
}

func (r *Recorder) recordRoute(ev *stream.Route, at time.Duration) {
	i := r.beginStep(Step{Name: stepRoute, Agent: ev.AgentID, Message: r.recordedText(ev.Reasoning, false)}, stepRoute, max(0, at-time.Duration(ev.Millis)*time.Millisecond))
	if i >= 0 {
		r.endStep(i, time.Duration(ev.Millis)*time.Millisecond)
	}
}

func (r *Recorder) recordAgent(ev *stream.AgentRun, at time.Duration) {
	key := Agent + " " + ev.AgentID + " " + ev.SessionID
	if ev.Status == stream.AgentStarted || ev.Status == stream.AgentRetrying {
		r.beginAgent(ev, key, at)
		return
	}
	i := r.findStep(key)
	if i < 0 {
		return
	}
	s := &r.part.Steps[r.open[i].step]
	if ev.Status != stream.AgentCompleted {
		s.Status, s.Message = Warning, cmp.Or(r.recordedText(ev.ErrorMessage, false), string(ev.ErrorType), string(ev.Status))
	}
	if ev.Usage != nil {
		s.Usage = &Usage{Input: ev.Usage.Input, Output: ev.Usage.Output, Thinking: ev.Usage.Thinking}
	}
	r.endSpeech(func(s *Step) bool { return s.isStepOfAgent(ev) }, at)
	r.endSession(ev)
	i = r.findStep(key)
	r.endStep(i, at-r.open[i].began)
}

// isStepOfAgent reports whether a step is of an agent that runs in no node.
func (s *Step) isStepOfAgent(ev *stream.AgentRun) bool {
	return s.NodeID == "" && s.Agent == ev.AgentID && s.SessionID == ev.SessionID
}

// endSession ends the session of an agent, if it has one.
func (r *Recorder) endSession(ev *stream.AgentRun) {
	session, ok := r.part.Sessions[ev.SessionID]
	if !ok {
		return
	}
	session.Status = "completed"
	if ev.Status != stream.AgentCompleted {
		session.Status = "failed"
	}
	r.part.Sessions[ev.SessionID] = session
}

// beginAgent begins the step of an agent, or the next one of an agent that tries again.
func (r *Recorder) beginAgent(ev *stream.AgentRun, key string, at time.Duration) {
	if i := r.findStep(key); i >= 0 {
		r.part.Steps[r.open[i].step].Status = Warning
		r.endStep(i, at-r.open[i].began)
	}
	r.countMessages(stream.Attribution{AgentID: ev.AgentID, SessionID: ev.SessionID}, 0)
	r.beginStep(Step{Name: Agent, ParentID: r.callStep(ev.CallID), Agent: ev.AgentID, SessionID: ev.SessionID, Attempt: ev.Attempt, Message: string(ev.Role)}, key, at)
}

// callStep returns the step of a call under way, or "". The agent that is called works within it.
func (r *Recorder) callStep(id string) string {
	for _, p := range r.calls {
		if id != "" && p.id == id {
			return r.part.Steps[p.step].ID
		}
	}
	return ""
}

// endSpeech ends the text steps of a part that has ended. These may precede the part's step in the
// list, after a retry, so the caller must find that step afterwards.
func (r *Recorder) endSpeech(of func(*Step) bool, at time.Duration) {
	for i := len(r.open) - 1; i >= 0; i-- {
		if s := &r.part.Steps[r.open[i].step]; isSpeech(s.Name) && of(s) {
			r.endStep(i, at-r.open[i].began)
		}
	}
}

// isSpeech reports whether a step is one of a speaker: a model's, or a text or call without one.
func isSpeech(name string) bool { return name == Speak || name == stepText || name == stepCall }

func (r *Recorder) recordNode(ev *stream.NodeRun, at time.Duration) {
	key := stepNode + " " + ev.NodeID + " " + strconv.Itoa(ev.Attempt)
	switch ev.Status {
	case stream.NodeStarted:
		r.beginStep(Step{Name: stepNode, NodeID: ev.NodeID, Attempt: ev.Attempt, Message: ev.Type}, key, at)
		return
	case stream.NodeSkipped:
		r.addInstant(Step{Name: stepNode, NodeID: ev.NodeID, Attempt: ev.Attempt, Message: string(ev.Status)}, at)
		return
	}
	i := r.findStep(key)
	if i < 0 {
		return
	}
	s := &r.part.Steps[r.open[i].step]
	switch ev.Status {
	case stream.NodeFailed:
		s.Status, s.Message = Warning, cmp.Or(string(ev.ErrorType), string(ev.Status))
	case stream.NodeWaiting:
		s.Message = string(ev.Status)
	case stream.NodeCompleted:
		s.Message = cmp.Or(r.recordedText(ev.Output, false), s.Message)
	}
	r.endSpeech(func(s *Step) bool { return s.NodeID == ev.NodeID }, at)
	i = r.findStep(key)
	r.endStep(i, at-r.open[i].began)
}

// recordApproval notes a question, without its token.
func (r *Recorder) recordApproval(ev *stream.Approval, at time.Duration) {
	s := Step{Name: stepApproval, Message: r.recordedText(ev.Prompt, false)}
	for _, c := range ev.Calls {
		s.Agent = cmp.Or(s.Agent, c.AgentID)
		s.Calls = append(s.Calls, Call{CallID: c.CallID, Server: c.Server, Tool: c.Tool, Arguments: r.recordedArguments(c.Arguments), Outcome: outcomeWaiting})
	}
	r.addInstant(s, at)
}

func (r *Recorder) recordFailure(ev *stream.Error, at time.Duration) {
	message := string(ev.Type)
	if text := r.recordedText(ev.Message, false); text != "" {
		message += ": " + text
	}
	if !ev.Fatal {
		r.addInstant(Step{Name: stepFailure, Status: Warning, Message: message, Agent: ev.AgentID, NodeID: ev.NodeID, SessionID: ev.SessionID}, at)
		return
	}
	turn := &r.part.Steps[0]
	turn.Status, turn.Message = Error, message
	if ev.Type == fault.Cancelled { // somebody wanted it: nothing has failed
		turn.Status = Info
	}
	if ev.Type == fault.TurnLost { // their ends were not seen
		r.markAsCut()
	}
}

func (r *Recorder) recordDone(ev *stream.Done) {
	turn := &r.part.Steps[0]
	turn.Message = cmp.Or(turn.Message, string(ev.Reason))
	u := ev.Usage
	turn.Usage = &Usage{Input: u.InputTokens, Output: u.OutputTokens, Thinking: u.ThinkingTokens, Cached: u.CachedTokens}
	status := "failed"
	if ev.Reason.Success() {
		status = "completed"
	}
	for id, s := range r.part.Sessions {
		if s.Status == "running" {
			s.Status = status
		}
		r.part.Sessions[id] = s
	}
	r.endOpenSteps()
}

// markAsCut marks the open steps as cut.
func (r *Recorder) markAsCut() {
	for _, o := range r.open[1:] {
		r.part.Steps[o.step].Status = Warning
	}
}

// endOpenSteps ends the open steps.
func (r *Recorder) endOpenSteps() {
	for len(r.open) > 0 {
		i := len(r.open) - 1
		r.endStep(i, r.last-r.open[i].began)
	}
}

// Part returns the turn's part of the trace. over says that the turn is complete here: its open
// steps were cut. If the turn continues, its part does not have a duration.
func (r *Recorder) Part(over bool) *Part {
	if over && len(r.open) > 0 {
		r.part.Steps[0].Status = Warning
		r.markAsCut()
		r.endOpenSteps()
	}
	for _, o := range r.open {
		if o.text.hasText() {
			r.part.Steps[o.step].Message = r.recordedText(o.text.contents())
		}
	}
	if over {
		r.addModelCalls()
	}
	r.part.Updated = r.began.Add(r.last).UTC().Format(timeFormat)
	return &r.part
}

// recordedArguments returns those of a call as they are recorded.
func (r *Recorder) recordedArguments(args jsontext.Value) jsontext.Value {
	if !r.recordsTexts() || len(args) == 0 || !args.IsValid() {
		return nil
	}
	if r.spec.Secrets != nil {
		args = r.spec.Secrets.JSONNames(args)
	}
	clean := jsontext.Value(kinds.JSON(args))
	if len(clean) <= maxField {
		r.bytes += len(clean)
		return append(jsontext.Value(nil), clean...)
	}
	head, _ := r.boundText(string(clean), false)
	text, _ := jsontext.AppendQuote([]byte(`{"truncated":`), head)
	return append(text, '}')
}
