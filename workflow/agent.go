package workflow

import (
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
func (k *worker) agent() error {
	req, err := k.request()
	if err != nil {
		return err
	}
	s, err := k.x.runner.cfg.Agents.Begin(k.ctx, k.n.Agent, &req, k)
	if err != nil {
		return err
	}
	for err == nil && !s.Over() {
		if q := s.Waits(); q != nil {
			err = k.wait(s, q)
			break
		}
		err = s.Step(k.ctx, k)
		if q := k.asksOutcome(); q != nil {
			err = q
			break
		}
		if k.seal(); err == nil {
			err = k.journal(s)
		}
	}
	k.figures(s.Result())
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
func (k *worker) request() (chat.Request, error) {
	req := k.seen.Header.Asked.request()
	if e := k.open.Entry; e != nil && e.Round == k.round && e.Session != nil {
		req.Resumed = &chat.Resumed{By: chat.PausedAgent, State: e.Session, Decisions: k.decisions()}
		k.messages, k.text, k.size = slices.Clone(e.Messages), []string{e.Text}, len(e.Text)
		k.open.Entry, k.base = nil, e
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

func said(role chat.Role, text string) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Text: text}}}
}

// merged joins neighbours of one role, as models want them to take turns.
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
func (k *worker) entry(s Session) (*Entry, error) {
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	return &Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Session: state, Text: strings.Join(k.text, ""),
		Messages: slices.Clone(k.messages), Draft: k.last, Feedback: k.feedback}, nil
}

// journal keeps where the session is. What is too long for that is begun again by who
// goes on with it.
func (k *worker) journal(s Session) error {
	if k.x.records == nil || s.Over() {
		return nil
	}
	e, err := k.entry(s)
	if err != nil {
		return err
	}
	k.base = e
	if text, err := json.Marshal(e); err != nil || len(text) > maxJournal {
		return nil
	}
	if err := k.x.records.Journal(k.ctx, e); err != nil {
		return k.end(err)
	}
	return nil
}

// wait leaves the node until a person has decided about its calls.
func (k *worker) wait(s Session, asked *chat.Question) error {
	e, err := k.entry(s)
	if err != nil {
		return err
	}
	q := &Question{Kind: asked.Kind, Prompt: asked.Prompt}
	for _, c := range asked.Calls {
		c.ID, c.AgentID = k.callID(c.ID), k.n.Agent
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
