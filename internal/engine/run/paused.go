package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the version of all stored forms of a run that is to continue later: of a tree, and of
// the record of a workflow's run with its trees. Versions 1 and 2 are the forms before the tree.
const Version = 3

// Bounds of a tree that is read. A carrier of the tree, such as a token, may have room for less.
const (
	maxPaused = 16 << 20 // bytes
	maxDepth  = 32       // nodes within each other
)

// ErrVersion is wrapped by the error of what another version of the program has stored.
var ErrVersion = errors.New("another version of this program wrote it")

// ErrPaused is wrapped by the error of a stored run that cannot continue: it is too long, was
// cut or altered, or contradicts itself. Also an error that wraps ErrVersion wraps it.
var ErrPaused = errors.New("the stored run cannot go on")

// Kinds of Paused. The kinds of runs are the values of chat.Paused.By.
const (
	KindQuestion = "question" // a question to a person, about the run within it
	KindSession  = "session"  // a task that one agent gave to another; the run of that agent is within it
)

// Paused is a run that waits for a person, as a tree: a question, the run that asks it, and
// the runs within that. It is all that is needed to continue, in this process or another.
type Paused struct {
	Kind  string          `json:"kind"`
	Name  string          `json:"name,omitempty"` // its name in the run that it is within
	State json.RawMessage `json:"state"`          // its own, without that of the runs within it
	// For a run that is a turn: the shared verdicts of its agents on calls, and how many sessions
	// they have begun.
	Shared json.RawMessage `json:"shared,omitempty"`
	Begun  int64           `json:"begun,omitempty"`
	Within []*Paused       `json:"within,omitempty"`
}

// tree is the root of a tree as it is stored, or a form that was before the tree. Sum
// distinguishes damage from bugs; it is not a seal against somebody who wants to forge a tree.
type tree struct {
	Version int             `json:"schema"`
	Sum     string          `json:"sum,omitempty"`
	Root    json.RawMessage `json:"paused,omitempty"`
}

// before has the members by which ReadPaused recognizes the forms before the tree.
type before struct {
	tree
	Agent  int             `json:"version"` // of an agent and of a team
	State  json.RawMessage `json:"state"`   // of an agent, whose sum it has
	Header struct {
		Version int `json:"schema"`
	} `json:"header"` // of a workflow's run
	// the turn of a team or a workflow, with the run in it
	Turn   json.RawMessage `json:"team"`
	Shared json.RawMessage `json:"shared"`
	Begun  int64           `json:"begun"`
}

// Pause returns a run of a kind that waits, with its own state, and others within it.
func Pause(kind string, state any, within ...*Paused) (*Paused, error) {
	text, err := json.Marshal(state)
	return &Paused{Kind: kind, State: text, Within: within}, err
}

// As returns the run under the name by which another one knows it.
func (p *Paused) As(name string) *Paused {
	if p == nil {
		return nil
	}
	named := *p
	named.Name = name
	return &named
}

// Encode returns the tree as ReadPaused reads it.
func (p *Paused) Encode() []byte {
	root, _ := json.Marshal(p) // of texts that are JSON
	text, _ := json.Marshal(tree{Version, sumOf(root), root})
	return text
}

// sumOf is the checksum of a text: 16 bytes of SHA-256.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// ReadPaused reads a tree of a kind. A form before the tree becomes a node with all of the form as
// its State: Into and Child find their data there.
//
// Its errors wrap ErrPaused, and ErrVersion if that is the reason.
func ReadPaused(kind string, text []byte) (*Paused, error) {
	p, err := readStoredTree(kind, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPaused, err)
	}
	return p, nil
}

func readStoredTree(kind string, text []byte) (*Paused, error) {
	if len(text) > maxPaused {
		return nil, fmt.Errorf("it has %d bytes", len(text))
	}
	var t before
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	if t.Turn != nil && t.Root == nil {
		return t.readTurn(kind)
	}
	switch v := max(t.Version, t.Agent, t.Header.Version); {
	case v < 1 || v > Version || (v == Version) != (t.Root != nil):
		return nil, fmt.Errorf("%w: it has version %d, this is version %d", ErrVersion, v, Version)
	case t.Root != nil:
		return t.readRoot(kind)
	case t.Sum != "":
		return &Paused{Kind: kind, State: t.State}, verifyChecksum(t.State, t.Sum)
	}
	return &Paused{Kind: kind, State: text}, nil
}

// readTurn reads the saved state of a turn.
func (t *before) readTurn(kind string) (*Paused, error) {
	p, err := readStoredTree(kind, t.Turn)
	if err == nil {
		p.Shared, p.Begun = t.Shared, t.Begun
	}
	return p, err
}

// readRoot reads a tree.
func (t *before) readRoot(kind string) (*Paused, error) {
	p := new(Paused)
	err := errors.Join(verifyChecksum(t.Root, t.Sum), json.Unmarshal(t.Root, p))
	if err == nil && (p.Kind != kind || !p.isComplete(maxDepth)) {
		err = errors.New("it contradicts itself")
	}
	return p, err
}

// verifyChecksum returns an error unless a text has that checksum, however it is spaced.
func verifyChecksum(text []byte, sum string) error {
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil || sumOf(compact.Bytes()) != sum {
		return errors.New("its checksum does not fit")
	}
	return nil
}

// isComplete reports whether a tree is whole and at most so deep.
func (p *Paused) isComplete(depth int) bool {
	if p == nil || p.Kind == "" || isNothing(p.State) || depth == 0 {
		return false
	}
	for _, c := range p.Within {
		if !c.isComplete(depth - 1) {
			return false
		}
	}
	return true
}

func isNothing(state []byte) bool { return len(state) == 0 || string(state) == "null" }

// Into reads the run's own state.
func (p *Paused) Into(state any) error {
	if err := json.Unmarshal(p.State, state); err != nil {
		return fmt.Errorf("%w: %w", ErrPaused, err)
	}
	return nil
}

// Child returns the run of a kind and a name within p. stored is the child in p's State; only the
// forms before the tree have it there.
func (p *Paused) Child(kind, name string, stored json.RawMessage) (*Paused, error) {
	if len(stored) > 0 {
		return ReadPaused(kind, stored)
	}
	for _, c := range p.Within {
		if c.Name == name && (c.Kind == kind || kind == "") {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: what waits in it is missing", ErrPaused)
}
