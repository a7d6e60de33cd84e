// This file says how a kind of nodes appears to a definition. The reader of the file, the compiler
// and the drawing ask the kind of a node; none of them knows one by its name. The kinds themselves
// are the engine's, which also knows how each is carried out.

package graph

import (
	"slices"
	"strings"
)

// Kind has the rules of one type of nodes. A kind is without state: nodes and runs share it.
type Kind interface {
	Name() NodeType
	// Keys are those that such a node may have in the file, besides type and output.
	Keys() []string
	// Bounds are of the timeout in the file, both inclusive.
	Bounds() (least, most string)
	// Default puts the defaults of missing keys into n.
	Default(n *Node)

	// Check returns the faults of a node, such as missing keys; the pointers lead from the node.
	// Its edges are known, and nothing is compiled.
	Check(n *Vertex) []Problem
	// Chooses says that a node takes exactly one of its edges, if need be by the value of
	// its expression. Other nodes take each edge whose condition holds.
	Chooses() bool
	// Asks says that a node is a question to a person.
	Asks() bool
	// Results says that a node's text is its tool's result. Other nodes speak the text of a model.
	Results() bool

	// Draw returns the shape of a node in Mermaid's language, and the label in it below the node's
	// name.
	Draw(n *Node) (left, label, right string)
}

// Plain is what most kinds have in common.
type Plain struct{}

// Bounds implements Kind.
func (Plain) Bounds() (least, most string) { return "1s", "24h" }

// Default implements Kind.
func (Plain) Default(*Node) {}

// Chooses implements Kind.
func (Plain) Chooses() bool { return false }

// Asks implements Kind.
func (Plain) Asks() bool { return false }

// Results implements Kind.
func (Plain) Results() bool { return false }

// Draw implements Kind.
func (Plain) Draw(*Node) (left, label, right string) { return "[", "", "]" }

// Require returns the fault of a key that a node of its kind must have, and has not.
func Require(n *Vertex, key, value string) []Problem {
	if value != "" {
		return nil
	}
	return []Problem{{Pointer: pointerTo("", key), Text: "is required of a node of type " + string(n.Type)}}
}

// noKind is that of a node whose type does not exist. No such node is ever run.
type noKind struct{ Plain }

func (noKind) Name() NodeType { return "" }
func (noKind) Keys() []string { return nil }
func (noKind) Check(*Vertex) []Problem {
	return []Problem{{Pointer: "/type", Text: "there is no such type"}}
}

// kindOf returns the kind of a type, or noKind for an unknown type.
func kindOf(kinds []Kind, t NodeType) Kind {
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name() == t }); i >= 0 {
		return kinds[i]
	}
	return noKind{}
}

// kindNames is the list of all types as the schema has it.
func kindNames(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, `"`+string(k.Name())+`"`)
	}
	return strings.Join(names, ", ")
}
