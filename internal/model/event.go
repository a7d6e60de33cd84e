package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on the data of a service (docs/design.md, "Limits").
const (
	maxChunk     = 1 << 20  // bytes of one event's data
	maxAnswer    = 2 << 20  // bytes of one answer
	maxErrorBody = 64 << 10 // bytes read of an error that does not come as an event
)

// Errors of the event reader if something else comes in place of an event.
var (
	errBare     = errors.New("bare JSON")
	errDocument = fmt.Errorf("%w: a JSON document", ErrUnreadable)
)

// eventReader reads server-sent events: lines end in LF or CRLF, and only data and the
// event's name count; of comments it only reports that they came. Some habits of services go
// beyond the format: a last event without the blank line after it, and an error as bare JSON,
// in place of the stream or behind some of it.
type eventReader struct {
	in    window
	name  string // of the event under way
	data  []byte // of it
	some  bool   // it has data, perhaps empty
	bare  []byte // the line that begins the bare JSON; nil: none so far
	broad bool   // bare JSON may be an answer, and an error may be a field of its own
	begun bool   // a line was read
	torn  bool   // the stream ended within the event that was returned last
	names names
	// pinged is called for comments; nil: nobody is.
	pinged Pinged
}

// reset makes r read body from its beginning.
func (r *eventReader) reset(body io.Reader, broad bool) {
	r.in.reset(body)
	r.bare, r.broad, r.begun, r.pinged = nil, broad, false, nil
}

// nextEvent returns the name and the data of the next event, its lines joined, valid until the next
// call. After the last event it returns io.EOF, or an error if the stream did not end cleanly.
// errBare means that bare JSON comes instead of an event.
func (r *eventReader) nextEvent() (name string, data []byte, err error) {
	if r.bare != nil {
		return "", nil, errBare
	}
	r.name, r.data, r.some, r.torn = "", r.data[:0], false, false
	for err == nil {
		var line []byte
		line, err = r.nextLine()
		value, isData := dataOf(line)
		switch {
		case len(line) == 0 && r.some && (err == nil || err == io.EOF):
			r.torn = err == io.EOF
			return r.name, r.data, nil
		case err != nil:
		case isData && !r.some && r.in.skipBlank():
			return r.name, value, nil
		case isData:
			err = r.addData(value)
		case len(line) == 0:
			r.name = ""
		case isJSON(line):
			return r.beginBare(line)
		default:
			if value, ok := r.readField(line); ok {
				return "error", value, nil
			}
		}
	}
	return "", nil, err
}

// addData adds the value of a data line to the event under way.
func (r *eventReader) addData(value []byte) error {
	if r.some {
		r.data = append(r.data, '\n')
	}
	r.data, r.some = append(r.data, value...), true
	if len(r.data) > maxChunk {
		return ErrTooLarge
	}
	return nil
}

// beginBare records that bare JSON begins with line, and returns the event before it, or errBare.
func (r *eventReader) beginBare(line []byte) (name string, data []byte, err error) {
	if len(line) > r.maxBare() {
		return "", nil, ErrTooLarge
	}
	r.bare = append([]byte{}, line...)
	if !r.some {
		return "", nil, errBare
	}
	return r.name, r.data, nil
}

// readField reads a line of another field than data. ok is true for an error field, which makes an
// event by itself.
func (r *eventReader) readField(line []byte) (failure []byte, ok bool) {
	if value, ok := fieldOf(line, "event"); ok {
		r.name = r.names.intern(value)
	} else if line[0] == ':' && r.pinged != nil {
		r.pinged.Ping()
	}
	failure, ok = fieldOf(line, "error")
	return failure, ok && r.broad && !r.some
}

// maxBare bounds a body that is not an event stream. A service that may answer with one
// document for a whole answer needs the room of a chunk; for others it can only be an error.
func (r *eventReader) maxBare() int {
	if r.broad {
		return maxChunk
	}
	return maxErrorBody
}

// nextLine returns the next line without its end, valid until the next read. A byte order mark in
// front of the first line is dropped.
func (r *eventReader) nextLine() ([]byte, error) {
	line, err := r.in.nextLine(maxChunk + len("data: "))
	if !r.begun {
		r.begun, line = true, bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// dataOf returns the value of a data line.
func dataOf(line []byte) (value []byte, ok bool) {
	value, ok = bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil, string(line) == "data"
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// fieldOf returns the value of a line of another field.
func fieldOf(line []byte, field string) (value []byte, ok bool) {
	if len(line) <= len(field) || string(line[:len(field)]) != field || line[len(field)] != ':' {
		return nil, false
	}
	return bytes.TrimPrefix(line[len(field)+1:], []byte(" ")), true
}

// isJSON reports whether a line begins bare JSON: an object, an array, or the next
// element of an array.
func isJSON(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[' || line[0] == ',')
}

// readBare returns the bare JSON: the remaining stream, of at most limit bytes. With ErrTooLarge it
// returns the beginning.
func (r *eventReader) readBare(limit int) ([]byte, error) {
	if len(r.bare) > limit {
		return r.bare[:limit], ErrTooLarge
	}
	rest, err := io.ReadAll(io.LimitReader(&r.in, int64(limit-len(r.bare)+1)))
	if err != nil {
		return nil, err
	}
	all := append(append(r.bare, '\n'), rest...)
	if len(rest) > limit-len(r.bare) {
		return all[:limit+1], ErrTooLarge
	}
	return all, nil
}

// hasBuffered reports whether a complete event has arrived that nextEvent has not returned yet. A
// buffered event must begin with its name or data: other beginnings, such as a comment, return
// false.
func (r *eventReader) hasBuffered() bool {
	if r.bare != nil {
		return true
	}
	b := bytes.TrimLeft(r.in.buffered(), "\r\n")
	if bytes.HasPrefix(b, []byte("event:")) {
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	if !bytes.HasPrefix(b, []byte("data:")) {
		return false
	}
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return false
		}
		b = bytes.TrimPrefix(b[i+1:], []byte("\r"))
		if len(b) > 0 && b[0] == '\n' {
			return true
		}
	}
}

// names interns the names of events. A service has a few names at most.
type names struct{ seen []string }

// maxNames bounds the names that are kept.
const maxNames = 16

// intern returns name as a string.
func (l *names) intern(name []byte) string {
	for _, known := range l.seen {
		if known == string(name) {
			return known
		}
	}
	s := string(name)
	if len(l.seen) < maxNames && len(s) <= 64 {
		l.seen = append(l.seen, s)
	}
	return s
}
