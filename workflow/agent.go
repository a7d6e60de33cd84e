// This file is what a worker does for a node of type agent: it words the request, drives
// the agent's session step by step, keeps where the session stands after each step, and
// asks the critic of a node that repeats itself.
//
// It stands on Agents and Asker (needs.go). What the agent emits comes back through
// worker.Emit, and whether there is another round is decided in worker.once.

package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/stream"
)

// agent makes one round of an agent node.
//
// It returns a *waiting error if the agent's calls wait for a person, or if the outcome of
// a call is not known. A step is sealed into messages before it is kept, so that what the
// journal has never holds half a step. The figures count also where the round failed: the
// model was paid.
func (k *worker) agent() (err error) {
	req, err := k.request()
	if err != nil {
		return err
	}
	ctx, span := k.agentSpan()
	defer func() { k.endAgent(span, err) }()
	s, err := k.x.runner.cfg.Agents.Begin(ctx, k.n.Agent, &req, k)
	if err != nil {
		return err
	}
	for err == nil && !s.Over() {
		if q := s.Waits(); q != nil {
			err = k.wait(s, q)
			break
		}
		err = s.Step(ctx, k)
		if q := k.asksOutcome(); q != nil {
			err = q
			break
		}
		k.leave(s.Waits())
		if k.seal(); err == nil {
			err = k.journal(s)
		}
	}
	took := s.Result()
	k.figures(took)
	span.Usage(took.Usage.InputTokens, took.Usage.OutputTokens, took.Usage.ThinkingTokens)
	if err != nil {
		return err
	}
	k.add(Message{Role: roleAssistant, Content: k.unsealed()})
	return nil
}

// figures adds what a session took.
func (k *worker) figures(r stream.Result) {
	k.took.Usage.Add(r.Usage)
	k.took.Model = append(k.took.Model, r.Model...)
	k.took.Tools = append(k.took.Tools, r.Tools...)
	k.took.Models = append(k.took.Models, r.Models...)
	k.took.Keyed = k.took.Keyed || r.Keyed
	k.took.Reason = r.Reason
}

// request returns what the agent is asked in this round. A node's own input is one of its
// messages.
//
// There are three cases. A session that was kept goes on from its State and with the text
// that was out by then. A first round asks what the node's input says, or the run's own. A
// later round shows the agent its last draft as its own words, and the critic's feedback as
// the user's next message.
//
// A template that comes to nothing but spaces is the node's failure: a model that is asked
// nothing invents something.
func (k *worker) request() (chat.Request, error) {
	req := k.seen.Header.Asked.request()
	if e := k.open.Entry; e != nil && e.Round == k.round && e.Session != nil {
		req.Resumed = &chat.Resumed{By: chat.PausedAgent, State: e.Session, Decisions: k.decisions()}
		k.messages, k.text, k.size = slices.Clone(e.Messages), []string{e.Text}, len(e.Text)
		k.open.Entry, k.base = nil, e
		k.remade(e.Made)
		return req, nil
	}
	input := k.seen.Header.Asked.Input
	if k.n.input != nil {
		var err error
		if input, err = k.n.input.fill(k.ctx, k.before()); err != nil {
			return req, k.end(inNode(k.n, err))
		}
		if strings.TrimSpace(input) == "" {
			return req, fmt.Errorf("the input of node %s is empty", k.n.ID)
		}
		k.add(Message{Role: roleUser, Content: input})
	}
	req.History = append(req.History, k.history()...)
	req.Input = input
	if k.last != "" {
		req.History = append(req.History, said(chat.RoleUser, input), said(chat.RoleModel, k.last))
		if k.feedback != "" {
			req.Input = k.feedback
		}
	}
	req.History = merged(req.History)
	return req, nil
}

// decisions are those on the calls that waited, by the agent's own ids.
func (k *worker) decisions() (list []chat.Decision) {
	for _, d := range k.open.Calls {
		_, d.CallID, _ = strings.Cut(d.CallID, "-") // it may have the prefix of an earlier attempt
		list = append(list, d)
	}
	return list
}

