// This file is the part of reading JSON that both decoders share. It reads tolerantly
// (model.Tolerant) and reports errors by their place alone.

package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// walk goes over the JSON of an event, token by token, because this runs for each delta
// of each answer: a part of the time of an Unmarshal, and no allocation
// (BenchmarkChatDelta, BenchmarkResponsesDelta).
type walk struct {
	in   bytes.Buffer
	json jsontext.Decoder
	data []byte // the JSON that is read
}

var errWrongType = errors.New("wrong type")

// begin starts reading data, which must stay valid until the next begin.
func (w *walk) begin(data []byte) {
	w.data = data
	w.in = *bytes.NewBuffer(data)
	w.json.Reset(&w.in, model.Tolerant())
}

// readEach calls read until the object or array at hand, which opens with open, is read
// through. Null is an empty one, and another kind of value an error.
//
// read must consume exactly one element, or a name and its value.
func (w *walk) readEach(open jsontext.Kind, read func() error) error {
	switch w.json.PeekKind() {
	case 'n':
		return w.json.SkipValue()
	case open:
	default:
		return w.mismatchError()
	}
	if _, err := w.json.ReadToken(); err != nil {
		return err
	}
	for w.json.PeekKind() != open+2 { // '}' is '{'+2, ']' is '['+2
		if err := read(); err != nil {
			return err
		}
	}
	_, err := w.json.ReadToken()
	return err
}

// readFigure reads a whole number from 0 to 2^31-1, also one written as 10.0. ok is false for any
// other value, which it skips. An error is one of syntax.
func (w *walk) readFigure() (n int, ok bool, err error) {
	if w.json.PeekKind() != '0' {
		return 0, false, w.json.SkipValue()
	}
	v, err := w.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	n, ok = model.Figure(v)
	return n, ok, nil
}

// expectEnd returns an error if more follows the value that was read.
func (w *walk) expectEnd() error {
	switch _, err := w.json.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errWrongType
	default:
		return err
	}
}

// mismatchError skips the value at hand and returns errWrongType, or a syntax error.
func (w *walk) mismatchError() error {
	if err := w.json.SkipValue(); err != nil {
		return err // it is not even JSON
	}
	return errWrongType
}

// unreadableError returns the place where data could not be read, without its text, because that is
// the model's.
func (w *walk) unreadableError(err error) error {
	kind := "syntax"
	if errors.Is(err, errWrongType) {
		kind = errWrongType.Error()
	}
	return fmt.Errorf("%w: %s near byte %d of %d", model.ErrUnreadable, kind, w.json.InputOffset(), len(w.data))
}
