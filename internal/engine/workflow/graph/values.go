// This file has the values of a node in a run: those of its expressions, and the edges that are
// followed. A View is all that it knows of the run.

package graph

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"sluice/internal/base/fault"
)

// Fields of the state that a node may replace.
const (
	FieldRouting   = "routing_key"
	FieldAction    = "next_action"
	FieldMetadata  = "metadata"
	metadataPrefix = "metadata."
)

// Wrote is a value that a node put into a field.
type Wrote struct {
	Field string `json:"field"`
	Value any    `json:"value"`
}

// Fields are the fields of the state. The zero value is that of a run without written fields.
type Fields struct {
	Action, Routing string
	Metadata        map[string]any
}

// Write applies one assignment. metadata replaces the whole object, metadata.KEY one
// member. The object is copied, since the value belongs to the run; a member is put into the
// object as it is.
func (f *Fields) Write(w Wrote) {
	switch w.Field {
	case FieldRouting:
		f.Routing, _ = w.Value.(string)
	case FieldAction:
		f.Action, _ = w.Value.(string)
	case FieldMetadata:
		object, _ := w.Value.(map[string]any)
		if f.Metadata = maps.Clone(object); f.Metadata == nil {
			f.Metadata = map[string]any{}
		}
	default:
		f.Metadata[strings.TrimPrefix(w.Field, metadataPrefix)] = w.Value
	}
}

// Value returns the value of the node's expression; nil without an expression.
func (n *Vertex) Value(ctx context.Context, v View) (any, error) {
	if n.expression == nil {
		return nil, nil
	}
	value, err := n.expression.eval(ctx, v)
	return value, inNode(n, err)
}

// FillPrompt returns the question to a person.
func (n *Vertex) FillPrompt(ctx context.Context, v View) (string, error) {
	text, err := n.prompt.fillText(ctx, v)
	return text, inNode(n, err)
}

// FillInput returns the input of the node's agent; the node must have an Input.
func (n *Vertex) FillInput(ctx context.Context, v View) (string, error) {
	text, err := n.input.fillText(ctx, v)
	return text, inNode(n, err)
}

// Argument returns the value of one of Arguments, whose number it is.
func (n *Vertex) Argument(ctx context.Context, v View, i int) (any, error) {
	e := n.arguments[i]
	if e == nil {
		return json.RawMessage(n.Arguments[i].Value), nil
	}
	value, err := e.eval(ctx, v)
	return value, inNode(n, err)
}

// Enough reports whether Repeat.Until holds.
func (n *Vertex) Enough(ctx context.Context, v View) (bool, error) {
	done, err := n.until.testCondition(ctx, v)
	return done, inNode(n, err)
}

// Assign returns the values of the node's output.
//
// They are evaluated one by one against the fields that the node's ancestors wrote: an assignment
// does not see the previous one in the same node.
func (n *Vertex) Assign(ctx context.Context, v View) (list []Wrote, err error) {
	for i, o := range n.Output {
		value, err := n.output[i].eval(ctx, v)
		if err != nil {
			return nil, inNode(n, err)
		}
		w := Wrote{o.Field, value}
		switch o.Field {
		case FieldRouting, FieldAction:
			if w.Value, err = shortText(value); err != nil {
				return nil, inNode(n, &expressionError{o.Expression, err})
			}
		case FieldMetadata:
			if _, ok := value.(map[string]any); !ok {
				return nil, inNode(n, &expressionError{o.Expression, errors.New("metadata must be an object")})
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// maxWord is the longest routing key or next action, in bytes.
const maxWord = 1024

// shortText makes a short text of a value.
//
// Null is the empty text, so that an expression can take a key back. Numbers and booleans
// become their JSON.
func shortText(value any) (string, error) {
	switch value.(type) {
	case nil:
		return "", nil
	case map[string]any, []any:
		return "", errors.New("the value must be a text")
	}
	text := Text(value)
	if len(text) > maxWord {
		return "", errors.New("the text is longer than 1 KiB")
	}
	return text, nil
}

// Follow returns the numbers of the edges that are followed from the node, whose expression
// has this value.
//
// Several edges of one node can be taken: that begins parallel branches. A condition takes
// exactly one. An edge without a condition is always taken.
func (n *Vertex) Follow(ctx context.Context, v View, value any) (followed []int, err error) {
	if n.Kind.Chooses() {
		e, err := n.chooseEdge(ctx, v, value)
		if err != nil {
			return nil, inNode(n, err)
		}
		return []int{e.number}, nil
	}
	for _, e := range n.out {
		yes := true
		if e.condition != nil {
			if yes, err = e.condition.testCondition(ctx, v); err != nil {
				return nil, inNode(n, err)
			}
		}
		if yes {
			followed = append(followed, e.number)
		}
	}
	return followed, nil
}

// chooseEdge returns the edge that a condition takes.
//
// Edges are tried in the order of the file and the first that fits wins; the default counts
// last, wherever it stands. No edge that fits is a fault of the run (workflow_no_branch)
// and not a quiet end.
func (n *Vertex) chooseEdge(ctx context.Context, v View, value any) (*edge, error) {
	var otherwise *edge
	for _, e := range n.out {
		if !e.isMatch() && e.condition == nil {
			otherwise = e
			continue
		}
		if yes, err := e.isTaken(ctx, v, value); yes || err != nil {
			return e, err
		}
	}
	if otherwise == nil {
		return nil, &fault.Error{Type: fault.WorkflowNoBranch, Message: "No edge of condition " + n.ID + " fits"}
	}
	return otherwise, nil
}

// isMatch reports whether the edge is that of a value in a map.
func (e *edge) isMatch() bool { return e.mapped && !e.Default }

// isTaken reports whether an edge that is not the default is taken.
func (e *edge) isTaken(ctx context.Context, v View, value any) (bool, error) {
	if e.isMatch() {
		return Text(value) == e.Match, nil
	}
	return e.condition.testCondition(ctx, v)
}

// Accepts reports whether an edge takes the rejection that v sees: one whose condition looks at
// the decision and holds, or one that leads to a condition that does. An expression that
// fails is the error.
func (n *Vertex) Accepts(ctx context.Context, v View) (bool, error) {
	for _, e := range n.out {
		if yes, err := e.acceptsRejection(ctx, v); yes || err != nil {
			return yes, inNode(n, err)
		}
	}
	return false, nil
}

func (e *edge) acceptsRejection(ctx context.Context, v View) (bool, error) {
	switch {
	case e.condition == nil:
		return e.to.Kind.Chooses() && e.to.looksAtDecision(), nil
	case !e.condition.decision:
		return false, nil
	}
	return e.condition.testCondition(ctx, v)
}

// looksAtDecision says of a condition whether its expression or one of its edges' uses the
// variable decision.
func (n *Vertex) looksAtDecision() bool {
	return n.expression != nil && n.expression.decision ||
		slices.ContainsFunc(n.out, func(e *edge) bool { return e.condition != nil && e.condition.decision })
}
