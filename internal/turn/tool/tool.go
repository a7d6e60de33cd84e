// Package tool holds what tools are, independent of what runs them: how a model sees them, what
// it asks of them and what comes back; and the check of a call's arguments against
// the tool's schema, neither of which is trusted.
//
// A Set never changes once it is made. Its pointer stands for its content: who
// renders or filters a set keeps the result by the pointer.
//
// A schema is compiled once and then only read. Both schema and arguments come
// from outside, so the work of a check is estimated before it is done,
// expressions run in linear time, and references lead nowhere but into the same
// schema.
package tool

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrAsked is wrapped by the error of a call whose outcome is unknown, and about which a
// person is asked: what they say decides whether it is made again.
var ErrAsked = errors.New("a person is asked what became of the call")

// Spec is one tool as the model sees it.
type Spec struct {
	// Name is unique in its Set. It stands in events, logs and prompts. Those that
	// mcpclient gives begin with a letter or an underscore, hold only
	// [A-Za-z0-9_.:-] and have at most 64 bytes; a provider that takes less renames
	// them on its wire.
	Name string
	// Server is the configured name of the MCP server that runs the tool.
	Server string
	// Description is the server's own text.
	Description string
	// InputSchema is the server's JSON Schema of the arguments, without the parts that cannot
	// be used.
	InputSchema jsontext.Value
	// OutputSchema is that of structured results; nil without one.
	OutputSchema jsontext.Value `json:",omitempty"`
	// Timeout is the time that one call has; 0 if it is not known.
	Timeout     time.Duration
	Annotations Annotations
	// ClaimsDestructive says that the server itself calls the tool destructive, whatever
	// the operator or its other hints say.
	ClaimsDestructive bool
	// Confirm is what the operator says of whether a person must allow a call, whatever the
	// annotations are.
	Confirm Confirm
	// Fallback is the Name of the tool to run, with the same arguments, when the
	// server of this one is unavailable; empty means none. It may not be in the
	// Set: then it is not available either.
	Fallback string
	// More are the tools to run in the place of Fallback, in this order, when its server
	// is unavailable too.
	More []string
}

// Confirm says whether a person must allow the calls of a tool.
type Confirm string

// What an operator can say.
const (
	ConfirmByClass Confirm = "" // it depends on what the tool does
	ConfirmAlways  Confirm = "always"
	ConfirmNever   Confirm = "never"
)

// Annotations are a tool's behaviour hints, with MCP's defaults filled in: a
// tool without annotations is taken to be destructive and not idempotent.
type Annotations struct {
	// Title is for people. The rest are hints of the server's, whose defaults
	// are the careful ones (MCP 2025-11-25, ToolAnnotations).
	Title       string
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// Repeatable says whether a call may be sent again after its outcome was lost.
func (a Annotations) Repeatable() bool { return a.ReadOnly || a.Idempotent }

// Set is what can be called right now, and what cannot. It is immutable.
type Set struct {
	Specs []Spec
	// Unavailable names the servers that are unavailable. Of their tools only those are in
	// Specs that have a Fallback which can be called.
	Unavailable []UnavailableServer
	// Passing says that the set is of one turn, as one with a client's tools is. What is
	// made of it must not take the place of what is made of a set that stays.
	Passing bool
}

// UnavailableServer is an MCP server that cannot be used at the moment, with the
// reason, a *fault.Error.
type UnavailableServer struct {
	Server string
	Err    error
}

// Lookup returns the spec with the given name, or nil.
func (s *Set) Lookup(name string) *Spec {
	if s == nil {
		return nil
	}
	for i := range s.Specs {
		if s.Specs[i].Name == name {
			return &s.Specs[i]
		}
	}
	return nil
}

// Call is a model's wish to run a tool.
type Call struct {
	// ID is the model's id of the call, empty when it gave none (Gemini 2.5).
	// It goes back unchanged with the call and with its result.
	ID   string
	Name string
	// Arguments is a JSON object, byte for byte as the model wrote it; "{}" when
	// it wrote none.
	Arguments jsontext.Value
}

// Result is what became of a Call.
type Result struct {
	// ID and Name repeat the call's.
	ID   string
	Name string
	// Text is what the model is given.
	Text string
	// IsError marks a result that reports a failure.
	IsError bool
	// Cached says that the tool was not run: this is what it said before.
	Cached bool
	// Warning says what is wrong with a result that counts all the same; it is for log and
	// trace, not for the model. Empty: nothing is.
	Warning string
}
