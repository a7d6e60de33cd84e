package chat

import "github.com/go-json-experiment/json/jsontext"

// Role says who speaks in a Message. The values are Gemini's own, because they
// are the only ones that travel.
type Role string

// Roles of a conversation. Tool results travel in a message of RoleUser.
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Message is one entry of the conversation that a model is shown.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is one piece of a Message or of a Chunk: text, a tool call or a tool
// result. Exactly one of Text, Call and Result is meaningful: Call if it is not
// nil, else Result if it is not nil, else Text (which may be empty when the part
// only carries a signature).
type Part struct {
	Text   string
	Call   *ToolCall
	Result *ToolResult

	// Thought marks Text as a summary of the model's reasoning. It is shown to
	// the client and never goes back to the model.
	Thought bool

	// Signature is the model's opaque thought signature of this part, base64 as
	// on the wire. It goes back unchanged on the same part: Gemini 3 answers 400
	// to a function call whose signature is missing. Empty means none.
	Signature string
}

// ModelRequest is one call of a model.
type ModelRequest struct {
	// System is the system instruction.
	System string
	// Messages is the conversation so far, oldest first.
	Messages []Message
	// Tools are the tools on offer; nil means none. A driver may cache what it
	// renders from a ToolSet by the pointer, so a set never changes once it is
	// handed out.
	Tools *ToolSet
	// NoTools forbids tool calls, although Tools are declared.
	NoTools bool
	// Step counts the model calls of a turn, from 1; it is for the log.
	Step int
}

// Chunk is one piece of a model's streamed answer.
type Chunk struct {
	Parts []Part
	// Usage is set when the chunk carried figures; the last one of a call counts.
	Usage *Usage
	// Finish is set on the chunk that ended the answer.
	Finish Finish
	// More says that a further chunk is already there, so that the consumer may
	// put off a flush without delaying anything.
	More bool
}

// Finish says how a model's answer ended. Endings that are faults (blocked,
// malformed, cut) are errors, not values of Finish.
type Finish string

// How an answer can end well.
const (
	FinishNone      Finish = ""
	FinishStop      Finish = "stop"
	FinishMaxTokens Finish = "max_tokens"
)

// Usage counts the tokens of one model call, or of several added up.
type Usage struct {
	InputTokens    int
	OutputTokens   int
	ThinkingTokens int
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.ThinkingTokens += v.ThinkingTokens
}

// ToolSpec is one tool as the model sees it.
type ToolSpec struct {
	// Name is unique among all servers and safe for Gemini: it starts with a
	// letter or an underscore, holds only [A-Za-z0-9_.:-] and has at most 64 bytes.
	Name string
	// Server is the configured name of the MCP server that runs the tool.
	Server string
	// Description is the server's own text.
	Description string
	// InputSchema is the server's JSON Schema of the arguments, untouched.
	InputSchema jsontext.Value
	Annotations Annotations
	// Fallback is the Name of the tool to run, with the same arguments, when the
	// server of this one is unavailable; empty means none. It may not be in the
	// ToolSet: then it is not available either.
	Fallback string
}

// Annotations are a tool's behaviour hints, with MCP's defaults filled in: a
// tool without annotations is taken to be destructive and not idempotent.
type Annotations struct {
	Title       string
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// Repeatable says whether a call may be sent again after its outcome was lost.
func (a Annotations) Repeatable() bool { return a.ReadOnly || a.Idempotent }

// ToolSet is what can be called right now, and what cannot. It is immutable.
type ToolSet struct {
	Specs []ToolSpec
	// Unavailable names the servers that are unavailable. Of their tools only those are in
	// Specs that have a Fallback which can be called.
	Unavailable []UnavailableServer
}

// UnavailableServer is an MCP server that cannot be used at the moment, with the
// reason, a *fault.Error.
type UnavailableServer struct {
	Server string
	Err    error
}

// Lookup returns the spec with the given name, or nil.
func (s *ToolSet) Lookup(name string) *ToolSpec {
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

// ToolCall is a model's wish to run a tool.
type ToolCall struct {
	// ID is the model's id of the call, empty when it gave none (Gemini 2.5).
	// It goes back unchanged with the call and with its result.
	ID   string
	Name string
	// Arguments is a JSON object, byte for byte as the model wrote it; "{}" when
	// it wrote none.
	Arguments jsontext.Value
}

// ToolResult is what became of a ToolCall.
type ToolResult struct {
	// ID and Name repeat the call's.
	ID   string
	Name string
	// Text is what the model is given.
	Text string
	// IsError marks a result that tells of a failure.
	IsError bool
}
