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
	maxBytes = 1 << 20 // of texts; what comes then is recorded without
	// usualSteps is room for those of a turn that calls no tool: itself and what it says.
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
	step  int // index in the part
	key   string
	who   stream.Attribution // of a lane, which has no key
	lane  bool
	began time.Duration
	text  text
	busy  int  // calls of it that are under way
	asked bool // it has asked for calls
}

// place is where a call stands.
type place struct {
	id         string
	step, call int
	who        stream.Attribution
}

// New returns the Recorder of a turn.
func New(spec Spec, turn string, began time.Time) *Recorder {
	r := &Recorder{spec: spec, began: began, part: Part{Turn: turn, Steps: make([]Step, 0, usualSteps)}, open: make([]open, 0, usualSteps)}
	r.begin(Step{Name: Turn}, "", 0)
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
		r.say(&ev.Attribution, ev.Text, at)
	case *stream.Reset:
		r.reset(ev)
	case *stream.InnerDelta:
		r.sayInner(ev, at)
	case *stream.Thinking:
		r.speak(&ev.Attribution, at)
	case *stream.ToolStarted:
		r.started(&ev.Call, at)
	case stream.ToolEnd:
		r.ended(ev)
	case *stream.Route:
		r.route(ev, at)
	case *stream.AgentRun:
		r.agent(ev, at)
	case *stream.NodeRun:
		r.node(ev, at)
	case *stream.ModelChanged:
		r.note(Step{Name: stepModel, Status: Warning, Message: ev.Previous + ": " + ev.Reason + "; now " + ev.Key, Agent: ev.AgentID, NodeID: ev.NodeID, SessionID: ev.SessionID}, at)
	case *stream.Approval:
		r.approval(ev, at)
	case *stream.Error:
		r.failure(ev, at)
	case *stream.Done:
		r.done(ev)
	}
}

// say adds to what somebody says.
func (r *Recorder) say(a *stream.Attribution, text string, at time.Duration) {
	if i := r.speak(a, at); i >= 0 {
		r.open[i].text.add(text)
	}
}

// sayInner adds to what an agent says. What a tool's node says is the result of its call.
func (r *Recorder) sayInner(ev *stream.InnerDelta, at time.Duration) {
	if ev.AgentID != "" {
		r.say(&ev.Attribution, ev.Delta, at)
	}
}

// reset takes back the end of what somebody says.
func (r *Recorder) reset(ev *stream.Reset) {
	back := r.size - len(ev.Accumulated)
	r.size = len(ev.Accumulated)
	if i := r.lane(&ev.Attribution); i >= 0 {
		o := &r.open[i]
		if o.text.cut(back); !o.text.begun() {
			r.part.Steps[o.step].Message = "" // that of a part that was asked for before the end
		}
	}
}

