// This file answers the questions of a turn: whether a tool may be called, and the questions of a
// workflow's nodes. A flag or the person at the terminal answers, as decided before the turn. If
// there is neither, the turn ends with errAsked, and the question stays open at the gateway.

package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/clients/terminal"
)

// approvalData has the members of the event approval that the client reads.
type approvalData struct {
	ID     string         `json:"approval_id"`
	Token  string         `json:"token"`
	Prompt string         `json:"prompt"`
	Calls  []pendingCall  `json:"calls"`
	Schema jsontext.Value `json:"schema"` // of the input to fill in; nil: without input
}

// pendingCall is a call that waits for a person.
type pendingCall struct {
	CallID    string         `json:"call_id"`
	Tool      string         `json:"tool_name"`
	Server    string         `json:"server"`
	Arguments jsontext.Value `json:"arguments"`
	Reason    string         `json:"reason"`
	AgentID   string         `json:"agent_id"`
}

// approvalAnswer is the member approval of a body.
//
// Either Action is set, for all calls or for a node, or Calls has one answer for each call. An
// answer to a task is the body itself: it names the question and the user, and lacks a token.
type approvalAnswer struct {
	Token   string         `json:"token,omitzero"`
	ID      string         `json:"approval_id,omitzero"`
	User    string         `json:"user_id,omitzero"`
	Action  string         `json:"action,omitzero"`
	Message string         `json:"message,omitzero"`
	Input   jsontext.Value `json:"input,omitempty"`
	Calls   []callAnswer   `json:"calls,omitempty"`
}

// callAnswer is the answer about one call, as the gateway reads it.
type callAnswer struct {
	CallID    string         `json:"call_id"`
	Action    string         `json:"action"`
	Arguments jsontext.Value `json:"arguments,omitempty"`
	Message   string         `json:"message,omitzero"`
}

// errAsked is the error of a turn that waits for a person when no person is there.
var errAsked = errors.New("a person must allow a tool call, and there is none to ask: run it in a terminal, or with --approve or --reject")

// nodeAsks is errAsked for a question of a workflow.
type nodeAsks struct{ prompt string }

// Error shows the question.
func (e *nodeAsks) Error() string {
	return "the workflow has a question for a person, and there is none to ask: " + e.prompt + "\nRun it in a terminal, or with --approve or --reject"
}

// Is reports whether target is errAsked.
func (*nodeAsks) Is(target error) bool { return target == errAsked }

// nobodyFor returns the error of a question that nobody can answer.
func nobodyFor(q *approvalData) error {
	if len(q.Calls) == 0 {
		return &nodeAsks{q.Prompt}
	}
	return errAsked
}

// decider answers questions: by a flag, or by a person at the terminal.
type decider struct {
	action Action // of every question
	out    io.Writer
	// line returns the next line that the person writes; nil without a terminal.
	line func() (string, error)
}

// decide returns the answer to a question. Its error is errAsked if nobody can answer.
func (d *decider) decide(q *approvalData) (*approvalAnswer, error) {
	a := &approvalAnswer{Token: q.Token, Action: string(d.action)}
	if d.action != "" {
		return a, nil
	}
	if d.line == nil {
		return nil, nobodyFor(q)
	}
	if len(q.Calls) == 0 {
		return a, d.askNode(q, a)
	}
	for _, c := range q.Calls {
		one, err := d.askCall(&c)
		if err != nil {
			return nil, errAsked
		}
		a.Calls = append(a.Calls, one)
	}
	return a, nil
}

// choicesFor returns the possible answers of a person.
func choicesFor(q *approvalData) string {
	if q.Schema == nil {
		return "[y]es, or [n]o and why"
	}
	return "[y]es, [n]o and why, or what is asked for as JSON (" + terminal.Printable(string(q.Schema)) + ")"
}

// isObject reports whether v is an object of JSON.
func isObject(v jsontext.Value) bool { return v.Kind() == '{' && v.IsValid() }

