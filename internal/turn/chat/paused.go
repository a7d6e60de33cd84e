package chat

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/tool"
)

// Paused is a turn that cannot continue without an answer. State is all that a runner needs to
// continue it, in this process or another.
type Paused struct {
	// By names the runner that can continue with State: PausedAgent, PausedTeam, or another
	// runner's own name.
	By    string
	State []byte // one JSON value
	// Usage is the turn's usage so far.
	Usage Usage
	// Questions are the open questions. Each is answered by itself. A turn or a team has one.
	Questions []Question
	// Evidence is needed to check the answer: facts of the turn so far, as one JSON value of the
	// checker. Empty without evidence.
	Evidence []byte
}

// Runners that can continue with a State.
const (
	PausedAgent = "agent"
	PausedTeam  = "team"
	// PausedRemote is a task that an agent somewhere else works on. It waits for no person.
	PausedRemote = "remote"

	PausedWorkflow = "workflow"
)

// Question is one thing that a person is asked.
type Question struct {
	// Key is equal for a question that is asked again because another one of its run was answered:
	// its id and its token stay the same. Empty: it is asked once.
	Key    string
	Kind   QuestionKind
	Prompt string // empty: it is worded from Calls
	Calls  []PendingCall
	// Fields for a node of a workflow. Decision.CallID answers a question without Calls by the
	// node's name. The others are the schema of the values, the end of the time, and the approvers
	// (owner, any or users).
	Node      string
	Schema    jsontext.Value
	Expires   time.Time // zero: as long as any question
	Approvers []string
}

// QuestionKind is the kind of a question.
type QuestionKind string

// AskTools asks whether calls may run.
const AskTools QuestionKind = "tool"

// AskHuman asks a question of a workflow.
const AskHuman QuestionKind = "human"

// AskOutcome asks for the outcome of calls without a known result.
const AskOutcome QuestionKind = "outcome"

// OutcomePrompt is the text of that question.
const OutcomePrompt = "Nobody knows whether these calls were carried out. Shall they be made again?"

// PendingCall is a call that must not run before a person has allowed it.
type PendingCall struct {
	ID        string // as its events will have it
	Tool      string
	Server    string
	Arguments jsontext.Value
	AgentID   string // in a team
	// Within is the id of the asking agent's call in which a delegate makes this call. Empty: the
	// agent's own.
	Within string `json:",omitempty"`
	// Reason says in a word why a person is asked.
	Reason string
	// Fingerprint is that of the tool that is meant (tool.Spec.Fingerprint).
	Fingerprint string
	// Spec is the tool as the runner knows it; nil for an unknown tool. It is not stored.
	Spec *tool.Spec `json:"-"`
}

// Resumed is the data by which a paused turn continues.
type Resumed struct {
	By    string
	State []byte
	Usage Usage // that was spent before
	// Decisions are the decisions on the waiting calls. Without any the turn asks again.
	Decisions []Decision
	// Changed are the ids of calls that are asked about again because their tools have
	// changed.
	Changed []string
	// Task and Turn are those that waited; empty: they were not kept.
	Task, Turn string
	// Trace names the span of the turn that waited; empty: nobody keeps spans.
	Trace string
	// Evidence is that of Paused.
	Evidence []byte
	// Said is the text that the turn has shown. For a turn that is taken over, Emitted holds its
	// calls and the agents that began.
	Said    string
	Emitted []PendingCall
	// TakenOver is true if the turn was not paused: the process that ran it is dead, and State is
	// its last saved state.
	TakenOver bool
}

// Action is the kind of a decision.
type Action string

// Actions.
const (
	Approve Action = "approve"
	Reject  Action = "reject"
	Modify  Action = "modify"
	// Refuse is a decision of the gateway's own: nobody can be asked. No client sends it.
	Refuse Action = "refuse"
)

// Decision is the decision about one call.
type Decision struct {
	CallID    string
	Action    Action
	Arguments jsontext.Value `json:",omitempty"` // of Modify
	Message   string         // for the model; may be empty
	Input     jsontext.Value `json:",omitempty"` // the values that a person has filled in; nil without values
	State     jsontext.Value `json:",omitempty"` // the changes of a workflow's state; nil without changes
	Result    string         // of Modify, the result of a call that somebody has made
	// Fingerprint is that of the tool that was decided about. A call whose tool is another
	// one by then does not run.
	Fingerprint string
	// Key is the same for each answer to a question about one call, wherever it is taken. It is
	// empty for a decision without an answer. See tool.WithKey.
	Key string `json:",omitempty"`
}
