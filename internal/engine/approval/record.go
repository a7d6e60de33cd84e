package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// record is a question, within which there is the turn that waits.
type record struct {
	ID      string            `json:"id"`
	Kind    chat.QuestionKind `json:"kind"`
	Prompt  string            `json:"prompt"`
	Expires int64             `json:"expires"` // Unix time in milliseconds
	// Handle is the sum of the token of a record that is in a store.
	Handle []byte `json:"handle,omitempty"`

	entitled
	storedRequest
	// The task that waits, if it is kept.
	Task string `json:"task,omitempty"`
	Turn string `json:"turn,omitempty"`

	Calls []recordedCall `json:"calls"`
	// for a question of a workflow's node
	Node  string          `json:"node,omitempty"`
	Fill  json.RawMessage `json:"fill,omitempty"` // the schema of a person's input
	Usage chat.Usage      `json:"usage"`
	// The turn, in the form before the tree.
	By    string          `json:"by,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	// Trace is the span of the turn that waits; empty: nobody keeps spans.
	Trace string `json:"trace,omitempty"`
	// Evidence is the evidence for the check of the remaining answer, together with later results.
	Evidence json.RawMessage `json:"evidence,omitempty"`

	// Truncated is true of a brief that lacks some of the texts.
	Truncated bool `json:"truncated,omitempty"`

	waiting *run.Paused // the turn
}

// storedRequest is the request of the turn, without what only its first step needs.
type storedRequest struct {
	Conversation string              `json:"conversation,omitempty"`
	Input        string              `json:"input,omitempty"`
	Agent        string              `json:"agent,omitempty"`
	Zone         string              `json:"zone,omitempty"`
	Context      []chat.ContextEntry `json:"context,omitempty"`
	Access       chat.ToolAccess     `json:"access,omitempty"`
	Form         chat.ReplyForm      `json:"form,omitzero"`
}

// entitled names the people entitled to answer.
type entitled struct {
	Tenant    string `json:"tenant,omitempty"`
	Principal string `json:"principal,omitempty"`
	User      string `json:"user,omitempty"`
	Class     string `json:"class,omitempty"` // of limits
	// Sender is the user whose credential began the turn, if that is not Principal, and KeyID the id of its key.
	Sender string `json:"sender,omitempty"`
	KeyID  string `json:"key_id,omitempty"`
	// Approvers may answer, besides the owner; empty: the owner alone.
	Approvers []string `json:"approvers,omitempty"`
}

// recordedCall is a call that waits. Its arguments are a string: as JSON they would be
// compacted.
type recordedCall struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Server    string `json:"server,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Arguments string `json:"arguments"`
	Hash      string `json:"hash"`                // of the canonical arguments
	Truncated bool   `json:"truncated,omitempty"` // see briefRecord
	Print     string `json:"print,omitempty"`
	Reason    string `json:"reason"`
}

// newRecord returns the record of one question of a turn.
func newRecord(req *chat.Request, p *chat.Paused, q *chat.Question, expires time.Time) (*record, error) {
	waiting, err := run.ReadPaused(p.By, p.State)
	if err != nil {
		return nil, err
	}
	r := &record{
		waiting: waiting, ID: newID(), Kind: q.Kind, Prompt: q.Prompt, Expires: expires.UnixMilli(),
		entitled: entitled{Tenant: req.Principal.Tenant, Principal: req.Principal.ID, User: req.UserID, Class: req.Principal.Class, Sender: req.Principal.By, KeyID: req.Principal.KeyID},
		storedRequest: storedRequest{
			Conversation: req.ConversationID,
			Input:        req.Input,
			Agent:        req.Agent,
			Context:      req.Context,
			Access:       req.Tools,
			Form:         req.ReplyForm,
		},
		Task: req.Task, Turn: req.Turn, Usage: p.Usage, Evidence: p.Evidence,
	}
	if req.Location != nil {
		r.Zone = req.Location.String()
	}
	for _, c := range q.Calls {
		r.Calls = append(r.Calls, recordedCall{c.ID, c.Tool, c.Server, c.AgentID, string(c.Arguments), hashOf(c.Arguments), false, c.Fingerprint, c.Reason})
	}
	if q.Kind == chat.AskHuman {
		r.Node, r.Fill = q.Node, json.RawMessage(q.Schema)
	}
	r.Approvers = q.Approvers
	if !q.Expires.IsZero() {
		r.Expires = q.Expires.UnixMilli()
	}
	if r.Prompt == "" {
		r.Prompt = promptOf(r.Calls)
	}
	return r, nil
}

