// This file reads the saved states of a turn.

package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/stream"
)

// savedTurn is the saved state of a turn.
type savedTurn struct {
	request  []byte
	retracts bool
	head     []byte              // of its log
	states   map[string][][]byte // by part
	seams    []stream.Seam
	text     int // bytes of the answer at the last state
	claims   int // since the last state
	all      int // claims
	size     int
}

// readSaved reads the items of a turn's list. Its error wraps errSaved.
func readSaved(items [][]byte) (*savedTurn, error) {
	s := &savedTurn{states: map[string][][]byte{}}
	for _, item := range items {
		for line := range bytes.Lines(item) {
			var l savedLine
			if err := json.Unmarshal(line, &l); err != nil {
				return nil, fmt.Errorf("%w: %w", errSaved, err)
			}
			if err := s.addLine(&l); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// addLine adds the next line.
func (s *savedTurn) addLine(l *savedLine) error {
	switch {
	case l.Version != 0 && (l.Version != savedVersion || s.request != nil):
		return fmt.Errorf("%w: it has version %d, this is version %d", errSaved, l.Version, savedVersion)
	case l.Version != 0:
		s.request, s.retracts, s.head = l.Request, l.Retracts, l.Head
	case s.request == nil || l.TooLarge:
		return fmt.Errorf("%w: something of it is missing", errSaved)
	case l.Seam != nil:
		s.seams = append(s.seams, *l.Seam)
	case l.Claim != "":
		s.claims++
		s.all++
	default:
		if s.size += len(l.State); s.size > maxSaved || l.Text < 0 || len(l.State) == 0 {
			return fmt.Errorf("%w: a state of it", errSaved)
		}
		s.states[l.Part] = append(s.states[l.Part], l.State)
		s.text, s.claims = l.Text, 0
	}
	return nil
}

// savedLine is a line of an item of the list. The first line has the request. Each other line has a
// state, a seam, a claim or too_large.
type savedLine struct {
	Version int             `json:"version,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	// Retracts says that the turn's readers can be shown that text does not count any more.
	Retracts bool `json:"retracts,omitempty"`
	// Head is the first line of the log. The log has it with the first event.
	Head json.RawMessage `json:"head,omitempty"`

	Part  string          `json:"part,omitempty"` // of the turn, as a chat.Saver gets it
	Text  int             `json:"text,omitempty"` // bytes of the answer that were out
	State json.RawMessage `json:"state,omitempty"`

	Seam     *stream.Seam `json:"seam,omitempty"`
	Claim    string       `json:"claim,omitempty"`     // the process that goes on with the turn from here
	TooLarge bool         `json:"too_large,omitempty"` // the following states were not saved
}

// savedVersion is the version of saved states.
const savedVersion = 1

// maxSaved bounds a request, and the states of a turn together, in bytes.
const maxSaved = 1 << 20

// errSaved says that a turn cannot continue with its saved states.
var errSaved = errors.New("what was saved of the turn cannot be used")