// begin opens a step. It returns its place among the open ones, -1 if there is no room.
func (r *Recorder) begin(s Step, key string, at time.Duration) int {
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

// end closes an open step, which took so long.
func (r *Recorder) end(i int, elapsed time.Duration) {
	o := &r.open[i]
	s := &r.part.Steps[o.step]
	ms := elapsed.Milliseconds()
	s.Millis = &ms
	if o.text.begun() {
		s.Message = r.shown(o.text.whole())
	}
	r.open = append(r.open[:i], r.open[i+1:]...)
}

// find returns the open step of a key, or -1.
func (r *Recorder) find(key string) int {
	for i := range r.open {
		if r.open[i].key == key {
			return i
		}
	}
	return -1
}

// note adds a step that takes no time.
func (r *Recorder) note(s Step, at time.Duration) {
	if i := r.begin(s, "note", at); i >= 0 {
		r.end(i, 0)
	}
}

// lane returns the open step in which somebody speaks, or -1. Steps of a lane follow each
// other; lanes run at the same time. Every piece of an answer asks: it builds no key.
func (r *Recorder) lane(a *stream.Attribution) int {
	for i := range r.open {
		if r.open[i].lane && r.open[i].who == *a {
			return i
		}
	}
	return -1
}

// speak returns the step in which somebody speaks, and begins one behind calls that have
// ended: it is the model's next one.
func (r *Recorder) speak(a *stream.Attribution, at time.Duration) int {
	i := r.lane(a)
	if i >= 0 && r.open[i].asked && r.open[i].busy == 0 {
		r.end(i, at-r.open[i].began)
		i = -1
	}
	if i < 0 {
		at = r.models.speaks(a, len(r.part.Steps), at)
		i = r.begin(Step{Name: Speak, ParentID: r.parent(*a), Agent: a.AgentID, NodeID: a.NodeID, SessionID: a.SessionID}, "", at)
		if i >= 0 {
			r.open[i].who, r.open[i].lane = *a, true
		}
		r.session(*a, 1)
	}
	return i
}

// parent returns the step that what somebody says is a part of; empty: the turn.
func (r *Recorder) parent(a stream.Attribution) string {
	if a == (stream.Attribution{}) {
		return ""
	}
	for i := len(r.part.Steps) - 1; i > 0; i-- {
		if s := &r.part.Steps[i]; s.isOf(a) {
			return s.ID
		}
	}
	return ""
}

// isOf says whether a step is that of who speaks: the node, or else the agent.
func (s *Step) isOf(a stream.Attribution) bool {
	if a.NodeID != "" {
		return s.Name == stepNode && s.NodeID == a.NodeID
	}
	return s.Name == Agent && s.Agent == a.AgentID && s.SessionID == a.SessionID
}

// session counts the messages of a sub-agent.
func (r *Recorder) session(a stream.Attribution, messages int) {
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

func (r *Recorder) started(c *stream.Call, at time.Duration) {
	i := r.speak(&c.Attribution, at)
	if i < 0 {
		return
	}
	o := &r.open[i]
	o.asked = true
	o.busy++
	s := &r.part.Steps[o.step]
	s.Calls = append(s.Calls, Call{CallID: c.ID, Server: c.Server, Tool: c.Tool, Arguments: r.arguments(c.Arguments), Started: (at - o.began).Milliseconds(), Outcome: outcomeRunning})
	r.calls = append(r.calls, place{c.ID, o.step, len(s.Calls) - 1, o.who})
}

func (r *Recorder) ended(ev stream.ToolEnd) {
	end := ev.End()
	for i, p := range r.calls {
		if p.id != end.Call.ID {
			continue
		}
		r.calls = append(r.calls[:i], r.calls[i+1:]...)
		if i := r.lane(&p.who); i >= 0 && r.open[i].step == p.step {
			r.open[i].busy--
		}
		s := &r.part.Steps[p.step]
		call := &s.Calls[p.call]
		ms := end.Duration.Milliseconds()
		call.Outcome, call.Millis = Outcome(end.Outcome), &ms
		if done, ok := ev.(*stream.ToolCompleted); ok {
			r.completed(done, s, call)
		} else {
			s.Status, call.Error = Warning, r.shown(end.Result, false)
		}
		r.session(end.Call.Attribution, 1)
		return
	}
}

// completed notes what a tool said that did its work.
func (r *Recorder) completed(ev *stream.ToolCompleted, s *Step, call *Call) {
	if ev.Cached {
		call.Outcome = outcomeCached
	}
	if ev.Warning != "" {
		s.Status, call.Error = Warning, r.shown(ev.Warning, false)
	}
	if r.payloads() {
		text, cut := r.bounded(ev.Result, false)
		call.Result = &Result{text, cut || ev.Truncated}
	}
}

func (r *Recorder) route(ev *stream.Route, at time.Duration) {
	i := r.begin(Step{Name: stepRoute, Agent: ev.AgentID, Message: r.shown(ev.Reasoning, false)}, stepRoute, max(0, at-time.Duration(ev.Millis)*time.Millisecond))
	if i >= 0 {
		r.end(i, time.Duration(ev.Millis)*time.Millisecond)
	}
}

func (r *Recorder) agent(ev *stream.AgentRun, at time.Duration) {
	key := Agent + " " + ev.AgentID + " " + ev.SessionID
	if ev.Status == stream.AgentStarted || ev.Status == stream.AgentRetrying {
		r.beginAgent(ev, key, at)
		return
	}
	i := r.find(key)
	if i < 0 {
		return
	}
	s := &r.part.Steps[r.open[i].step]
	if ev.Status != stream.AgentCompleted {
		s.Status, s.Message = Warning, cmp.Or(r.shown(ev.ErrorMessage, false), string(ev.ErrorType), string(ev.Status))
	}
	if ev.Usage != nil {
		s.Usage = &Usage{Input: ev.Usage.Input, Output: ev.Usage.Output, Thinking: ev.Usage.Thinking}
	}
	r.silence(func(s *Step) bool { return s.isBy(ev) }, at)
	r.endSession(ev)
	i = r.find(key)
	r.end(i, at-r.open[i].began)
}

// isBy says whether a step is of an agent that runs in no node.
func (s *Step) isBy(ev *stream.AgentRun) bool {
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
	if i := r.find(key); i >= 0 {
		r.part.Steps[r.open[i].step].Status = Warning
		r.end(i, at-r.open[i].began)
	}
	r.session(stream.Attribution{AgentID: ev.AgentID, SessionID: ev.SessionID}, 0)
	r.begin(Step{Name: Agent, ParentID: r.caller(ev.CallID), Agent: ev.AgentID, SessionID: ev.SessionID, Attempt: ev.Attempt, Message: string(ev.Role)}, key, at)
}

// caller returns the step of a call that is under way; empty: there is none. The agent that
// is called works within it.
func (r *Recorder) caller(id string) string {
	for _, p := range r.calls {
		if id != "" && p.id == id {
			return r.part.Steps[p.step].ID
		}
	}
	return ""
}

// silence ends what those say whose part is over. It may lie before their part among the open
// steps, if that was tried again: so their part is to be looked for afterwards.
func (r *Recorder) silence(of func(*Step) bool, at time.Duration) {
	for i := len(r.open) - 1; i >= 0; i-- {
		if s := &r.part.Steps[r.open[i].step]; s.Name == Speak && of(s) {
			r.end(i, at-r.open[i].began)
		}
	}
}

func (r *Recorder) node(ev *stream.NodeRun, at time.Duration) {
	key := stepNode + " " + ev.NodeID + " " + strconv.Itoa(ev.Attempt)
	switch ev.Status {
	case stream.NodeStarted:
		r.begin(Step{Name: stepNode, NodeID: ev.NodeID, Attempt: ev.Attempt, Message: ev.Type}, key, at)
		return
	case stream.NodeSkipped:
		r.note(Step{Name: stepNode, NodeID: ev.NodeID, Attempt: ev.Attempt, Message: string(ev.Status)}, at)
		return
	}
	i := r.find(key)
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
		s.Message = cmp.Or(r.shown(ev.Output, false), s.Message)
	}
	r.silence(func(s *Step) bool { return s.NodeID == ev.NodeID }, at)
	i = r.find(key)
	r.end(i, at-r.open[i].began)
}

// approval notes a question, without its token.
func (r *Recorder) approval(ev *stream.Approval, at time.Duration) {
	s := Step{Name: stepApproval, Message: r.shown(ev.Prompt, false)}
	for _, c := range ev.Calls {
		s.Agent = cmp.Or(s.Agent, c.AgentID)
		s.Calls = append(s.Calls, Call{CallID: c.CallID, Server: c.Server, Tool: c.Tool, Arguments: r.arguments(c.Arguments), Outcome: outcomeWaiting})
	}
	r.note(s, at)
}

func (r *Recorder) failure(ev *stream.Error, at time.Duration) {
	message := string(ev.Type)
	if text := r.shown(ev.Message, false); text != "" {
		message += ": " + text
	}
	if !ev.Fatal {
		r.note(Step{Name: stepFailure, Status: Warning, Message: message, Agent: ev.AgentID, NodeID: ev.NodeID, SessionID: ev.SessionID}, at)
		return
	}
	turn := &r.part.Steps[0]
	turn.Status, turn.Message = Error, message
	if ev.Type == fault.Cancelled { // somebody wanted it: nothing has failed
		turn.Status = Info
	}
	if ev.Type == fault.TurnLost { // nobody saw these end
		r.cut()
	}
}

func (r *Recorder) done(ev *stream.Done) {
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
	r.close()
}

// cut marks what is open as cut.
func (r *Recorder) cut() {
	for _, o := range r.open[1:] {
		r.part.Steps[o.step].Status = Warning
	}
}

// close ends what is open.
func (r *Recorder) close() {
	for len(r.open) > 0 {
		i := len(r.open) - 1
		r.end(i, r.last-r.open[i].began)
	}
}

// Part returns what the turn adds to the trace. over says that nothing more comes: what
// has not ended was cut. Of a turn that continues it has no duration.
func (r *Recorder) Part(over bool) *Part {
	if over && len(r.open) > 0 {
		r.part.Steps[0].Status = Warning
		r.cut()
		r.close()
	}
	for _, o := range r.open {
		if o.text.begun() {
			r.part.Steps[o.step].Message = r.shown(o.text.whole())
		}
	}
	if over {
		r.addModelCalls()
	}
	r.part.Updated = r.began.Add(r.last).UTC().Format(timeFormat)
	return &r.part
}

// arguments returns those of a call as they are recorded.
func (r *Recorder) arguments(args jsontext.Value) jsontext.Value {
	if !r.payloads() || len(args) == 0 || !args.IsValid() {
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
	head, _ := r.bounded(string(clean), false)
	text, _ := jsontext.AppendQuote([]byte(`{"truncated":`), head)
	return append(text, '}')
}
