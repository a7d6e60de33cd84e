package chat

import (
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/tool"
)

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
	// Maker names the model that made the message, as Chunk.Maker did; empty for
	// messages that none of ours made. Signatures and Kept go back to their maker alone.
	Maker string
	// Origin says of a message with calls of an earlier turn which agent and model made it; see
	// Portable. Empty for a message of this turn, or one without calls.
	Origin string
	// At is the time line of the moment when the user sent this, for code that renders a history;
	// see Request.Dated. Empty: none is known, or it stands in the message.
	At string
}

// Spoken reports whether the message is the user's own words, and not results of tools.
func (m *Message) Spoken() bool {
	return m.Role == RoleUser && (len(m.Parts) == 0 || m.Parts[0].Result == nil)
}

// Text returns the text of a message, without thoughts, calls and results.
func (m *Message) Text() string {
	if len(m.Parts) == 1 && !m.Parts[0].isSilent() {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for i := range m.Parts {
		if p := &m.Parts[i]; !p.isSilent() {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// isSilent reports whether the part does not belong to the conversation's text.
func (p *Part) isSilent() bool { return p.Call != nil || p.Result != nil || p.Thought }

// Part is one piece of a Message or of a Chunk: text, a tool call or a tool result. Exactly one of
// Text, Call and Result is meaningful: it is Call if that is not nil, else Result if that is not
// nil, else Text. Text may be empty if the part only carries a Signature or Kept.
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

	// Kept is JSON that the model wants back as it is, in this place of its message: a
	// block of thinking, a reasoning item. Only the codec that made it reads it, and it
	// is never shown. On a part with a Call it belongs to the call. Empty means none.
	Kept string
}

// ModelRequest is one call of a model.
type ModelRequest struct {
	// System is the system instruction.
	System string
	// Messages is the conversation so far, oldest first.
	Messages []Message
	// Tools are the tools on offer; nil without tools. A set never changes after it was passed on,
	// so a driver may cache its rendering by the pointer.
	Tools *tool.Set
	// NoTools forbids tool calls, although Tools are declared.
	NoTools bool
	// Step counts the model calls of a turn, from 1; it is for the log.
	Step int

	// Temperature is the caller's choice; nil leaves it to the model's configuration.
	Temperature *float64
	// MaxTokens limits the visible part of the answer; 0: the model's configuration
	// does.
	MaxTokens int
	// Thinking is the level that the caller asks for: off, summary, low, medium or high.
	// A model that is configured not to think does not. Empty leaves it to the model's
	// configuration.
	Thinking string
	// Form asks for a structured answer; its zero value for text.
	Form Form
	// ForceTool obliges the model to call a tool: the one that ForcedTool names.
	ForceTool bool
	// Tool is the tool that ForceTool is about; empty: the only one of Tools, or if there are
	// several, whichever the model wants.
	Tool string
	// Answered is the key of the model that answered the turn's calls so far, if that
	// was not the first of a chain; else empty.
	Answered string
	// Retracts allows a chunk with Restarted after text.
	Retracts bool
	// Hidden says that nobody sees the answer before its end: whatever the model is configured for,
	// it begins again. Held says this of a model that is configured to begin again or to continue.
	Hidden, Held bool
	// Seams allows another call to continue the text of a call that fails; nil: none may.
	Seams *Seams
	// Shown is text that a client has of this answer, of a process that is gone. The model continues
	// it.
	ShownText string
	// Written is the number of tokens of the answer that other calls have written: a limit of its
	// length has so many fewer.
	Written int
	// Prefill says that the last message is the model's, and that the answer goes on behind it.
	Prefill bool
	// Of is the request of the turn that makes the call, and Agent is the id of the caller. A
	// provider's cache is selected by them. nil for a call without a conversation.
	Of    *Request
	Agent string
}

// ForcedTool returns the name of the tool that the model must call, if ForceTool is set;
// empty: whichever it wants.
func (r *ModelRequest) ForcedTool() string {
	if r.Tool == "" && len(r.Tools.Specs) == 1 {
		return r.Tools.Specs[0].Name
	}
	return r.Tool
}

// Form is the form that an answer must have. The prompt says so as well: a model may
// ignore it.
type Form struct {
	// Kind is FormText, FormJSON or FormSchema.
	Kind FormKind
	// Name names the schema where a protocol wants a name: [a-z0-9_-], at most 64.
	Name string
	// Schema is a JSON Schema (2020-12), for FormSchema.
	Schema jsontext.Value
}

// FormKind is the kind of a Form.
type FormKind string

// The forms of an answer.
const (
	FormText   FormKind = ""
	FormJSON   FormKind = "json"   // any JSON object
	FormSchema FormKind = "schema" // a value that the schema describes
)

// Chunk is one piece of a model's streamed answer.
type Chunk struct {
	Parts []Part
	// Usage is set when the chunk carried figures; the last one of a call counts.
	Usage *Usage
	// Finish is set on the chunk that ended the answer.
	Finish Finish
	// More is true if a further chunk is already there, so that the consumer may put off a flush
	// without a delay.
	More bool
	// Maker names the model of the answer, as in Message.Maker; empty if there is only one model.
	Maker string
	// Restarted is set on a chunk without parts: the parts of this call so far
	// belong to an answer that failed, and another answer begins. If text is among them, it counts
	// until a chunk with Switch comes. With text among them it may carry Usage.
	Restarted bool
	// Switch is set on a chunk without parts that comes before an answer of another
	// model than the call was for.
	Switch *Switch
}

// Switch reports that another model answers.
type Switch struct {
	Key      string // of the model that answers
	Model    string // its name
	Previous string // the key of the model that did not
	Reason   string // the class of its failure, such as "unavailable"
	// Continued says that the answer goes on behind the text so far, which stays. Then Key and
	// Previous may be equal, and the parts so far go back to no maker: see SeamMaker.
	Continued bool
}

// TakenOver is the reason of a Switch where the process failed, not the model.
const TakenOver = "taken_over"

// SeamMaker is the maker of a message that two calls have written. No model gets it back as its
// own.
const SeamMaker = "seam"

// ShownMaker is the maker of the shown text in a request that continues it. The user's message
// behind it is not a question, and the messages before it stay in the turn.
const ShownMaker = "shown"

// MaxSeams is how many seams a turn may have.
const MaxSeams = 3

// Seams counts the places of a turn where another call has continued a text. It is safe for
// concurrent use. A nil *Seams allows none.
type Seams struct{ count atomic.Int32 }

// Remain reports whether another seam is allowed.
func (s *Seams) Remain() bool { return s != nil && s.count.Load() < MaxSeams }

// Claim counts a seam, and reports whether it is allowed.
func (s *Seams) Claim() bool { return s != nil && s.count.Add(1) <= MaxSeams }

// minLimit is the lowest limit that Written leaves, in tokens.
const minLimit = 64

// LimitOf returns a limit of tokens for the remaining answer; 0: no limit.
func (r *ModelRequest) LimitOf(tokens int) int {
	if tokens <= 0 || r.Written == 0 {
		return tokens
	}
	return max(tokens-r.Written, min(tokens, minLimit))
}

// Finish is the way in which a model's answer ended. Endings that are faults (blocked, malformed,
// cut) are errors, not values of Finish.
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
	CachedTokens   int  // part of InputTokens
	WrittenTokens  int  `json:",omitzero"` // to the provider's cache, part of InputTokens
	Estimated      bool // some of the figures are a guess
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.ThinkingTokens += v.ThinkingTokens
	u.CachedTokens += v.CachedTokens
	u.WrittenTokens += v.WrittenTokens
	u.Estimated = u.Estimated || v.Estimated
}

// Since returns the usage after before, an earlier state of the same count.
func (u Usage) Since(before Usage) Usage {
	u.InputTokens -= before.InputTokens
	u.OutputTokens -= before.OutputTokens
	u.ThinkingTokens -= before.ThinkingTokens
	u.CachedTokens -= before.CachedTokens
	u.WrittenTokens -= before.WrittenTokens
	return u
}
