package task

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is a task as others read it: the JSON of task:<id>. What is not there is
// absent, never null. Members that this version does not know survive a change; those of
// a message or another member of a list as well.
type Document struct {
	ID        string     `json:"id,omitzero"`
	SessionID string     `json:"sessionId,omitzero"` // the conversation, as ContextID
	ContextID string     `json:"contextId,omitzero"`
	Status    Status     `json:"status,omitzero"`
	History   []Message  `json:"history,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	Metadata  Metadata   `json:"metadata,omitzero"`
	Others    Others     `json:"-"`
}

// Status is where a task stands.
type Status struct {
	State     State  `json:"state,omitzero"`
	Message   *Said  `json:"message,omitempty"`
	Timestamp string `json:"timestamp,omitzero"` // RFC 3339
	Others    Others `json:"-"`
}

// Said is a message of a status.
type Said struct {
	Role    string `json:"role,omitzero"`
	Content string `json:"content,omitzero"`
	Others  Others `json:"-"`
}

// Message is what a user or an agent has said.
type Message struct {
	Role      string `json:"role,omitzero"`
	Content   string `json:"content,omitzero"`
	Timestamp string `json:"timestamp,omitzero"`
	MessageID string `json:"messageId,omitzero"`
	AgentID   string `json:"agentId,omitzero"`
	Others    Others `json:"-"`
}

// Artifact is what a task has produced.
type Artifact struct {
	ArtifactID string `json:"artifactId,omitzero"`
	Name       string `json:"name,omitzero"`
	Parts      []Part `json:"parts,omitempty"`
	Others     Others `json:"-"`
}

// Part is a part of an artifact.
type Part struct {
	Text   string `json:"text,omitzero"`
	Others Others `json:"-"`
}

// Metadata is what else is known of a task. What a request gave as its context stands
// beside these members, in Others.
type Metadata struct {
	AgentSelections   []string        `json:"agentSelections,omitempty"`
	RoutingConfidence *Number         `json:"routingConfidence,omitempty"`
	Routing           *Routing        `json:"routing,omitempty"`
	AgentResponses    []AgentResponse `json:"agentResponses,omitempty"`
	Kind              string          `json:"kind,omitzero"`
	RetentionDays     *Number         `json:"retentionDays,omitempty"`
	ParentTaskID      string          `json:"parentTaskId,omitzero"`
	Others            Others          `json:"-"`
}

// Routing is the decision who answers.
type Routing struct {
	AgentID          string   `json:"agentId,omitzero"`
	Confidence       *Number  `json:"confidence,omitempty"`
	Reasoning        string   `json:"reasoning,omitzero"`
	AdditionalAgents []string `json:"additionalAgents,omitempty"`
	Others           Others   `json:"-"`
}

// AgentResponse is how one agent did.
type AgentResponse struct {
	AgentID         string `json:"agentId,omitzero"`
	Content         string `json:"content,omitzero"`
	Success         Flag   `json:"success"`
	ErrorMessage    string `json:"errorMessage,omitzero"`
	ExecutionTimeMS Number `json:"executionTimeMs"`
	Others          Others `json:"-"`
}

// Number is a number that may be read as a text.
type Number float64

// UnmarshalJSONFrom reads 1.5 and "1.5".
func (n *Number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := scalar(dec)
	if err != nil || text == "" {
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 { // infinite, or no number: JSON has none of them
		return errors.New("not a number")
	}
	*n = Number(f)
	return nil
}

// Flag is a boolean that may be read as a text.
type Flag bool

// UnmarshalJSONFrom reads true and "true".
func (b *Flag) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := scalar(dec)
	if err != nil || text == "" {
		return err
	}
	v, err := strconv.ParseBool(strings.ToLower(text))
	*b = Flag(v)
	return err
}

// scalar reads a value that is no list and no object; null is empty.
func scalar(dec *jsontext.Decoder) (string, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	switch token.Kind() {
	case 'n':
		return "", nil
	case '"', '0', 't', 'f':
		return strings.TrimSpace(token.String()), nil
	}
	return "", errors.New("neither a text nor a number")
}

// State is where a task stands; as it was read, which may be no state at all.
type State string

// States.
const (
	Submitted     State = "submitted"
	Working       State = "working"
	InputRequired State = "input-required"
	Completed     State = "completed"
	Failed        State = "failed"
	Canceled      State = "canceled"
	Unknown       State = "unknown"
)

// Known returns the state, or Unknown if it is none of ours.
func (s State) Known() State {
	known := State(strings.ToLower(string(s)))
	if slices.Contains([]State{Submitted, Working, InputRequired, Completed, Failed, Canceled}, known) {
		return known
	}
	return Unknown
}

// Final says whether a task in this state stays as it is.
func (s State) Final() bool {
	known := s.Known()
	return known == Completed || known == Failed || known == Canceled
}

// Follows says whether a task may come from state before into s. A state that cannot be
// read may become any.
func (s State) Follows(before State) bool {
	switch before.Known() {
	case Submitted:
		return s != Submitted
	case Working:
		return s != Submitted && s != Working
	case InputRequired:
		return s != Submitted && s != InputRequired
	}
	return !before.Final()
}

// ErrDocument is wrapped by the error of a document that cannot be read.
var ErrDocument = errors.New("task document cannot be read")

// maxDepth bounds how deeply a document nests that somebody else has written; ours has
// five levels.
const maxDepth = 100

// ReadDocument reads a document, also one that another program has written: names in any
// case, numbers as texts, null for what is absent.
func ReadDocument(text []byte) (*Document, error) {
	if tooDeep(text) {
		return nil, fmt.Errorf("%w: it nests too deeply", ErrDocument)
	}
	d := new(Document)
	err := json.Unmarshal(text, d, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, hidden(err))
	}
	return d, nil
}

// hidden leaves out what an error quotes of the document, which holds what users said.
func hidden(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("a value of the wrong type at %s", e.JSONPointer)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("no JSON at byte %d", e.ByteOffset)
	}
	return errors.New("a value of the wrong type")
}

// tooDeep counts brackets, those in texts too: more than enough for a document.
func tooDeep(text []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Append appends the document's JSON.
func (d *Document) Append(dst []byte) ([]byte, error) {
	text, err := json.Marshal(d, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	return append(dst, text...), err
}

// Prune keeps the last messages of the history, at most so many.
func (d *Document) Prune(most int) {
	if n := len(d.History) - most; n > 0 {
		d.History = slices.Delete(d.History, 0, n)
	}
}

// Enter puts the task into a state.
func (d *Document) Enter(s State, at time.Time) {
	d.Status.State, d.Status.Timestamp, d.Status.Message = s, Timestamp(at), nil
}

// Timestamp returns a time as documents have it.
func Timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
