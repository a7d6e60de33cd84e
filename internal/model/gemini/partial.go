package gemini

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// maxArgDepth limits how deep a path of a partial argument goes.
const maxArgDepth = 32

// argOverhead is the cost of a piece beyond its text, in bytes.
const argOverhead = 64

// partialCall collects a functionCall that comes in pieces (partialArgs and
// willContinue, as Vertex AI sends on demand).
type partialCall struct {
	id, name, signature string
	args                jsontext.Value // if they came whole
	root                argNode
	err                 error // why a piece could not be used
}

// argNode is a value under construction.
type argNode struct {
	kind  jsontext.Kind // '{', '[', '"' or '0' for any other literal; 0: nothing yet
	names []string      // of an object's members, one for each of kids
	kids  []*argNode
	at    map[string]int // where each name is; nil while there are few
	text  []byte         // a string's content, or the literal
	open  bool           // the string continues
}

// addPiece takes the next piece, and returns by how much that has made p larger.
func (p *partialCall) addPiece(c *rawCall) (grown int) {
	if c.args != nil {
		p.args = c.args
		grown += len(c.args)
	}
	for i := range c.partial {
		grown += len(c.partial[i].path) + len(c.partial[i].value) + argOverhead
		if p.err == nil {
			p.err = p.root.setValue(&c.partial[i])
		}
	}
	return grown
}

// joinedArguments returns the whole as an object.
func (p *partialCall) joinedArguments() (jsontext.Value, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case p.root.kind == 0:
		return p.args, nil
	case p.root.kind != '{':
		return nil, &model.Malformed{Reason: "arguments that are no object"}
	}
	return p.root.append(nil), nil
}

// setValue puts arg's value in its place below n. Pieces of one string are joined.
func (n *argNode) setValue(arg *rawArg) error {
	steps, ok := parsePath(arg.path)
	if !ok || len(steps) == 0 || len(steps) > maxArgDepth {
		return &model.Malformed{Reason: "unusable path of an argument"}
	}
	for _, s := range steps {
		if n = n.childAt(s); n == nil {
			return &model.Malformed{Reason: "path of an argument that leads nowhere"}
		}
	}
	if n.kind != 0 && !n.open {
		return &model.Malformed{Reason: "an argument is given twice"}
	}
	if arg.value.Kind() != '"' {
		n.kind, n.text, n.open = '0', arg.value, false
		return nil
	}
	var err error
	if n.text, err = jsontext.AppendUnquote(n.text, arg.value); err != nil {
		return fmt.Errorf("%w: string of an argument", model.ErrUnreadable)
	}
	n.kind, n.open = '"', arg.willContinue
	return nil
}

// childAt returns the node one step below n, and makes it if necessary. It returns nil if n is not
// an object or array of the step's kind, or if an element was left out.
func (n *argNode) childAt(s pathStep) *argNode {
	kind := jsontext.Kind('{')
	if s.isIndex {
		kind = '['
	}
	if n.kind == 0 {
		n.kind = kind
	}
	if n.kind != kind {
		return nil
	}
	at := s.index
	if !s.isIndex {
		at = n.memberIndex(s.name)
	}
	switch {
	case at == len(n.kids):
		n.kids = append(n.kids, new(argNode))
	case at > len(n.kids):
		return nil
	}
	return n.kids[at]
}

// fewNames is up to how many members of an object are looked through.
const fewNames = 32

// memberIndex returns the place of the named member. It adds a missing member.
func (n *argNode) memberIndex(name string) int {
	at, known := n.at[name]
	if n.at == nil {
		at = slices.Index(n.names, name)
		known = at >= 0
	}
	if known {
		return at
	}
	n.names = append(n.names, name)
	switch count := len(n.names); {
	case n.at != nil:
		n.at[name] = count - 1
	case count > fewNames:
		n.at = make(map[string]int, 2*count)
		for i, other := range n.names {
			n.at[other] = i
		}
	}
	return len(n.names) - 1
}

// append appends n as JSON.
func (n *argNode) append(b []byte) []byte {
	switch n.kind {
	case '"':
		return model.AppendString(b, string(n.text))
	case '{', '[':
		b = append(b, byte(n.kind))
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			if n.kind == '{' {
				b = append(model.AppendString(b, n.names[i]), ':')
			}
			b = kid.append(b)
		}
		return append(b, byte(n.kind)+2) // the closing bracket
	case '0':
		return append(b, n.text...)
	}
	return append(b, "null"...)
}

// pathStep is one step of a path: a member's name or an element's index.
type pathStep struct {
	name    string
	index   int
	isIndex bool
}

// parsePath reads a path such as $.steps[0].name or $['a b'][1] (the singular
// queries of RFC 9535, without escapes in quotes).
func parsePath(s string) (steps []pathStep, ok bool) {
	if s, ok = strings.CutPrefix(s, "$"); !ok {
		return nil, false
	}
	for s != "" {
		var step pathStep
		if step, s, ok = nextStep(s); !ok {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, true
}

// nextStep takes one step off a JSON path: .name, ['name'] or [0]. ok is false for other texts.
func nextStep(s string) (step pathStep, rest string, ok bool) {
	if name, dotted := strings.CutPrefix(s, "."); dotted {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return pathStep{name: name[:end]}, name[end:], end > 0
	}
	if len(s) > 2 && s[0] == '[' && (s[1] == '\'' || s[1] == '"') {
		name, rest, closed := strings.Cut(s[2:], s[1:2]+"]")
		return pathStep{name: name}, rest, closed
	}
	digits, rest, closed := strings.Cut(strings.TrimPrefix(s, "["), "]")
	index, err := strconv.ParseUint(digits, 10, 31)
	return pathStep{index: int(index), isIndex: true}, rest, s[0] == '[' && closed && err == nil
}
