package model

import (
	"bytes"
	"errors"
	"io"
)

// Limits on what a service may send (docs/design.md, "Limits").
const (
	maxChunk     = 1 << 20  // bytes of one event's data
	maxAnswer    = 2 << 20  // bytes of one answer
	maxErrorBody = 64 << 10 // bytes read of an error that does not come as an event
)

// What the event reader finds in place of an event.
var (
	errBare     = errors.New("bare JSON")
	errDocument = errors.New("a JSON document")
)

// eventReader reads server-sent events: lines end in LF or CRLF, and only data and the
// event's name count. Some habits of services go beyond the format: a last event without
// the blank line after it, and an error as bare JSON, in place of the stream or
// behind some of it.
type eventReader struct {
	in    window
	data  []byte // of the event under way
	bare  []byte // the line that begins the bare JSON; nil: none so far
	broad bool   // bare JSON may be an answer, and an error may be a field of its own
	names names
}

// reset makes r read body afresh.
func (r *eventReader) reset(body io.Reader, broad bool) {
	r.in.reset(body)
	r.bare, r.broad = nil, broad
}

// next returns the name and the data of the next event, its lines joined, valid until
// the next call. After the last it returns io.EOF, or an error if the stream did not end
// cleanly, or errBare if what comes is no event.
func (r *eventReader) next() (name string, data []byte, err error) {
	if r.bare != nil {
		return "", nil, errBare
	}
	r.data = r.data[:0]
	pending := false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && pending {
				return name, r.data, nil
			}
			return "", nil, err
		}
		value, isData := dataOf(line)
		switch {
		case isData && pending:
			r.data = append(append(r.data, '\n'), value...)
		case isData && r.in.skipBlank():
			return name, value, nil
		case isData:
			r.data, pending = append(r.data, value...), true
		case len(line) == 0 && pending:
			return name, r.data, nil
		case len(line) == 0:
			name = ""
		case isJSON(line) && len(line) > r.maxBare():
			return "", nil, ErrTooLarge
		case isJSON(line):
			r.bare = append([]byte{}, line...)
			if !pending {
				return "", nil, errBare
			}
			return name, r.data, nil
		default:
			if value, ok := fieldOf(line, "event"); ok {
				name = r.names.of(value)
			} else if value, ok := fieldOf(line, "error"); ok && r.broad && !pending {
				return "error", value, nil
			}
		}
		if len(r.data) > maxChunk {
			return "", nil, ErrTooLarge
		}
	}
}

// maxBare bounds a body that is no event stream. A service that may answer with one
// document for a whole answer needs the room of a chunk; for others it can only be an
// error.
func (r *eventReader) maxBare() int {
	if r.broad {
		return maxChunk
	}
	return maxErrorBody
}

// line returns the next line without its end, valid until the next read.
func (r *eventReader) line() ([]byte, error) {
	line, err := r.in.line(maxChunk + len("data: "))
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

// isJSON says whether a line begins bare JSON: an object, an array, or the next
// element of an array.
func isJSON(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[' || line[0] == ',')
}

// rest returns the bare JSON: all that is left of the stream, of at most limit bytes.
// With ErrTooLarge come the first of more.
func (r *eventReader) rest(limit int) ([]byte, error) {
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

// buffered says whether a whole event has arrived that next has not returned
// yet. What is buffered but begins with anything else than an event's name or data,
// such as a comment, is taken for nothing.
func (r *eventReader) buffered() bool {
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

// names keeps the names of events, of which a service has a few, or none.
type names struct{ known []string }

// maxNames bounds the names that are kept.
const maxNames = 16

// of returns name as a string.
func (l *names) of(name []byte) string {
	for _, known := range l.known {
		if known == string(name) {
			return known
		}
	}
	s := string(name)
	if len(l.known) < maxNames && len(s) <= 64 {
		l.known = append(l.known, s)
	}
	return s
}
