// This file is the kind human: a node that asks a person and continues with the decision. How runs
// wait for people is in people.go.

package engine

import (
	"time"

	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
)

// humanNode is the type of nodes that ask a person.
const humanNode graph.NodeType = "human"

// Outcomes of a question that nobody answers in time.
const (
	rejectOnTimeout = "reject"
	failOnTimeout   = "fail"
)

const defaultHumanTimeout = 7 * 24 * time.Hour

// defaultPrompt is the question to a person if the file does not have a prompt.
const defaultPrompt = "Continue?"

type humanKind struct{ graph.Plain }

func (humanKind) Name() graph.NodeType { return humanNode }

func (humanKind) Keys() []string {
	return []string{"timeout", "prompt", "schema", "on_timeout", "approvers"}
}

// Bounds are those of the wait.
func (humanKind) Bounds() (least, most string) { return "60s", "30d" }

// Default knows that without approvers only the owner of the task may answer.
func (humanKind) Default(n *graph.Node) {
	n.Timeout, n.OnTimeout, n.Approvers = defaultHumanTimeout, rejectOnTimeout, []string{"owner"}
	n.Prompt = defaultPrompt
}

func (humanKind) Check(n *graph.Vertex) []graph.Problem { return graph.Require(n, "prompt", n.Prompt) }
func (humanKind) Asks() bool                            { return true }

// makeQuestion implements asking. The wait counts from now.
func (humanKind) makeQuestion(x *execution, n *graph.Vertex) (*Question, error) {
	prompt, err := n.FillPrompt(x.ctx, x.state.viewOf(n))
	if err != nil {
		return nil, err
	}
	return &Question{Kind: chat.AskHuman, Prompt: prompt, Schema: n.Schema, Expires: time.Now().Add(n.Timeout).UTC()}, nil
}

// beginNode continues with the person's decision.
func (humanKind) beginNode(x *execution, n *graph.Vertex, o *Open, _ bool) { x.continueDecided(n, o) }

func (humanKind) Draw(*graph.Node) (left, label, right string) { return "[/", "a person", "/]" }
