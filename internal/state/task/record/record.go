// Package record makes the trace of a task from the events of its turns: the steps with their
// agents, times, durations and outcomes. A trace leaves out events that are not stored, such as
// drafts.
//
// The verbs: begin and end (a step), start and end (a call), record (an event), mark, join.
//
// A Recorder belongs to the goroutine of its turn. Its part is encoded once, and joined with the
// parts of other turns when somebody reads the trace (Join).
package record

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/stream"
)

// Trace is the way of a task.
type Trace struct {
	TaskID string `json:"task_id"`
	Steps  []Step `json:"steps"` // in the order of their begin
	// Sessions are those of sub-agents, by id.
	Sessions  map[string]Session `json:"sub_agent_sessions"`
	CreatedAt string             `json:"created_at"`
	UpdatedAt string             `json:"updated_at"`
}

// Names of steps.
const (
	Turn         = "turn"     // all of a turn; steps without a parent are these
	stepRoute    = "route"    // the choice of agents
	Agent        = "agent"    // an agent's part
	stepNode     = "node"     // an attempt of a workflow's node
	Speak        = "step"     // a model's text, with the calls that it asked for
	stepText     = "text"     // text without a model call of this gateway, such as a template's or a remote agent's
	stepCall     = "call"     // a call that no model asked for, such as a tool node's
	stepAllowed  = "allowed"  // calls that go on after a person's decision; see nameAllowed
	stepApproval = "approval" // a question to a person
	stepModel    = "model"    // another model answers
	stepFailure  = "error"    // a failure that did not end the turn
	// Questions of the gateway's own to a model.
	stepRouter = "router"
	Planner    = "planner"
	Judge      = "judge"
	Refinement = "refinement"
	Critic     = "critic"
	Structured = "structured" // the object that a structured answer is
)

// Status says how a step ended.
type Status string

// Statuses. Warning is also that of a step that was cut.
const (
	Info    Status = "info"
	Warning Status = "warning"
	Error   Status = "error"
)

// Step is a part of a turn.
type Step struct {
	// ID is unique in the trace. ParentID is the step that this one is a part of; empty: it
	// is a turn.
	ID        string `json:"id"`
	ParentID  string `json:"parent_id,omitempty"`
	Name      string `json:"step_name"`
	Message   string `json:"message"`
	Status    Status `json:"status"`
	Timestamp string `json:"timestamp"`  // of its begin
	Started   int64  `json:"started_ms"` // since the begin of the trace
	Millis    *int64 `json:"duration_ms,omitempty"`
	Agent     string `json:"agent"` // empty: of the turn itself
	NodeID    string `json:"node_id,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Model     string `json:"model,omitempty"` // that was asked
	// FirstToken is how long after its begin the first piece of a model's answer was there.
	FirstToken *int64 `json:"first_token_ms,omitempty"`
	Finish     string `json:"finish_reason,omitempty"` // of a model's answer that ended well
	Calls      []Call `json:"tool_calls"`
	Usage      *Usage `json:"usage,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	Input    int `json:"input_tokens"` // with those from a cache
	Output   int `json:"output_tokens"`
	Thinking int `json:"thinking_tokens"`
	Cached   int `json:"cached_tokens,omitempty"` // of those of the input
}

// Outcome is the outcome of a call.
type Outcome string

// Outcomes. outcomeRunning is that of a call whose end was not reported, and outcomeWaiting that
// of one that waits for a person and has not begun.
const (
	Completed = Outcome(stream.CallCompleted)
	Failed    = Outcome(stream.CallFailed)
	Unknown   = Outcome(stream.CallUnknown)

	outcomeCached  Outcome = "cached"
	outcomeRunning Outcome = "running"
	outcomeWaiting Outcome = "waiting"
)

// Call is a call of a tool.
type Call struct {
	CallID    string         `json:"call_id"`
	Server    string         `json:"server"`
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments,omitempty"` // one object
	Result    *Result        `json:"result,omitempty"`
	Error     string         `json:"error"`      // empty without an error
	Started   int64          `json:"started_ms"` // since the begin of the trace; of its step, in a Part
	Millis    *int64         `json:"duration_ms,omitempty"`
	Outcome   Outcome        `json:"outcome"`
}

// Result is the text of a tool.
type Result struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Session is a sub-agent's part.
type Session struct {
	SessionID string `json:"session_id"`
	Agent     string `json:"agent"`
	// MessageCount is the length of the session's history: its task, texts, and results of tools.
	MessageCount int    `json:"message_count"`
	Status       string `json:"status"` // running, completed or failed
}

