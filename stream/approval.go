package stream

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// Approval asks a person. It comes right before Done, once for each question, and the
// turn ends with ApprovalRequired: an answer continues with it in another stream.
type Approval struct {
	ID     string            `json:"approval_id"`
	Kind   chat.QuestionKind `json:"kind"`
	Prompt string            `json:"prompt"`
	// Calls are those that wait. They have not been reported as tool calls.
	Calls []ApprovalCall `json:"calls,omitempty"`
	// Schema is the JSON Schema of the values that a person may fill in; nil if there are no such
	// values.
	Schema jsontext.Value `json:"schema,omitempty"`
	// ExpiresAt is the end of the time to answer, in RFC 3339 and UTC.
	ExpiresAt string `json:"expires_at"`
	// Token opens the question for an answer. It is empty in a list of questions.
	Token  string `json:"token,omitempty"`
	TaskID string `json:"task_id,omitempty"` // empty: the turn is not kept
	// Truncated is true in a list that has not all of Prompt, Schema and Calls.
	Truncated bool `json:"truncated,omitzero"`
}

// ApprovalCall is a call that waits for a person.
type ApprovalCall struct {
	CallID    string         `json:"call_id"`
	Tool      string         `json:"tool_name"`
	Server    string         `json:"server"`
	Arguments jsontext.Value `json:"arguments"` // one object
	// Reason is destructive, writes, all, confirm or tool_changed.
	Reason  string `json:"reason"`
	AgentID string `json:"agent_id,omitempty"`
	// Truncated is true in a list that has not all of Arguments.
	Truncated bool `json:"truncated,omitzero"`
}

const approvalName = "approval"

// ExpiryFormat is the form of Approval.ExpiresAt.
const ExpiryFormat = "2006-01-02T15:04:05.000Z07:00"

func (*Approval) markEvent() {}

// Name returns "approval".
func (*Approval) Name() string { return approvalName }

// Allow accepts a question that can be answered. The Guard itself checks that only other questions
// and Done follow.
func (a *Approval) Allow(*Turn) error {
	switch {
	case a.ID == "" || a.Kind == "" || a.ExpiresAt == "" || a.Token == "":
		return errors.New("nobody can answer it")
	case a.Kind == chat.AskTools && len(a.Calls) == 0:
		return errors.New("it asks about no call")
	}
	return nil
}