// promptOf words a question about calls.
func promptOf(calls []recordedCall) string {
	if len(calls) == 1 {
		return "Allow the call of " + toolNameOf(calls[0].Tool) + "?"
	}
	return fmt.Sprintf("Allow these %d calls?", len(calls))
}

// toolNameOf returns a tool's name for people; "a tool" for an empty name.
func toolNameOf(name string) string {
	if name == "" {
		return "a tool"
	}
	return name
}

func (r *record) encode() ([]byte, error) {
	p, err := run.Pause(run.KindQuestion, r, r.waiting)
	if err != nil {
		return nil, err
	}
	return p.Encode(), nil
}

// checkRecord refuses a record that is not whole.
func (r *record) checkRecord() error {
	for _, c := range r.Calls {
		if c.ID == "" || c.Hash != hashOf(jsontext.Value(c.Arguments)) {
			return fmt.Errorf("%w: a call in it contradicts itself", run.ErrPaused)
		}
	}
	if r.ID == "" || len(r.Calls) == 0 && r.Node == "" {
		return fmt.Errorf("%w: something is missing", run.ErrPaused)
	}
	return nil
}

// readRecord reads a record of this gateway, or of another version of it.
func readRecord(text []byte) (*record, error) {
	p, err := run.ReadPaused(run.KindQuestion, text)
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := p.Into(r); err != nil {
		return nil, err
	}
	if err := r.checkRecord(); err != nil {
		return nil, err
	}
	r.waiting, err = p.Child(r.By, "", r.State)
	r.By, r.State = "", nil // they are not written any more
	return r, err
}

// expiryTime is when the record ends; Expires holds it in milliseconds.
func (r *record) expiryTime() time.Time { return time.UnixMilli(r.Expires).UTC() }

// questionEvent returns the event that asks, without its token.
func (r *record) questionEvent() *stream.Approval {
	ev := &stream.Approval{ID: r.ID, Kind: r.Kind, Prompt: r.Prompt, Schema: jsontext.Value(r.Fill), ExpiresAt: r.expiryTime().Format(stream.ExpiryFormat), TaskID: r.Task, Truncated: r.Truncated}
	for _, c := range r.Calls {
		ev.Calls = append(ev.Calls, stream.ApprovalCall{
			CallID: c.ID, Tool: c.Tool, Server: c.Server, Arguments: argumentsObject(c.Arguments), Reason: c.Reason, AgentID: c.Agent, Truncated: c.Truncated,
		})
	}
	return ev
}

// argumentsObject returns arguments as an object, whatever the model wrote. Other values are
// refused when the call is made, so a person never allows more than is shown here.
func argumentsObject(args string) jsontext.Value {
	if v := jsontext.Value(args); v.Kind() == '{' && v.IsValid() {
		return v
	}
	return jsontext.Value("{}")
}

// continuedRequest returns the request of the turn that continues. It still belongs to the person who
// asked it, also if another one has answered.
func (r *record) continuedRequest(now chat.Request) chat.Request {
	req := chat.Request{
		Input: r.Input, ConversationID: r.Conversation, UserID: r.User, Principal: chat.Principal{Tenant: r.Tenant, ID: r.Principal, Class: r.Class, By: r.Sender, KeyID: r.KeyID}, Agent: r.Agent, Context: r.Context,
		Tools: r.Access, Mute: now.Mute, ReplyForm: r.Form,
	}
	if r.Zone != "" {
		req.Location, _ = chat.CheckTimezone(r.Zone)
	}
	req.Resumed = &chat.Resumed{By: r.waiting.Kind, State: r.waiting.Encode(), Usage: r.Usage, Task: r.Task, Turn: r.Turn, Trace: r.Trace, Evidence: r.Evidence}
	return req
}

// hashOf is equal for arguments that mean the same.
func hashOf(args jsontext.Value) string {
	canonical := args.Clone()
	if canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		canonical = args
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:12])
}

// idPrefix begins the ids of questions.
const idPrefix = "appr_"

// newID returns an id of 16 random bytes.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return idOf(b[:])
}

// idOf writes 16 bytes as the id of an approval.
func idOf(b []byte) string {
	text := base32.HexEncoding.WithPadding(base32.NoPadding) // 26 of [0-9a-v] for 16 bytes
	return idPrefix + strings.ToLower(text.EncodeToString(b))
}
