package task

//lint:file-ignore SA5008 the check does not know the option embed of go-json-experiment/json

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// States of a task.
const (
	submitted     = "submitted"
	Working       = "working"
	InputRequired = "input-required"
	Completed     = "completed"
	Failed        = "failed"
	Canceled      = "canceled"
	// unknown is shown for any other state.
	unknown = "unknown"
)

// sentences say how a task stands, where neither a question nor a failure does.
var sentences = map[string]string{
	submitted:     chat.TaskSubmitted,
	Working:       chat.TaskWorking,
	InputRequired: "The task waits for an answer",
	Completed:     "The request was answered",
	Failed:        "The request could not be answered",
	Canceled:      "The task was cancelled",
}

// statusOf returns the status of a task that comes into a state.
func statusOf(state string, now time.Time) status {
	return status{State: state, Message: &message{Role: "assistant", Content: sentences[state]}, Timestamp: formatTime(now)}
}

// IsState reports whether state is one of those of a task.
func IsState(state string) bool {
	return slices.Contains([]string{submitted, Working, InputRequired, Completed, Failed, Canceled}, state)
}

// isFinal reports whether nothing follows a state.
func isFinal(state string) bool { return state == Completed || state == Failed || state == Canceled }

// stateOf returns the state of a task whose turn has ended so.
func stateOf(reason stream.FinishReason) string {
	switch reason {
	case stream.InputRequired, stream.ApprovalRequired:
		return InputRequired
	case stream.Cancelled:
		return Canceled
	}
	if reason.Success() {
		return Completed
	}
	return Failed
}

// document is a task as it is stored and shown. Members that it does not know it keeps.
type document struct {
	// ID is the task's, SessionID and ContextID the conversation's, under the
	// names of two protocols.
	ID        string `json:"id"`
	SessionID string `json:"sessionId,omitzero"`
	ContextID string `json:"contextId,omitzero"`
	Status    status `json:"status"`
	// Earlier, of a stored document alone, are before History.
	Earlier   []earlier  `json:"earlierMessages,omitempty"`
	History   []message  `json:"history,omitempty"`
	Artifacts []artifact `json:"artifacts,omitempty"`
	Metadata  metadata   `json:"metadata,omitzero"`
	// Others are members that another version or program wrote. They are kept.
	Others extras `json:",embed"`
	// foreign says that Others, or those of the status or metadata, may hold members under
	// names of ours, whose values have a form that this version does not know.
	foreign bool
}

// extras are the members of an object that this version does not know.
type extras map[string]jsontext.Value

// status is a task's state, with its message.
type status struct {
	// State is one of the constants above; Timestamp is of its last change.
	State     string   `json:"state"`
	Message   *message `json:"message,omitzero"`
	Timestamp string   `json:"timestamp,omitzero"`
	// Approvals are the ids of the questions that wait for a person.
	Approvals []string `json:"approvals,omitempty"`
	Others    extras   `json:",embed"`
}

// message is one of a task's history.
type message struct {
	// Role is user or assistant. AgentID says which agent spoke.
	Role      string `json:"role"`
	Content   string `json:"content"`
	Timestamp string `json:"timestamp,omitzero"`
	MessageID string `json:"messageId,omitzero"`
	// TurnID is the turn of a message whose id is its client's; ids of ours begin with it.
	TurnID  string `json:"turnId,omitzero"`
	AgentID string `json:"agentId,omitzero"`
	// Elsewhere, of a stored document alone, says where Content is whole; nil: here.
	Elsewhere *elsewhere `json:"elsewhere,omitzero"`
	Others    extras     `json:",embed"`
}

// artifact is a result of a task.
type artifact struct {
	// ArtifactID is unique within the task. Name says the kind of the artifact, such as the answer.
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name,omitzero"`
	Parts      []part `json:"parts,omitempty"`
	Others     extras `json:",embed"`
}

// part is a part of an artifact.
type part struct {
	Text      string     `json:"text"`
	Elsewhere *elsewhere `json:"elsewhere,omitzero"` // as in message
	Others    extras     `json:",embed"`
}

