package file

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
)

// kind is the type of a node in JSON's terms: YAML's own types have become one of these.
type kind int

const (
	nullKind kind = iota
	boolKind
	numberKind
	stringKind
	listKind
	objectKind
)

// Node is one value of the file. For a value that is absent (a nil Node), of another type, or at
// fault, its accessors return false. Those that return a node or a sequence return nil or an empty
// one.
type Node struct {
	document *document
	parent   *Node
	name     string // of the member, or the index in a list
	place           // where the value begins
	key      place

	kind    kind
	text    string  // of a string; of a number and a boolean as JSON
	members []*Node // of an object or list
	used    []use
	faulty  bool // has a fault itself
}

// jsonPointer is the node's JSON pointer in the document.
func (n *Node) jsonPointer() string {
	if n.parent == nil {
		return ""
	}
	return string(jsontext.Pointer(n.parent.jsonPointer()).AppendToken(n.name))
}

// Fault reports that the value is not accepted.
func (n *Node) Fault(text string) { n.faultAt(n.place, text) }

// FaultKey reports that the key must not be there, or not be so.
func (n *Node) FaultKey(text string) { n.faultAt(n.key, text) }

// faultAt reports a fault at a place of its own, such as a key's, and marks the
// node, so that its value is not used.
func (n *Node) faultAt(at place, text string) {
	n.faulty = true
	n.document.addFault(at, n.jsonPointer(), text)
}

// FaultMissing reports that a member of the object is not there.
func (n *Node) FaultMissing(name, text string) {
	n.faulty = true
	n.document.addFault(n.place, string(jsontext.Pointer(n.jsonPointer()).AppendToken(name)), text)
}

// Warn reports an accepted value that people should check.
func (n *Node) Warn(text string) { n.document.addWarning(n.place, n.jsonPointer(), text) }

// Sound reports whether neither the value nor anything in it has a fault. No value is sound.
func (n *Node) Sound() bool {
	if n == nil {
		return true
	}
	if n.faulty {
		return false
	}
	for _, m := range n.members {
		if !m.Sound() {
			return false
		}
	}
	return true
}

// Name returns the key of the value, or its index in a list.
func (n *Node) Name() string { return n.name }

// Get returns a member of an object, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil || n.kind != objectKind {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// Section returns the value of a key at the top of the file, or nil. It works on nil.
func (n *Node) Section(name string) *Node {
	if n == nil {
		return nil
	}
	root := n
	for root.parent != nil {
		root = root.parent
	}
	return root.Get(name)
}

// Has reports whether an object has a member, whatever its value is.
func (n *Node) Has(name string) bool { return n.Get(name) != nil }

// Members yields the members of an object, or the items of a list, in their order.
func (n *Node) Members() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if n == nil {
			return
		}
		for _, m := range n.members {
			if !yield(m) {
				return
			}
		}
	}
}

// Names returns the names of the members.
func (n *Node) Names() (all []string) {
	for m := range n.Members() {
		all = append(all, m.Name())
	}
	return all
}

// Text returns a string, its variables put in.
func (n *Node) Text() (string, bool) {
	if !n.hasKind(stringKind) {
		return "", false
	}
	return n.text, true
}

// Texts returns the strings of a list. The schema has reported other values.
func (n *Node) Texts() (all []string) {
	for m := range n.Members() {
		if s, ok := m.Text(); ok {
			all = append(all, s)
		}
	}
	return all
}

// Bool returns a boolean.
func (n *Node) Bool() (value, ok bool) {
	if !n.hasKind(boolKind) {
		return false, false
	}
	return n.text == "true", true
}

// Int returns a whole number.
func (n *Node) Int() (int, bool) {
	f, ok := n.Float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}

// Float returns a number.
func (n *Node) Float() (float64, bool) {
	if !n.hasKind(numberKind) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	return f, err == nil
}

// hasKind reports whether a node is there, of a kind, and without a fault. It works on nil, as all
// questions to a Node do.
func (n *Node) hasKind(k kind) bool { return n != nil && n.kind == k && !n.faulty }

// Variables yields the names of the variables that stand in the string, with their
// values as far as the environment has them.
func (n *Node) Variables() iter.Seq2[string, config.Secret] {
	return func(yield func(string, config.Secret) bool) {
		if n == nil {
			return
		}
		for _, u := range n.used {
			value := u.value
			if !u.set {
				value = ""
			}
			if !yield(u.name, config.Secret(value)) {
				return
			}
		}
	}
}

// Environment returns the value of a variable that the file need not name.
func (n *Node) Environment(name string) (config.Secret, bool) {
	value, ok := n.document.Lookup(name)
	return config.Secret(value), ok
}

// File returns the name of the file.
func (n *Node) File() string { return n.document.name }

// JSON returns the value as JSON.
func (n *Node) JSON() jsontext.Value { return n.appendJSON(nil) }

// appendJSON renders the node with variables filled in.
func (n *Node) appendJSON(b []byte) []byte {
	switch n.kind {
	case nullKind:
		return append(b, "null"...)
	case boolKind, numberKind:
		return append(b, n.text...)
	case stringKind:
		b, _ = jsontext.AppendQuote(b, n.text) // the file is UTF-8, and variables are made so
		return b
	}
	if n.kind == listKind {
		return append(n.appendMembers(append(b, '[')), ']')
	}
	return append(n.appendMembers(append(b, '{')), '}')
}

// appendMembers renders the text between the brackets.
func (n *Node) appendMembers(b []byte) []byte {
	for i, m := range n.members {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == objectKind {
			b, _ = jsontext.AppendQuote(b, m.name)
			b = append(b, ':')
		}
		b = m.appendJSON(b)
	}
	return b
}

// plainValue returns the value in the form of the schema's validator.
func (n *Node) plainValue() any {
	switch n.kind {
	case boolKind:
		return n.text == "true"
	case numberKind:
		return json.Number(n.text)
	case stringKind:
		return n.text
	case listKind:
		list := make([]any, len(n.members))
		for i, m := range n.members {
			list[i] = m.plainValue()
		}
		return list
	case objectKind:
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			object[m.name] = m.plainValue()
		}
		return object
	}
	return nil
}

// nodeAt returns the node of a path, or nil.
func (n *Node) nodeAt(path []string) *Node {
	for _, token := range path {
		var next *Node
		for m := range n.Members() {
			if m.name == token {
				next = m
				break
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}
