package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// State is a turn between two model calls: all that the loop needs to continue with it, here or
// in another process, later or at once. The model is then sent the same bytes as if the turn
// had never paused, as long as the same tools are on offer.
//
// A State is a value of its own: Step and Loop take it over, so a caller who wants
// to continue twice from one point must store it (MarshalJSON) and read it back.
type State struct {
	// System is the instruction. Facts of this turn alone, such as its time, stand with the message
	// of the user.
	System string
	// Messages is the conversation, with thought signatures and call ids.
	Messages []chat.Message
	// Access says which tools the turn may call, as its request did.
	Access chat.ToolAccess
	// Steps counts the model calls that were made.
	Steps int
	// Open holds the calls of the last message, in order, while some of them wait for
	// an answer from outside. Empty: none does.
	Open []OpenCall
	// Dropped is how many calls of the last message were not even opened.
	Dropped int

	Usage chat.Usage
	Model []time.Duration     // of each model call
	Tools []stream.ToolTiming // of each tool call that ended

	// Reason is why the turn is over; empty while it is not.
	Reason stream.FinishReason
	// Tail is the last byte of the emitted text; 0 before any text.
	Tail byte
	// Missing names the services that were reported to be unavailable.
	Missing []string
	// Answered is the key of the model that the turn stays with; empty: the first one.
	Answered string
	// Models lists the keys of the models that gave a part, in order, once it is not
	// the first one alone that answers.
	Models []string

	saved     int // of Messages those that a chat.Saver has
	keptBytes int // bytes in Messages that go back to their makers
	calls     ledger
	request   *chat.Request // whose turn it is; nil: the State was stored, and belongs to none yet
}

// OpenCall is a call of a step that could not be closed.
type OpenCall struct {
	// ID is that of the call's events.
	ID   string
	Call tool.Call
	// Answer says what becomes of a call that has not run; it is answerWaiting until a decision.
	Answer Answer
	// Message goes to the model for a call that was rejected or refused, or with the result of an
	// approved call.
	Message string
	// Changed are the arguments that replace those of an approved call; nil without a change.
	Changed jsontext.Value
	// Result is that of a call that has run, or that was answered from outside.
	Result *tool.Result
	// Within is the suspended state of a call that is an agent itself; nil if the call itself
	// waits.
	Within *Within
	// Unsafe says of a call with answerRuns that it must not be made twice.
	Unsafe bool
	// Outcome says of a call that waits, or was answered, that it was made: it is asked what
	// became of it.
	Outcome bool

	key   string // under which equal calls are counted
	print string // of the tool that was approved; empty: whichever there is
	sent  string // the key of the call for its server; empty: none
}

// Answer is what somebody outside says of a call.
type Answer string

// Answers to an open call.
const (
	answerWaiting  Answer = ""
	answerRan      Answer = "ran"      // it did not wait: Result is its result
	answerApproved Answer = "approved" // it may run
	answerRejected Answer = "rejected" // a person has not allowed it; Message has the reason for the model
	answerRefused  Answer = "refused"  // nobody could be asked; Message has the reason for the model
	answerSupplied Answer = "supplied" // somebody else ran it: Result is its result
	answerDecided  Answer = "decided"  // about all that waits within it, so it continues
	answerRuns     Answer = "runs"     // it was about to run when this was saved, and may have run since
)

// IsOver reports whether the turn has ended well, so that it cannot continue.
func (s *State) IsOver() bool { return s.Reason != "" }

// Waiting returns the calls that wait for an answer.
func (s *State) Waiting() (calls []OpenCall) {
	for _, c := range s.Open {
		if c.Answer == answerWaiting {
			calls = append(calls, c)
		}
	}
	return calls
}

// Silent returns the State without the agent's texts next to the calls of this turn. A caller uses
// it that must not store an answer before its check. It shares its memory with s.
//
// Anyone who continues from it gives the model its calls, their signatures and their results,
// but not those words. A message keeps its calls, and so none is left empty. A part with words
// goes as a whole: a signature is good only on the very part that it came with.
func (s *State) Silent() State {
	silent := *s
	silent.Tail = 0 // the next text is the first one
	silent.Messages = slices.Clone(s.Messages)
	for i := len(silent.Messages) - 1; i >= 0 && !silent.Messages[i].Spoken(); i-- {
		m := &silent.Messages[i]
		if m.Text() != "" {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p chat.Part) bool { return p.Call == nil && p.Result == nil && p.Text != "" })
		}
	}
	return silent
}

// hasWaiting reports whether a call waits for an answer.
func (s *State) hasWaiting() bool {
	for i := range s.Open {
		if s.Open[i].Answer == answerWaiting {
			return true
		}
	}
	return false
}

// isStopped reports whether a call waits for an answer, and none is left that runs without.
func (s *State) isStopped() bool {
	return s.hasWaiting() && !slices.ContainsFunc(s.Open, func(c OpenCall) bool { return c.Answer == answerRuns })
}

// Approve lets a waiting call run at the next step.
func (s *State) Approve(id string) error {
	return s.answerCall(id, func(c *OpenCall) { c.Answer = answerApproved })
}

// Reject closes a waiting call without running it. note, if not empty, is passed on
// to the model.
func (s *State) Reject(id, note string) error {
	return s.answerCall(id, func(c *OpenCall) { c.Answer, c.Message = answerRejected, note })
}

// modifyCall lets a waiting call run with other arguments.
func (s *State) modifyCall(id string, args jsontext.Value) error {
	return s.answerCall(id, func(c *OpenCall) { c.Answer, c.Changed = answerApproved, args })
}

// refuseCall closes a waiting call that nobody could be asked about. Unlike one that was
// rejected, it may be made again.
func (s *State) refuseCall(id, why string) error {
	return s.answerCall(id, func(c *OpenCall) { c.Answer, c.Message = answerRefused, why })
}

// Supply closes a waiting call with the result that it had elsewhere.
func (s *State) Supply(id, text string, isError bool) error {
	return s.answerCall(id, func(c *OpenCall) {
		c.Answer = answerSupplied
		c.Result = &tool.Result{ID: c.Call.ID, Name: c.Call.Name, Text: capResult(text), IsError: isError}
	})
}

// answerCall applies set to the open call of an id. A call that has its answer
// already is not open any more, so that the first of two answers counts.
func (s *State) answerCall(id string, set func(*OpenCall)) error {
	for i := range s.Open {
		if s.Open[i].ID == id && s.Open[i].Answer == answerWaiting && s.Open[i].Within == nil {
			set(&s.Open[i])
			return nil
		}
	}
	return fmt.Errorf("no call %q waits for an answer", id)
}

// resultSoFar returns the result of the turn so far.
func (s *State) resultSoFar() stream.Result {
	return stream.Result{Reason: s.Reason, Usage: s.Usage, Model: s.Model, Tools: s.Tools, Models: s.Models}
}

// addResults makes a message of the results of a step, in the order of the calls. A line at the end
// of the last result names the number of dropped calls.
func (s *State) addResults(n int, result func(int) *tool.Result) {
	parts := make([]chat.Part, n)
	for i := range parts {
		parts[i].Result = result(i)
	}
	if s.Dropped > 0 {
		last := parts[n-1].Result
		last.Text += fmt.Sprintf("\n[Calls after this one that were not executed: %d. At most %d of one answer are taken.]", s.Dropped, maxCalls)
	}
	s.Messages = append(s.Messages, chat.Message{Role: chat.RoleUser, Parts: parts})
	s.Open, s.Dropped = nil, 0
}
