package stream

import (
	"errors"
	"fmt"

	"sluice/internal/base/fault"
)

// Events of a team of agents.

// Decision is the kind of answer that a router chose.
type Decision string

// Decisions.
const (
	Routed    Decision = "route"    // agents answer
	Clarified Decision = "clarify"  // the user is asked
	FellBack  Decision = "fallback" // none of the agents fits, or routing failed
)

// Route names the agent that answers, and the reason. With a router it comes exactly once, before
// any event of an agent.
type Route struct {
	// Decision gives the meaning of AgentID: the agent that answers, or the name of the question or
	// the fallback.
	Decision   Decision `json:"decision"`
	AgentID    string   `json:"agent_id"`
	Additional []string `json:"additional_agents"` // never null on the wire
	Confidence float64  `json:"confidence"`        // 0–1
	Reasoning  string   `json:"reasoning,omitempty"`
	// Method is the way of the decision: requested, sticky, hold, rule, only_agent, first, none or
	// model.
	Method   string `json:"method"`
	Attempts int    `json:"attempts"`        // calls of a model
	Millis   int64  `json:"duration_ms"`     // that the decision took
	Model    string `json:"model,omitempty"` // the key of the model that was asked
}

const routeName = "route"

func (*Route) markEvent() {}

// Name returns "route".
func (*Route) Name() string { return routeName }

// Allow refuses a second Route, and one after an agent has begun or text was shown.
func (*Route) Allow(t *Turn) error {
	if t.Count(routeName) > 0 || t.Count(agentName) > 0 || t.hasAnswer() {
		return errors.New("a route comes once and before any agent")
	}
	return nil
}

// AgentStatus is the status in an AgentRun.
type AgentStatus string

// Statuses. Started opens a run, and one of Completed, Failed and Stopped closes it;
// Retrying may come in between.
const (
	AgentStarted   AgentStatus = "started"
	AgentRetrying  AgentStatus = "retrying"
	AgentCompleted AgentStatus = "completed"
	AgentFailed    AgentStatus = "failed"
	AgentStopped   AgentStatus = "cancelled"
)

// Role is the reason why an agent takes part in a turn.
type Role string

// Roles.
const (
	RolePrimary       Role = "primary"
	RoleAdditional    Role = "additional"
	RoleClarification Role = "clarification"
	RoleFallback      Role = "fallback"
	RoleDelegate      Role = "delegate" // another agent called it
)

// AgentRun reports an agent's part in a turn: that it began, is tried again, or ended. Deltas
// of an agent may come after its end, as its text waits for that of the agents before it.
type AgentRun struct {
	// AgentID and Attempt name the run; an agent may have several.
	AgentID string      `json:"agent_id"`
	Role    Role        `json:"role"`
	Attempt int         `json:"attempt"` // from 1
	Status  AgentStatus `json:"status"`
	// SessionID and CallID are a delegate's: its session, and the call that opened it. They are
	// empty for other agents.
	SessionID string `json:"session_id,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	// Remote is true if the agent runs somewhere else.
	Remote bool `json:"remote,omitzero"`

	// The rest is set at the end of a run; nil and empty before it.
	Success      *bool       `json:"success,omitempty"`
	Millis       *int64      `json:"execution_time_ms,omitempty"` // all attempts
	ErrorMessage string      `json:"error_message,omitempty"`
	ErrorType    fault.Type  `json:"error_type,omitempty"`
	Usage        *TokenUsage `json:"usage,omitempty"`
}

// TokenUsage is chat.Usage as events other than Done write it.
type TokenUsage struct {
	// Input includes cached tokens; Output is without thinking.
	Input    int `json:"input_tokens"`
	Output   int `json:"output_tokens"`
	Thinking int `json:"thinking_tokens"`
}

const agentName = "agent"

func (*AgentRun) markEvent() {}

// Name returns "agent".
func (*AgentRun) Name() string { return agentName }

// Allow keeps runs in order: an agent begins once, is open until it ends, and every
// one that began has ended before Done.
func (r *AgentRun) Allow(t *Turn) error {
	key := "agent " + r.AgentID
	delegate := r.Role == RoleDelegate
	if delegate != (r.SessionID != "") || delegate != (r.CallID != "") {
		return errors.New("a delegate, and nobody else, has a session and a call")
	}
	if delegate {
		key = "agent session " + r.SessionID
	}
	switch r.Status {
	case AgentStarted:
		if t.Count(routeName) == 0 && !delegate {
			return errors.New("an agent begins before the route")
		}
		if !t.Open(key) {
			return fmt.Errorf("agent %q has begun already", r.AgentID)
		}
	case AgentRetrying:
		if !t.isOpen(key) {
			return fmt.Errorf("agent %q is not running", r.AgentID)
		}
	case AgentCompleted, AgentFailed, AgentStopped:
		if !t.Close(key) {
			return fmt.Errorf("agent %q is not running", r.AgentID)
		}
	default:
		return fmt.Errorf("status %q of an agent", r.Status)
	}
	return nil
}

// AgentOutcome is what Done says about an agent's part in the turn.
type AgentOutcome struct {
	// AgentID is the agent that ran. Success is that of its last attempt.
	AgentID      string `json:"agent_id"`
	Success      bool   `json:"success"`
	Millis       int64  `json:"execution_time_ms"`
	ErrorMessage string `json:"error_message,omitempty"`
}

// CallIDOf returns the id of the call that ev reports, to be changed in place. It is the event's
// own, or that of the call that opened a delegate's session; nil without a call.
func CallIDOf(ev Event) *string {
	if c := CallOf(ev); c != nil {
		return &c.ID
	}
	if run, ok := ev.(*AgentRun); ok && run.CallID != "" {
		return &run.CallID
	}
	return nil
}
