package gemini

import (
	"bytes"
	"errors"
	"io"
)

// Limits on what the service may send (docs/design.md, "Limits").
const (
	maxChunk     = 1 << 20  // bytes of one event's data
	maxErrorBody = 64 << 10 // bytes read of an error that does not come as an event
)

// errTooLarge means that the service sent more than we take.
var errTooLarge = errors.New("too large")

// eventReader reads server-sent events: lines end in LF or CRLF, and only data
// counts. Two habits of the service go beyond the format: a last event without
// the blank line after it, and an error as bare JSON, in place of the stream or
// behind some of it.
type eventReader struct {
	in   window
	data []byte // of the event under way
	bare []byte // the line that begins the bare JSON; nil: none so far
}

// reset makes r read body afresh.
func (r *eventReader) reset(body io.Reader) {
	r.in.reset(body)
	r.bare = nil
}

// next returns the data of the next event, its lines joined, valid until the next
// call. After the last it returns io.EOF, or an error if the stream did not end
// cleanly, or what the bare JSON says.
func (r *eventReader) next() ([]byte, error) {
	if r.bare != nil {
		return nil, r.bareError()
	}
	r.data = r.data[:0]
	pending := false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && pending {
				return r.data, nil
			}
			return nil, err
		}
		value, isData := dataOf(line)
		switch {
		case isData && pending:
			r.data = append(append(r.data, '\n'), value...)
		case isData && r.in.skipBlank():
			return value, nil
		case isData:
			r.data, pending = append(r.data, value...), true
		case len(line) == 0 && pending:
			return r.data, nil
		case isJSON(line) && len(line) > maxErrorBody:
			return nil, errTooLarge
		case isJSON(line):
			r.bare = append([]byte{}, line...)
			if !pending {
				return nil, r.bareError()
			}
			return r.data, nil
		}
		if len(r.data) > maxChunk {
			return nil, errTooLarge
		}
	}
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

// isJSON says whether a line begins bare JSON: an object, an array, or the next
// element of an array.
func isJSON(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[' || line[0] == ',')
}

// bareError reads the rest of the stream and returns the API's error in it.
func (r *eventReader) bareError() error {
	rest, err := io.ReadAll(io.LimitReader(&r.in, int64(maxErrorBody-len(r.bare))))
	if err != nil {
		return err
	}
	body := append(append(r.bare, '\n'), rest...)
	if e := findError(bytes.TrimLeft(body, " \t,")); e != nil {
		return e
	}
	return errUnreadable
}

// buffered says whether a whole event has arrived that next has not returned
// yet. What is buffered but begins with anything else than data, such as a
// comment, is taken for nothing.
func (r *eventReader) buffered() bool {
	if r.bare != nil {
		return true
	}
	b := bytes.TrimLeft(r.in.buffered(), "\r\n")
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
