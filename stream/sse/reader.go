package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// Event is one frame as a client sees it.
type Event struct {
	ID    string // the last id so far, perhaps of an earlier frame
	Type  string // "message" when the frame named none
	Data  string // data lines joined by LF
	Retry time.Duration
}

// errTooLong is the error of a frame that is larger than the Reader allows.
var errTooLong = errors.New("sse: frame too long")

// Reader reads a stream as the WHATWG rules say: LF, CR and CRLF end a line. A leading byte order
// mark, comments and unknown fields are skipped. A frame without data is not an event, and neither
// is a frame that the end of the stream cuts. Bytes that are not UTF-8 are passed on as they are.
type Reader struct {
	br     *bufio.Reader
	limit  int
	begun  bool
	skipLF bool // the last line ended with CR: a LF that follows belongs to it
	id     string
	line   []byte
}

// NewReader reads from r. limit is the number of bytes that a line, with its field's name, and the
// data of a frame may have. A longer one is errTooLong.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{br: bufio.NewReader(r), limit: limit}
}

// Next returns the next event, io.EOF at the end of the stream, or the error of
// the underlying reader.
func (r *Reader) Next() (Event, error) {
	ev := Event{Type: "message"}
	var data []byte
	var hasData bool
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if !hasData {
				ev.Type = "message"
				continue
			}
			ev.ID, ev.Data = r.id, string(data[:len(data)-1])
			return ev, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(data)+len(value) > r.limit {
				return Event{}, errTooLong
			}
			data, hasData = append(append(data, value...), '\n'), true
		default:
			r.readField(&ev, string(name), string(value))
		}
	}
}

// readField takes one field as WHATWG's event stream interpretation has it: an id
// with NUL is ignored, an unknown name too.
func (r *Reader) readField(ev *Event, name, value string) {
	switch name {
	case "event":
		ev.Type = value
		if value == "" {
			ev.Type = "message"
		}
	case "id":
		if !strings.Contains(value, "\x00") {
			r.id = value
		}
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			ev.Retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// readLine returns the next line without its end. A line that the stream's end
// cuts is not returned: its frame cannot be complete.
func (r *Reader) readLine() ([]byte, error) {
	if !r.begun {
		r.begun = true
		if bom, _ := r.br.Peek(3); string(bom) == "\ufeff" {
			_, _ = r.br.Discard(3)
		}
	}
	r.line = r.line[:0]
	for {
		c, err := r.br.ReadByte()
		if err != nil {
			return nil, err
		}
		if c == '\n' && r.skipLF {
			r.skipLF = false
			continue
		}
		r.skipLF = c == '\r'
		if c == '\n' || c == '\r' {
			return r.line, nil
		}
		if len(r.line) >= r.limit {
			return nil, errTooLong
		}
		r.line = append(r.line, c)
	}
}
