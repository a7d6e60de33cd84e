// Package tool defines tools, calls and results, independent of the code that runs them. It also
// checks the arguments of a call against the tool's schema, and trusts neither.
//
// A Set never changes once it is made. Its pointer stands for its content: code that renders or
// filters a set caches the result by the pointer.
//
// A schema is compiled once and then only read. Both schema and arguments come from outside. So the
// work of a check is estimated first, expressions run in linear time, and references stay within
// the schema.
//
// Verbs: measure (a document), compile (a schema), check (arguments), spend (work).
package tool

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrAsked is wrapped by the error of a call with an unknown outcome, about which a person is
// asked. The answer decides whether the call is made again.
var ErrAsked = errors.New("a person is asked what became of the call")

// Spec is one tool as the model sees it.
type Spec struct {
	// Name is unique in its Set. It stands in events, logs and prompts. A name that mcpclient gives
	// begins with a letter or an underscore, holds only [A-Za-z0-9_.:-] and has at most 64 bytes. A
	// provider with a stricter rule renames it on its wire.
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
	// ClaimsDestructive is true if the server itself calls the tool destructive, whatever the
	// operator or its other hints say.
	ClaimsDestructive bool
	// Confirm is the operator's decision whether a person must allow a call, whatever the
	// annotations are.
	Confirm Confirm
	// Fallback is the Name of the tool to call with the same arguments if this server is
	// unavailable; empty without a fallback. It may not be in the Set: then it is not available
	// either.
	Fallback string
	// More are the tools to run in the place of Fallback, in this order, when its server
	// is unavailable too.
	More []string
}

// Confirm decides whether a person must allow the calls of a tool.
type Confirm string

// Values of Confirm.
const (
	ConfirmByClass Confirm = "" // by the effects of the tool
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

// Repeatable reports whether a call may be sent again after its outcome was lost.
func (a Annotations) Repeatable() bool { return a.ReadOnly || a.Idempotent }

// Set holds the tools that can be called now, and the servers that are unavailable. It is
// immutable.
type Set struct {
	Specs []Spec
	// Unavailable names the servers that are unavailable. Their tools are in Specs only if a
	// fallback of them can be called.
	Unavailable []UnavailableServer
	// Passing is true if the set is of one turn, such as a set with a client's tools. A result made
	// from it must not replace the result of a lasting set.
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
	// Text is for the model.
	Text string
	// IsError marks a result that reports a failure.
	IsError bool
	// Cached is true if the tool did not run: Text comes from an earlier call.
	Cached bool
	// Warning names a fault of a result that counts nevertheless. It is for log and trace, not for
	// the model. Empty: nothing is.
	Warning string
}