// askNode asks the question of a workflow's node until the answer can be read.
//
// At the end of the input, nobody can answer. The text behind the first word is the message to the
// run. An object of JSON is a yes, with the input for the node.
func (d *decider) askNode(q *approvalData, a *approvalAnswer) error {
	for {
		fmt.Fprintf(d.out, "%s %s: ", terminal.Printable(q.Prompt), choicesFor(q))
		text, err := d.line()
		if err != nil {
			return nobodyFor(q)
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch strings.ToLower(strings.TrimRight(word, ",.:")) {
		case "y", "yes":
			a.Action, a.Message = "approve", rest
			return nil
		case "n", "no":
			a.Action, a.Message = "reject", rest
			return nil
		}
		if v := jsontext.Value(strings.TrimSpace(text)); q.Schema != nil && isObject(v) {
			a.Action, a.Input = "approve", v
			return nil
		}
		fmt.Fprintln(d.out, "Write y or n.")
	}
}

// askCall asks about one call until the answer can be read.
//
// An object of JSON in place of a word changes the arguments: the call is made with these.
func (d *decider) askCall(c *pendingCall) (callAnswer, error) {
	for {
		fmt.Fprintf(d.out, "Allow %s %s? [y]es, [n]o and why, or other arguments as JSON: ", terminal.Printable(c.Tool), terminal.Printable(string(c.Arguments)))
		text, err := d.line()
		if err != nil {
			return callAnswer{}, err
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch strings.ToLower(strings.TrimRight(word, ",.:")) {
		case "y", "yes":
			return callAnswer{CallID: c.CallID, Action: "approve", Message: rest}, nil
		case "n", "no":
			return callAnswer{CallID: c.CallID, Action: "reject", Message: rest}, nil
		}
		if v := jsontext.Value(strings.TrimSpace(text)); v.Kind() == '{' && v.IsValid() {
			return callAnswer{CallID: c.CallID, Action: "modify", Arguments: v}, nil
		}
		fmt.Fprintln(d.out, "Write y, n or a JSON object.")
	}
}

// runAnsweredTurn runs one turn to its end, with the answers to its questions.
func (s *session) runAnsweredTurn(ctx context.Context, c conversation) (answer string, outcome Outcome, err error) {
	said, err := s.postTurn(ctx, c)
	return s.answerQuestions(ctx, said, err)
}

// answerQuestions continues a turn until it has no open questions. It asks again for an answer that
// the gateway refuses.
//
// One turn may ask several questions, at once and one after the other. Each answer is a request of
// its own, and its stream continues with the text. A refused answer (422) is asked for again only
// if a person gave it, for a flag would give the same one.
func (s *session) answerQuestions(ctx context.Context, so streamResult, err error) (answer string, outcome Outcome, _ error) {
	for err == nil && len(so.questions) > 0 {
		var given *approvalAnswer
		if given, err = s.decider.decide(so.questions[0]); err != nil {
			break
		}
		next, failed := s.postTurn(ctx, conversation{Approval: given, User: s.User})
		if s.decider.canAskAgain(failed) {
			continue
		}
		answer += so.text
		next.questions = next.mergeQuestions(so.questions[1:])
		so, err = next, failed
	}
	return answer + so.text, so.outcome, err
}

// canAskAgain reports whether an answer was refused that a person may give in another way.
func (d *decider) canAskAgain(err error) bool {
	var refused *refusal
	if !errors.As(err, &refused) || refused.status != 422 || d.action != "" {
		return false
	}
	fmt.Fprintln(d.out, terminal.Printable(refused.Error()))
	return true
}

// mergeQuestions returns the open questions after an answer, if the turn still waits: those of its
// stream, and earlier ones that the stream does not repeat.
func (so *streamResult) mergeQuestions(others []*approvalData) []*approvalData {
	if !so.waits {
		return so.questions
	}
	list := so.questions
	for _, q := range others {
		if !slices.ContainsFunc(list, func(other *approvalData) bool { return other.ID == q.ID }) {
			list = append(list, q)
		}
	}
	return list
}
