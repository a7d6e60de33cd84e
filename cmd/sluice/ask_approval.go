// This file answers the questions of a turn: whether a tool may be called, and what a node
// of a workflow asks. Who answers is decided before the turn: a flag, the person at the
// terminal, or nobody; then the turn ends with errAsked, and the question stays open at the
// gateway.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/clients/terminal"
)

// approvalData is what ask reads of the event approval.
type approvalData struct {
	ID     string         `json:"approval_id"`
	Token  string         `json:"token"`
	Prompt string         `json:"prompt"`
	Calls  []pendingCall  `json:"calls"`
	Schema jsontext.Value `json:"schema"` // of what is to be filled in; nil: nothing is
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
// Either Action is set, for all calls or for a node, or Calls has one answer for each call.
// One that is given to a task is the body itself: it names the question and the user, and
// has no token.
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

// errAsked is the error of a turn that waits for a person where there is none.
var errAsked = errors.New("a person must allow a tool call, and there is none to ask: run it in a terminal, or with --approve or --reject")

// decider answers questions: by a flag, or by a person at the terminal.
type decider struct {
	action string // of every call; empty: a person is asked
	user   string // who answers; empty: nobody in particular
	out    io.Writer
	// line returns the next line that the person writes; nil: there is no terminal.
	line func() (string, error)
}

// deciderOf returns who answers.
//
// A flag wins over the terminal. Standard input that is not a terminal is not read for answers:
// it may hold the next messages.
func (p program) deciderOf(approve, reject bool, line func() (string, error)) *decider {
	d := &decider{out: p.stderr, line: line}
	switch {
	case approve:
		d.action = "approve"
	case reject:
		d.action = "reject"
	case !terminal.IsTerminal(p.stdin):
		d.line = nil
	}
	return d
}

// lineReader returns what reads the lines of stdin one after the other. Nothing is read
// before the first is wanted.
//
// Messages and answers come from the same reader, so that neither takes the other's line.
// The error is io.EOF at the end, or the cause of ctx.
func (p program) lineReader(ctx context.Context) func() (string, error) {
	var lines <-chan line
	return func() (string, error) {
		if lines == nil {
			lines = reading(ctx, p.stdin)
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case l, ok := <-lines:
			if !ok {
				return "", io.EOF
			}
			return l.text, l.err
		}
	}
}

// decide returns the answer to a question. Its error is errAsked if nobody can answer.
func (d *decider) decide(q *approvalData) (*approvalAnswer, error) {
	a := &approvalAnswer{Token: q.Token, Action: d.action}
	if d.action != "" {
		return a, nil
	}
	if d.line == nil {
		return nil, errAsked
	}
	if len(q.Calls) == 0 {
		return a, d.askNode(q, a)
	}
	for _, c := range q.Calls {
		one, err := d.ask(&c)
		if err != nil {
			return nil, errAsked
		}
		a.Calls = append(a.Calls, one)
	}
	return a, nil
}

// askNode asks what a node of a workflow asks until the answer can be read.
//
// The end of the input counts as nobody there. What follows the first word is the message
// to the run. An object of JSON is a yes with what the node wants to be filled in.
func (d *decider) askNode(q *approvalData, a *approvalAnswer) error {
	choices := "[y]es, or [n]o and why"
	if q.Schema != nil {
		choices = "[y]es, [n]o and why, or what is asked for as JSON (" + terminal.Printable(string(q.Schema)) + ")"
	}
	for {
		fmt.Fprintf(d.out, "%s %s: ", terminal.Printable(q.Prompt), choices)
		text, err := d.line()
		if err != nil {
			return errAsked
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
		if v := jsontext.Value(strings.TrimSpace(text)); q.Schema != nil && v.Kind() == '{' && v.IsValid() {
			a.Action, a.Input = "approve", v
			return nil
		}
		fmt.Fprintln(d.out, "Write y or n.")
	}
}

// ask asks about one call until the answer can be read.
//
// An object of JSON in place of a word changes the arguments: the call is made with these.
func (d *decider) ask(c *pendingCall) (callAnswer, error) {
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

// turn runs one turn to its end, with the answers to its questions.
func (p program) turn(ctx context.Context, base string, c conversation, show viewer, d *decider) (answer string, code int, err error) {
	said, err := p.post(ctx, base, c, show)
	return p.answers(ctx, base, said, err, show, d)
}

// answers continues with a turn that has come so far, until nobody is asked any more. Answers
// that the gateway does not accept are asked for again.
//
// One turn may ask several things, at once and one after the other; each answer is a request
// of its own, and its stream continues with the text. A refused answer (422) is asked for again
// only if a person gave it, for a flag would give the same one.
func (p program) answers(ctx context.Context, base string, so said, err error, show viewer, d *decider) (answer string, code int, _ error) {
	for err == nil && len(so.asked) > 0 {
		var given *approvalAnswer
		if given, err = d.decide(so.asked[0]); err != nil {
			break
		}
		next, failed := p.post(ctx, base, conversation{Approval: given, User: d.user}, show)
		if d.again(failed) {
			continue
		}
		answer += so.text
		next.asked = next.with(so.asked[1:])
		so, err = next, failed
	}
	return answer + so.text, so.code, err
}

// again says whether an answer was refused that a person may give in another way.
func (d *decider) again(err error) bool {
	var refused *refusal
	if !errors.As(err, &refused) || refused.status != 422 || d.action != "" {
		return false
	}
	fmt.Fprintln(d.out, terminal.Printable(refused.Error()))
	return true
}

// with returns what is asked after an answer: what its stream ends with, and of others that
// were asked before what the stream does not repeat, if the turn still waits.
func (so *said) with(others []*approvalData) []*approvalData {
	if !so.waits {
		return so.asked
	}
	list := so.asked
	for _, q := range others {
		if !slices.ContainsFunc(list, func(other *approvalData) bool { return other.ID == q.ID }) {
			list = append(list, q)
		}
	}
	return list
}
