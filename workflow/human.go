// This file is the kind human: a node that asks a person, and continues with what they decide.
// How runs wait for people is in people.go.

package workflow

import (
	"time"

	"sluice/chat"
	"sluice/config/file"
	"sluice/tool"
)

// humanNode is the type of nodes that ask a person.
const humanNode NodeType = "human"

// What becomes of a person's wait that ran out.
const (
	rejectOnTimeout = "reject"
	failOnTimeout   = "fail"
)

const defaultHumanTimeout = 7 * 24 * time.Hour

type humanKind struct{ plain }

func (humanKind) name() NodeType { return humanNode }

func (humanKind) keys() []string {
	return []string{"timeout", "prompt", "schema", "on_timeout", "approvers"}
}

// bounds are those of the wait.
func (humanKind) bounds() (least, most string) { return "60s", "30d" }

// read knows that without approvers only the owner of the task may answer.
func (humanKind) read(_ *reader, at *file.Node, n *Node) {
	n.Timeout, n.OnTimeout, n.Approvers = defaultHumanTimeout, rejectOnTimeout, []string{"owner"}
	if s := at.Get("schema"); s != nil && s.Sound() {
		if _, _, err := tool.Compile(s.JSON(), tool.Room); err != nil {
			s.Fault("is no JSON Schema of an object that can be used")
		}
	}
}

func (humanKind) check(c *compiler, n *node) { c.require(n, "prompt", n.Prompt) }

func (humanKind) compile(c *compiler, n *node) {
	if n.Prompt != "" {
		n.prompt = c.template(at(n, "prompt"), n.Prompt)
	}
}

// question implements asking. The wait counts from now.
func (humanKind) question(x *execution, n *node) (*Question, error) {
	prompt, err := n.prompt.fill(x.ctx, x.state.view(n))
	if err != nil {
		return nil, inNode(n, err)
	}
	return &Question{Kind: chat.AskHuman, Prompt: prompt, Schema: n.Schema, Expires: time.Now().Add(n.Timeout).UTC()}, nil
}

// begin continues with what the person has decided.
func (humanKind) begin(x *execution, n *node, o *Open, _ bool) { x.decided(n, o) }

func (humanKind) draw(*Node) (left, label, right string) { return "[/", "a person", "/]" }
