package file

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// FromJSON makes a tree of valid JSON. It is for a section that may also be a file of its own, with
// other rules. No variables are put in (see Node.Expand), and no node has a place.
func FromJSON(v jsontext.Value) *Node { return new(document).fromJSON(v, nil, "") }

// fromJSON makes the node of a value.
func (d *document) fromJSON(v jsontext.Value, parent *Node, name string) *Node {
	n := &Node{document: d, parent: parent, name: name}
	switch v.Kind() {
	case 'n':
	case 't', 'f':
		n.kind, n.text = boolKind, string(v)
	case '0':
		n.kind, n.text = numberKind, string(v)
	case '"':
		text, _ := jsontext.AppendUnquote(nil, v)
		n.kind, n.text = stringKind, string(text)
	default:
		n.readMembers(v)
	}
	return n
}

// readMembers makes the node that of a list or an object, with all that is in it.
func (n *Node) readMembers(v jsontext.Value) {
	n.kind = listKind
	if v.Kind() == '{' {
		n.kind = objectKind
	}
	in := jsontext.NewDecoder(bytes.NewReader(v))
	in.ReadToken() // the bracket
	for k := in.PeekKind(); k != '}' && k != ']'; k = in.PeekKind() {
		name := strconv.Itoa(len(n.members))
		if n.kind == objectKind {
			token, _ := in.ReadToken()
			name = token.String()
		}
		member, _ := in.ReadValue()
		n.members = append(n.members, n.document.fromJSON(member, n, name))
	}
}

// Messages returns the faults of a tree from FromJSON, in the order of their reports, each with its
// pointer.
func (n *Node) Messages() (all []string) {
	for _, f := range n.document.faults {
		all = append(all, f.pointedText())
	}
	return all
}

// Expand fills in the variables of a text from FromJSON. with returns the text with the values,
// which it gets from variable, or a fault. An unset variable is a fault.
func (n *Node) Expand(lookup func(name string) (string, bool), with func(text string, variable func(name string) string) (value, fault string)) {
	value, fault := with(n.text, func(name string) string {
		u := use{name: name}
		if u.value, u.set = lookup(name); !u.set {
			n.Fault("the variable " + name + " is not set")
		}
		n.used = append(n.used, u)
		return u.value
	})
	if fault != "" {
		n.Fault(fault)
	}
	n.text = value
}

// Kind returns the kind of the value in JSON, or 0 if it is absent or has a fault.
func (n *Node) Kind() jsontext.Kind {
	if n == nil || n.faulty {
		return 0
	}
	if n.kind == boolKind {
		return jsontext.Kind(n.text[0])
	}
	return [...]jsontext.Kind{nullKind: 'n', numberKind: '0', stringKind: '"', listKind: '[', objectKind: '{'}[n.kind]
}
