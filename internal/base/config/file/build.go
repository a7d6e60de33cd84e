package file

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// builder makes our tree of the parser's tree. It resolves aliases, reads scalars by YAML 1.2's
// core schema, and fills variables in.
type builder struct {
	*document
	anchors map[string]ast.Node
	open    map[string]bool // anchors that the node at hand lies in
	alias   int             // how many aliases the node at hand lies in
	aliased int             // nodes made of aliases
}

// makeNode makes the node of y. key is the place of its key or, in a list, its own.
func (b *builder) makeNode(y ast.Node, parent *Node, name string, key place, depth int) *Node {
	n := &Node{document: b.document, parent: parent, name: name, key: key, place: key, kind: nullKind}
	if b.alias > 0 {
		if b.aliased++; b.aliased > maxAliased {
			n.faulty = true
			return n
		}
	}
	if depth > maxDepth {
		n.place = startOf(y, key)
		b.tooDeep(n.place, n.jsonPointer())
		n.faulty = true
		return n
	}
	if y == nil {
		return n
	}
	n.place = startOf(y, key)
	switch y := y.(type) {
	case *ast.AnchorNode:
		return b.readAnchor(y, n, depth)
	case *ast.AliasNode:
		return b.resolveAlias(y, n, depth)
	case *ast.MappingNode:
		n.kind = objectKind
		for _, entry := range y.Values {
			b.addMember(n, entry, depth)
		}
	case *ast.MappingValueNode:
		n.kind = objectKind
		b.addMember(n, y, depth)
	case *ast.SequenceNode:
		n.kind = listKind
		for i, item := range y.Values {
			child := b.makeNode(item, n, strconv.Itoa(i), startOf(item, n.place), depth+1)
			n.members = append(n.members, child)
		}
	case *ast.LiteralNode:
		b.setString(n, y.Value.Value)
	default:
		b.readScalar(n, y)
	}
	return n
}

// readScalar reads a value that is written on its own.
func (b *builder) readScalar(n *Node, y ast.Node) {
	tk := y.GetToken()
	switch {
	case tk == nil:
		n.Fault(notYAML)
	case tk.Type == token.SingleQuoteType, tk.Type == token.DoubleQuoteType:
		b.setString(n, tk.Value)
	case y.Type() == ast.NullType && tk.Type == token.ImplicitNullType:
		n.place = n.key // an implicit null has no place of its own
	case y.Type() == ast.StringType:
		b.readPlain(n, y.(*ast.StringNode).Value)
	case tk.Type == token.MappingEndType, tk.Type == token.SequenceEndType:
		n.Fault(notYAML)
	default:
		b.readPlain(n, tk.Value)
	}
}

// readPlain reads a scalar without quotes.
func (b *builder) readPlain(n *Node, text string) {
	var fault string
	n.kind, n.text, fault = resolveScalar(text)
	switch {
	case fault != "":
		n.Fault(fault)
	case strings.HasPrefix(text, "}"): // the parser takes it for a text, unlike ]
		n.Fault(notYAML + ": this } closes nothing")
	case n.kind == stringKind:
		b.setString(n, text)
	}
}

// setString makes n a string.
func (b *builder) setString(n *Node, text string) {
	n.kind = stringKind
	if n.text = text; b.isLiteral {
		return
	}
	value, used, fault := expandVariables(text, b.Lookup)
	if fault != "" {
		n.Fault(fault)
	}
	n.text, n.used = value, used
}

// readAnchor reads an anchored value. It marks the anchor as open meanwhile, because an alias to it
// from within would never end.
func (b *builder) readAnchor(y *ast.AnchorNode, n *Node, depth int) *Node {
	name := y.Name.GetToken().Value
	b.anchors[name] = y.Value
	was := b.open[name]
	b.open[name] = true
	made := b.makeNode(y.Value, n.parent, n.name, n.key, depth)
	b.open[name] = was
	return made
}

// resolveAlias makes the node that an alias stands for. Its places are those of the anchor.
func (b *builder) resolveAlias(y *ast.AliasNode, n *Node, depth int) *Node {
	name := y.Value.GetToken().Value
	target, known := b.anchors[name]
	switch {
	case !known:
		n.Fault("there is no such anchor before it")
		return n
	case b.open[name]:
		n.Fault("stands for a value that it is part of")
		return n
	}
	// The value may hold aliases of the same name, and another anchor of this name may follow. Such
	// aliases get the latest anchor, which is an anchor of this file as well.
	b.open[name] = true
	b.alias++
	before := b.aliased <= maxAliased
	made := b.makeNode(target, n.parent, n.name, n.key, depth)
	if b.alias--; b.alias == 0 && before && b.aliased > maxAliased {
		b.addFault(n.place, n.jsonPointer(), "the file's aliases stand for more than 10,000 values")
	}
	b.open[name] = false
	return made
}

// addMember adds one entry of an object.
func (b *builder) addMember(n *Node, entry *ast.MappingValueNode, depth int) {
	key := startOf(entry.Key, n.place)
	name, ok := keyName(entry.Key)
	child := b.makeNode(entry.Value, n, name, key, depth+1)
	switch {
	case entry.Key.IsMergeKey():
		child.FaultKey("merge keys are not supported")
	case !ok:
		child.FaultKey("a key must be a text")
	case n.Get(name) != nil:
		child.FaultKey("is given twice")
	default:
		n.members = append(n.members, child)
	}
}

// keyName returns the text of a key.
func keyName(y ast.MapKeyNode) (name string, ok bool) {
	tk := y.GetToken()
	switch y.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.MergeKeyNode:
		return tk.Value, true
	case *ast.NullNode:
		return tk.Value, tk.Type != token.ImplicitNullType
	}
	return "", false
}

// startOf returns the place where y begins, or otherwise if y has no place.
func startOf(y ast.Node, otherwise place) place {
	switch y := y.(type) {
	case nil:
		return otherwise
	case *ast.MappingNode:
		if !y.IsFlowStyle && len(y.Values) > 0 {
			return startOf(y.Values[0].Key, otherwise)
		}
		return placeOf(y.Start)
	case *ast.MappingValueNode:
		return startOf(y.Key, otherwise)
	case *ast.LiteralNode:
		return placeOf(y.Start)
	case *ast.NullNode:
		if y.GetToken().Type == token.ImplicitNullType {
			return otherwise
		}
	case *ast.AnchorNode:
		return startOf(y.Value, otherwise)
	}
	return placeOf(y.GetToken())
}
