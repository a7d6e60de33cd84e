// Package ask is a client of a gateway, for a person at a terminal or for a script. It begins a
// turn, holds a conversation, follows a turn that was begun elsewhere or answers waiting questions,
// and shows the events as they come. It is a client like any other and speaks HTTP, so that it
// shows the events that clients get.
package ask

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"sluice/internal/clients/terminal"
)

// maxFrame bounds one event that is read: an answer of 2 MiB, twice, escaped.
//
// An answer is at most 2 MiB; done and delta can both hold it, and JSON may escape each
// byte.
const maxFrame = 16 << 20

// Outcome is how the turns of a call ended: the last turn of a conversation, the first one
// without success of those that were waiting, or the only one.
type Outcome int

// Outcomes of a turn.
const (
	Succeeded  Outcome = iota
	failed             // it failed, or its outcome is unknown
	Unanswered         // a question waits for a person who is not there
	Unchecked          // it was a success, and its answer did not pass its checks
	Refused            // no turn began: a value of the request is wrong
)

// Action is an answer that is given to each question without asking anyone.
type Action string

// The actions. The zero Action asks the person at the terminal.
const (
	Approve Action = "approve"
	Reject  Action = "reject"
)

// Client asks the gateway at Base. Each of its calls returns when its turns have ended, or
// soon after its context has: then it cancels the turn at the gateway first.
//
// Events go to Stdout, all else to Stderr. If Stdout is not a terminal, it gets the answers alone,
// unless Raw is set. Stderr gets the other lines for a person. Stdin holds messages and answers; it
// is not read for answers unless it is a terminal, since it may hold the next messages.
type Client struct {
	Command   string // whose name is before each failure
	Base      string // URL of the gateway
	User      string // the user who asks and answers; empty: without a name
	Action    Action // of every question
	Raw       bool   // the events are printed as they are, a line of JSON each
	Simulator string // name of the simulated model
	// Header goes with each request; it may hold a credential.
	Header http.Header
	// Seen, unless nil, is called with the type of each event that was shown, before the next
	// one is read.
	Seen func(event string)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Lookup         func(name string) (string, bool) // of the environment
}

// Message is the request for a turn.
type Message struct {
	Text     string
	Agent    string // empty: the gateway chooses
	Workflow string // empty: none
	Channel  string // channel whose form the answer has; may be empty
	Drafts   bool   // an answer that is held back is shown as it is written
	Deliver  bool   // the gateway sends the answer to the channel's receiver
}

// Turn runs one turn to its end, with the answers to its questions.
func (c *Client) Turn(ctx context.Context, m Message) Outcome {
	s := c.openSession(ctx)
	_, outcome, err := s.runAnsweredTurn(ctx, c.bodyOf(m))
	return s.reportOutcome(outcome, err)
}

// bodyOf returns the body for a message.
func (c *Client) bodyOf(m Message) conversation {
	return conversation{Input: m.Text, User: c.User, Agent: m.Agent, Workflow: m.Workflow, Channel: m.Channel, Drafts: m.Drafts, Deliver: m.Deliver}
}

// session is one call of a client.
type session struct {
	*Client
	view    viewer
	line    func() (string, error) // the next line of Stdin
	decider *decider
}

// openSession begins a call. An Action wins over the terminal.
func (c *Client) openSession(ctx context.Context) *session {
	s := &session{Client: c, line: LineReader(ctx, c.Stdin)}
	s.view = c.newScreen()
	if c.Raw {
		s.view = &jsonLines{out: c.Stdout}
	}
	s.decider = &decider{action: c.Action, out: c.Stderr}
	if terminal.IsTerminal(c.Stdin) {
		s.decider.line = s.line
	}
	return s
}

// reportOutcome returns the outcome of a turn, whose error it prints.
//
// outcome counts only if err is nil. A question that nobody could answer is not a failure, so that
// a script can distinguish the two.
func (s *session) reportOutcome(outcome Outcome, err error) Outcome {
	if err == nil {
		return outcome
	}
	fmt.Fprintf(s.Stderr, "%s: %s\n", s.Command, printableLines(s.explainError(err))) // it may hold words of the gateway
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case errors.Is(err, errAsked):
		return Unanswered
	case ok && refused.status == http.StatusUnprocessableEntity:
		return Refused
	}
	return failed
}

// outcomeOf returns how a turn ended, which its done reports.
func outcomeOf(done eventData) Outcome {
	switch {
	case !done.Success:
		return failed
	case done.Quality != nil && !done.Quality.Passed:
		return Unchecked
	}
	return Succeeded
}

// streamResult is the result of a stream.
//
// outcome holds only if the turn ended without an error.
type streamResult struct {
	text      string // of the answer, as much of it as came
	outcome   Outcome
	waits     bool            // the turn has ended for now because people are asked
	questions []*approvalData // the open questions
}

// postTurn runs one turn, or continues with one.
func (s *session) postTurn(ctx context.Context, c conversation) (streamResult, error) {
	return s.sendBody(ctx, "/chat/stream", c)
}

// sendBody posts a body, and shows the turn that it begins or continues with.
//
// The key for idempotency is new for each call, so that a retry by a proxy does not run a
// turn twice.
func (s *session) sendBody(ctx context.Context, path string, given any) (streamResult, error) {
	body, err := json.Marshal(given)
	if err != nil {
		return streamResult{outcome: failed}, errors.New("the message is not valid UTF-8")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+path, bytes.NewReader(body))
	if err != nil {
		return streamResult{outcome: failed}, err
	}
	req.Close = true // the next one may be long in coming
	s.addHeaders(req)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "ask-"+rand.Text())
	a := s.newFollowedTurn()
	outcome, err := a.runToEnd(ctx, req)
	return a.streamResultOf(outcome), err
}

// addHeaders adds the headers of each request. A redirect to another host loses a credential, as
// net/http has it.
func (c *Client) addHeaders(req *http.Request) {
	for name, values := range c.Header {
		req.Header[name] = values
	}
}

// refusal is the content of a problem reply.
//
// status is kept for callers that can mend some of them, such as 422.
type refusal struct {
	status int
	text   string
	fields []string // that are at fault, as JSON pointers
}

// Error returns the gateway's reply, for people.
func (r *refusal) Error() string { return r.text }

// readRefusal reads a problem reply.
//
// A reply without the problem's detail (RFC 9457) is reported by its status line; 64 KiB of it
// are read.
func readRefusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p struct {
		Detail string `json:"detail"`
		Errors []struct {
			Field string `json:"field"`
			Code  string `json:"code"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &p) != nil || p.Detail == "" {
		return &refusal{status: resp.StatusCode, text: "the gateway answered " + resp.Status}
	}
	r := &refusal{status: resp.StatusCode, text: fmt.Sprintf("the gateway answered %s: %s", resp.Status, p.Detail)}
	for _, e := range p.Errors {
		if e.Code == "unknown_value" {
			r.fields = append(r.fields, e.Field)
		}
	}
	return r
}