// metadata is the data of a task besides the conversation. The other members are the client's
// context, and members that this version does not know.
type metadata struct {
	// AgentSelections are the agents that were chosen, and RoutingConfidence is 0
	// to 1.
	AgentSelections   []string        `json:"agentSelections,omitempty"`
	RoutingConfidence number          `json:"routingConfidence,omitzero"`
	Routing           *routing        `json:"routing,omitzero"`
	AgentResponses    []agentResponse `json:"agentResponses,omitempty"`
	Turns             []string        `json:"turns,omitempty"` // ids, the last one at the end
	// The names of these two cannot be in the client's context.
	PendingQuestion *question `json:"pendingQuestion,omitzero"`
	LastAgent       string    `json:"lastAgent,omitzero"` // agent of the last answer in the conversation
	// Workflow names the workflow whose run the task is, or is empty. Kind and RetentionDays (nil:
	// as configured) say how long its records are kept. Their names are the gateway's too.
	Workflow      string `json:"workflow,omitzero"`
	Kind          string `json:"kind,omitzero"`
	RetentionDays *int   `json:"retentionDays,omitzero"`
	ParentTaskID  string `json:"parentTaskId,omitzero"`
	Others        extras `json:",embed"`
}

// routing is why the agents of a task were chosen.
type routing struct {
	AgentID          string   `json:"agentId"`
	Confidence       number   `json:"confidence"`
	Reasoning        string   `json:"reasoning,omitzero"`
	AdditionalAgents []string `json:"additionalAgents,omitempty"`
	Others           extras   `json:",embed"`
}

// agentResponse is the contribution of an agent to the last turn.
type agentResponse struct {
	// AgentID ran once; an agent that ran again has an entry more.
	// ErrorMessage is fit for users.
	AgentID         string     `json:"agentId"`
	Content         string     `json:"content"`
	Success         bool       `json:"success"`
	ErrorMessage    string     `json:"errorMessage,omitzero"`
	ExecutionTimeMs number     `json:"executionTimeMs"`
	Elsewhere       *elsewhere `json:"elsewhere,omitzero"` // as in message
	Others          extras     `json:",embed"`
}

// number is a number that may also come as a string.
type number float64

// UnmarshalJSON implements json.Unmarshaler. null is 0. A value that JSON cannot write, such as
// NaN, is an error.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = 0
		return nil
	}
	f, err := strconv.ParseFloat(strings.Trim(string(text), `" `), 64)
	if f-f != 0 {
		return errors.New("a number that is not finite")
	}
	*n = number(f)
	return err
}

// addInput adds the user's message to the document of a turn that begins.
func (d *document) addInput(turn string, req *Request, now time.Time, most int) {
	d.Status = statusOf(Working, now)
	d.Metadata.Turns = append(d.Metadata.Turns, turn)
	m := message{Role: "user", Content: req.Chat.Input, Timestamp: formatTime(now), MessageID: turn + ":user"}
	if req.MessageID != "" {
		m.MessageID, m.TurnID = req.MessageID, turn
	}
	d.addMessage(m, most)
}

// addContinued adds a turn that continues with the answer to one approval. The other questions
// still wait.
func (d *document) addContinued(turn, answered string, now time.Time) {
	others := slices.DeleteFunc(slices.Clone(d.Status.Approvals), func(id string) bool { return id == answered })
	d.Status = statusOf(Working, now)
	d.Status.Approvals = others
	d.Metadata.Turns = append(d.Metadata.Turns, turn)
}

// addMessage adds a message, and drops the oldest beyond most.
func (d *document) addMessage(m message, most int) {
	d.History = append(d.History, m)
	tooMany := len(d.History) - most
	for _, e := range d.Earlier {
		tooMany += e.Messages
	}
	for tooMany > 0 && len(d.Earlier) > 0 {
		e := &d.Earlier[0]
		n := min(tooMany, e.Messages)
		tooMany -= n
		if e.Messages -= n; e.Messages <= 0 {
			d.Earlier = d.Earlier[1:]
		}
	}
	d.History = d.History[max(0, tooMany):]
}

// formatTime returns a time in RFC 3339, in UTC and with milliseconds, as A2A requires.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// elsewhere says where a text is that a stored document does not have: in a message of its
// history, or in the list of long texts. To is 0 if that is all of it.
type elsewhere struct {
	Message string `json:"message,omitzero"` // its id
	Text    string `json:"text,omitzero"`    // the id of a long text
	From    int    `json:"from,omitzero"`
	To      int    `json:"to,omitzero"`
}

// earlier are messages of a history that stand before those of a stored document, in a long text.
type earlier struct {
	// Messages is how many of them still count: the last ones.
	Messages int    `json:"messages"`
	Text     string `json:"text"`
}

// question is the open question of an input-required task. A task that waits for something else
// does not have it.
type question struct {
	AgentID  string            `json:"agentId,omitzero"` // agent that asked; empty: the router
	InARow   number            `json:"inARow,omitzero"`  // of the router's, up to this one
	Messages []questionMessage `json:"asked"`            // request, question, reply, …, question
	Others   extras            `json:",embed"`
}

// questionMessage is one message of a question.
type questionMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Elsewhere *elsewhere `json:"elsewhere,omitzero"` // as in message
	Others    extras     `json:",embed"`
}
