package chat

import "sluice/tool"

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
	Call   *tool.Call
	Result *tool.Result

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
	// renders from a tool.Set by the pointer, so a set never changes once it is
	// handed out.
	Tools *tool.Set
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