// history returns what the node's ancestors have said, as its agent is shown it: results
// of tools in words, as the calls are not the agent's own.
//
// Results of calls go to the calls in their order, as a Message does not say whose result
// it is. What the system said, such as the failure of a node, is shown as the model's
// words, as results are.
func (k *worker) history() (list []chat.Message) {
	messages := k.seen.view(k.n).said(nil)
	if len(messages) == 1 {
		return nil // the request alone, which is the input
	}
	list = append(list, said(chat.RoleUser, messages[0].Content))
	var open []ToolCall
	for _, m := range messages[1:] {
		switch m.Role {
		case roleAssistant:
			open = m.ToolCalls
			if strings.TrimSpace(m.Content) != "" {
				list = append(list, said(chat.RoleModel, m.Content))
			}
		case roleTool:
			name := "a tool"
			if len(open) > 0 {
				name, open = open[0].Tool, open[1:]
			}
			list = append(list, said(chat.RoleModel, "Result of "+name+":\n"+m.Content))
		case roleSystem:
			list = append(list, said(chat.RoleModel, m.Content))
		default:
			list = append(list, said(chat.RoleUser, m.Content))
		}
	}
	return list
}

// said is a message of one text.
func said(role chat.Role, text string) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Text: text}}}
}

// merged joins neighbours of one role, as models want them to take turns.
//
// Providers refuse, or silently mend, two messages of one role in a row. The texts are
// joined by an empty line.
func merged(list []chat.Message) (out []chat.Message) {
	for _, m := range list {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1] = said(m.Role, out[n-1].Parts[0].Text+"\n\n"+m.Parts[0].Text)
			continue
		}
		out = append(out, m)
	}
	return out
}

// entry returns where the session is.
//
// The error is the session's own. The lists are copies: the entry may be written while the
// next step goes on.
func (k *worker) entry(s Session) (*Entry, error) {
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	e := &Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Session: state, Text: strings.Join(k.text, ""),
		Messages: slices.Clone(k.messages), Made: k.made(), Draft: k.last, Feedback: k.feedback}
	if k.x.hides(k.n) {
		if state, err = s.Silent(); err != nil {
			return nil, err
		}
		e.hide(state)
	}
	return e, nil
}

// journal keeps where the session is. What is too long for that is begun again by who
// goes on with it.
//
// An entry longer than maxJournal is not written, and no error: only a process that takes
// the run over notices, by a round that begins at its start. A write that fails ends the
// run, since another process may own it by now.
func (k *worker) journal(s Session) error {
	if k.x.records == nil || s.Over() {
		return nil
	}
	e, err := k.entry(s)
	if err != nil {
		return err
	}
	k.base = e
	e = e.kept()
	if text, err := json.Marshal(e); err != nil || len(text) > maxJournal {
		return nil
	}
	if err := k.x.records.Journal(k.ctx, e); err != nil {
		return k.end(err)
	}
	return nil
}

// wait leaves the node until a person has decided about its calls.
//
// It returns a *waiting error, which the goroutine of the run puts into the frontier. The
// ids of the calls become those of their events, by which clients know them; decisions
// undoes that.
func (k *worker) wait(s Session, asked *chat.Question) error {
	e, err := k.entry(s)
	if err != nil {
		return err
	}
	q := &Question{Kind: asked.Kind, Prompt: asked.Prompt}
	for _, c := range asked.Calls {
		c.ID, c.AgentID = k.callID(c.ID), cmp.Or(c.AgentID, k.n.Agent)
		q.Calls = append(q.Calls, c)
	}
	return &waiting{q, e}
}

// judgementSchema is what a critic answers.
const judgementSchema = `{"type":"object","additionalProperties":false,"required":["score","passed","feedback"],"properties":{` +
	`"score":{"type":"number","minimum":0,"maximum":10,"description":"How good the draft is"},` +
	`"passed":{"type":"boolean","description":"Whether the draft can be sent as it is"},` +
	`"feedback":{"type":"string","description":"What to change; empty if nothing is"}}}`

// judge asks the critic about a draft.
//
// The judgement is kept as a plain value for the expression of until, whatever its members
// are; feedback is used only if it is a text. An answer that does not fit the schema is the
// Asker's error and the node's failure. Without an Asker the run ends: the file asks for a
// critic that there cannot be.
func (k *worker) judge(draft string) error {
	if k.x.runner.cfg.Asker == nil {
		return k.end(errors.New("there is nobody to ask critics"))
	}
	task := "Judge the draft below, which answers this request. Give a score from 0 to 10, say whether the draft can be sent as it is, " +
		"and write what must change.\n\nRequest:\n" + k.seen.Header.Asked.Input + "\n\nDraft:\n" + draft
	got, err := k.x.runner.cfg.Asker.Ask(k.ctx, k.n.Repeat.Critic, task, jsontext.Value(judgementSchema))
	k.took.Usage.Add(got.Usage)
	if err != nil {
		return err
	}
	k.critic = valueOf(got.JSON)
	if object, ok := k.critic.(map[string]any); ok {
		k.feedback, _ = object["feedback"].(string)
	}
	return nil
}
