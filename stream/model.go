package stream

import "errors"

// ModelChanged reports that another model answers than the requested one. It comes before the first
// part of the new answer. Events of earlier calls remain.
type ModelChanged struct {
	Step     int    `json:"step"`     // the model call, from 1
	Key      string `json:"key"`      // of the model that answers
	Model    string `json:"model"`    // its name
	Previous string `json:"previous"` // key of the model that did not
	Reason   string `json:"reason"`   // the class of its failure
	// Continued says that the answer goes on behind the text so far. The same model may continue it:
	// a Frame counts such an event, and does not pass it on.
	Continued bool `json:"continued,omitzero"`
	Attribution
}

const nameModel = "model"

// Name implements Extension.
func (*ModelChanged) Name() string { return nameModel }

// Allow refuses an event that changes no model. A change may come at any time, because the grammar
// does not separate the parts of two answers.
func (m *ModelChanged) Allow(*Turn) error {
	switch {
	case m.Step < 1:
		return errors.New("it is of no step")
	case m.Key == "" || m.Previous == "" || m.Key == m.Previous: // a Frame drops a seam by the same model
		return errors.New("it is no change")
	case m.Reason == "":
		return errors.New("it has no reason")
	}
	return nil
}

func (*ModelChanged) markEvent() {}

// Attributed implements attributable.
func (m *ModelChanged) Attributed(a Attribution) Event {
	c := *m
	c.setOrigin(a)
	return &c
}