// Part is one turn's part of the trace of its task.
type Part struct {
	Turn     string             `json:"turn"`
	Steps    []Step             `json:"steps"`
	Sessions map[string]Session `json:"sub_agent_sessions,omitempty"`
	Updated  string             `json:"updated_at"`
}

// beginTime returns when the turn began.
func (p *Part) beginTime() string {
	if len(p.Steps) == 0 {
		return p.Updated
	}
	return p.Steps[0].Timestamp
}

// Encode returns the part as it is kept.
func (p *Part) Encode() []byte {
	text, _ := json.Marshal(p) // texts and numbers, and JSON that was checked
	return text
}

// Read returns a part as it was kept.
func Read(text []byte) (*Part, error) {
	p := new(Part)
	return p, json.Unmarshal(text, p)
}

// Join puts the parts of a task together, in the order in which its turns began. If a turn is there
// twice, the first part counts.
func Join(task string, parts []*Part) *Trace {
	t := &Trace{TaskID: task, Steps: []Step{}, Sessions: map[string]Session{}}
	slices.SortStableFunc(parts, func(a, b *Part) int { return strings.Compare(a.beginTime(), b.beginTime()) })
	seen := map[string]bool{}
	for _, p := range parts {
		if seen[p.Turn] {
			continue
		}
		seen[p.Turn] = true
		t.Steps = append(t.Steps, p.Steps...)
		for id, s := range p.Sessions {
			if before, known := t.Sessions[id]; known { // it was paused: both parts count its task
				s.MessageCount += before.MessageCount - 1
			}
			t.Sessions[id] = s
		}
		t.UpdatedAt = max(t.UpdatedAt, p.Updated) // of one length, in UTC
	}
	if len(t.Steps) == 0 {
		return t
	}
	t.nameAllowed()
	t.CreatedAt = t.Steps[0].Timestamp
	for _, s := range t.Steps {
		t.CreatedAt = min(t.CreatedAt, s.Timestamp)
	}
	t.offsetStarts()
	return t
}

// nameAllowed names the steps whose calls waited for a person before: no model was asked for them in
// their turn. Such a step ends with its last call, as the model's next answer has a step of its own.
// It also names the calls of tool nodes, as the recorder does not know them in the turn of a dead process.
func (t *Trace) nameAllowed() {
	asked := map[string]bool{}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Name == stepApproval {
			for _, c := range s.Calls {
				asked[c.CallID] = true
			}
		}
		if s.Name == Speak && s.Model == "" && s.NodeID != "" && s.Agent == "" && len(s.Calls) > 0 {
			s.Name = stepCall
		}
		if !isSpeech(s.Name) || s.Model != "" || len(s.Calls) == 0 || slices.ContainsFunc(s.Calls, func(c Call) bool { return !asked[c.CallID] }) {
			continue
		}
		s.Name = stepAllowed
		if s.Millis != nil {
			end := s.endOfCalls()
			s.Millis = &end
		}
	}
}

// endOfCalls returns when the last call of a step of a Part ended, in milliseconds since its begin.
func (s *Step) endOfCalls() (end int64) {
	for _, c := range s.Calls {
		if c.Millis != nil {
			end = max(end, c.Started+*c.Millis)
		}
	}
	return end
}

// offsetStarts has the steps and calls count their time from the beginning of the task.
func (t *Trace) offsetStarts() {
	began, _ := time.Parse(timeFormat, t.CreatedAt)
	for i := range t.Steps {
		at, err := time.Parse(timeFormat, t.Steps[i].Timestamp)
		if err == nil {
			t.Steps[i].Started = at.Sub(began).Milliseconds()
			for j := range t.Steps[i].Calls {
				t.Steps[i].Calls[j].Started += t.Steps[i].Started
			}
		}
	}
}

// Exported returns an encoded trace with the members that other programs' models want always,
// such as a duration and a result of each call.
func Exported(trace []byte) []byte {
	t := new(Trace)
	if err := json.Unmarshal(trace, t); err != nil { // it was encoded here: cannot happen
		return trace
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Millis = cmp.Or(s.Millis, new(int64))
		for j := range s.Calls {
			c := &s.Calls[j]
			c.Millis, c.Result = cmp.Or(c.Millis, new(int64)), cmp.Or(c.Result, new(Result))
		}
	}
	return t.Encode()
}

// Encode returns the trace as it is shown. Lists and arguments are never null.
func (t *Trace) Encode() []byte {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Calls == nil {
			s.Calls = []Call{}
		}
		for j := range s.Calls {
			if len(s.Calls[j].Arguments) == 0 {
				s.Calls[j].Arguments = jsontext.Value(`{}`)
			}
		}
	}
	text, _ := json.Marshal(t) // as above
	return text
}

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"
