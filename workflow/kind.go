// This file says what a kind of node is. The reader of the file, the compiler, the engine
// and the drawing ask the kind of a node; none of them knows one by its name. A new kind is
// a file like condition.go, and a line in kinds.

package workflow

import (
	"slices"
	"strings"

	"sluice/config/file"
)

// kinds are all kinds, in the order in which the schema of the file lists them.
var kinds = []kind{
	agentKind{},
	toolKind{},
	conditionKind{},
	humanKind{},
}

// NodeType is the name of a kind, in the file and in stored runs.
type NodeType string

// kind is what nodes of one type are and do. A kind has no state: nodes and runs share it.
type kind interface {
	name() NodeType
	// keys are those that such a node may have in the file, besides type and output.
	keys() []string
	// bounds are of the timeout in the file, both inclusive.
	bounds() (least, most string)
	// read puts defaults into n, and what the tags of Node do not say how to read.
	read(r *reader, at *file.Node, n *Node)

	// check reports what a node lacks. Its edges are known, and nothing is compiled.
	check(c *compiler, n *node)
	// compile makes expressions and templates of the texts of a node.
	compile(c *compiler, n *node)
	// chooses says that a node takes exactly one of its edges, if need be by the value of
	// its expression. Other nodes take each edge whose condition holds.
	chooses() bool

	// begin carries a node out, and reports its end to x. It is called on the goroutine of
	// the run. alone: no other node works, or can begin.
	begin(x *execution, n *node, o *Open, alone bool)
	// results says that a node says what its tool returns. Other nodes say what a model does.
	results() bool

	// draw returns the shape of a node in Mermaid's language, and what stands in it below
	// the node's name.
	draw(n *Node) (left, label, right string)
}

// plain is what most kinds have in common.
type plain struct{}

func (plain) bounds() (least, most string)           { return "1s", "24h" }
func (plain) read(*reader, *file.Node, *Node)        {}
func (plain) compile(*compiler, *node)               {}
func (plain) chooses() bool                          { return false }
func (plain) results() bool                          { return false }
func (plain) draw(*Node) (left, label, right string) { return "[", "", "]" }

// noKind is that of a node whose type does not exist. No such node is ever run.
type noKind struct{ plain }

func (noKind) name() NodeType                       { return "" }
func (noKind) keys() []string                       { return nil }
func (noKind) check(c *compiler, n *node)           { c.problem(at(n, "type"), "there is no such type") }
func (noKind) begin(*execution, *node, *Open, bool) {}

// kindOf returns the kind of a type; noKind if there is none.
func kindOf(t NodeType) kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name() == t }); i >= 0 {
		return kinds[i]
	}
	return noKind{}
}

// asking is a kind whose nodes are a question to a person. Such a node begins when the
// person has decided.
type asking interface {
	// question asks what the node's texts say, at this place of the run.
	question(x *execution, n *node) (*Question, error)
}

// asks says whether nodes of a type are questions to people.
func (t NodeType) asks() bool {
	_, ok := kindOf(t).(asking)
	return ok
}

// says says whether a message is part of what a node says.
func (n *node) says(m *Message) bool {
	return m.Node == n.ID && (m.Role == roleAssistant || m.Role == roleTool && n.kind.results())
}

// kindNames is the list of all types as the schema has it.
func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, `"`+string(k.name())+`"`)
	}
	return strings.Join(names, ", ")
}

// require reports a key that a node of its kind must have, and has not.
func (c *compiler) require(n *node, key, value string) {
	if value == "" {
		c.problem(at(n, key), "is required of a node of type %s", n.Type)
	}
}
