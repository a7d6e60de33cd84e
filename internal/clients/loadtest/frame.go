package loadtest

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// maxFrame bounds the size of an event: an answer of 2 MiB, twice, escaped.
const maxFrame = 16 << 20

// frame is one event as it is on the wire. Its bytes are valid until the next one
// is read: they point into the buffer.
type frame struct {
	id, event, data []byte
	retry           bool      // it began with a retry line
	arrived         time.Time // when its last bytes were read
}

var (
	errFraming = errors.New("not framed as id, event and data")
	errTooLong = errors.New("an event is too long")
)

// frames takes a body apart. It is stricter than a browser: an event is a line each of id, event
// and data, in that order, ended by LF and an empty line. A reader by WHATWG's rules would hide
// faults of a gateway.
//
// There is a time for each read, not each event: events that came together are without a gap.
type frames struct {
	src     io.Reader
	read    func(n int) // called after each read
	buf     []byte
	at      int // buf[at:] is not yet handed out
	seen    int // buf[at:seen] holds no empty line
	arrived time.Time
}

// beginBody begins a new body and keeps the buffer.
func (f *frames) beginBody(src io.Reader, read func(n int)) {
	*f = frames{src: src, read: read, buf: f.buf[:0]}
}

// nextFrame returns the next event, errFraming, errTooLong, or the error of the body's reader:
// io.EOF at its end.
func (f *frames) nextFrame() (frame, error) {
	for {
		if i := bytes.Index(f.buf[f.seen:], []byte(emptyLine)); i >= 0 {
			block := f.buf[f.at : f.seen+i]
			f.at = f.seen + i + len(emptyLine)
			f.seen = f.at
			if fr, ok, err := parseBlock(block); ok || err != nil {
				fr.arrived = f.arrived
				return fr, err
			}
			continue
		}
		f.seen = max(f.at, len(f.buf)-1)
		if err := f.fillBuffer(); err != nil {
			return frame{}, err
		}
	}
}

const emptyLine = "\n\n"

// hasRest reports whether there are bytes that belong to no whole event.
func (f *frames) hasRest() bool { return f.at < len(f.buf) }

// fillBuffer reads once more, into a buffer that grows up to maxFrame. It returns errTooLong,
// or the error of a read that brought nothing.
func (f *frames) fillBuffer() error {
	if f.at > 0 {
		n := copy(f.buf, f.buf[f.at:])
		f.buf, f.seen, f.at = f.buf[:n], f.seen-f.at, 0
	}
	if len(f.buf) == cap(f.buf) {
		if len(f.buf) >= maxFrame {
			return errTooLong
		}
		f.buf = append(make([]byte, 0, max(firstBuffer, 2*cap(f.buf))), f.buf...)
	}
	n, err := f.src.Read(f.buf[len(f.buf):cap(f.buf)])
	if n == 0 {
		return err
	}
	f.arrived = time.Now()
	f.buf = f.buf[:len(f.buf)+n]
	f.read(n)
	return nil // an error comes again
}

const (
	firstBuffer = 4 << 10
	keptBuffer  = 64 << 10
)

// parseBlock reads the lines before an empty line. ok is false for a comment by itself, as a
// heartbeat has it.
func parseBlock(block []byte) (fr frame, ok bool, err error) {
	names, fields := [...]string{"id", "event", "data"}, 0
	values := [...]*[]byte{&fr.id, &fr.event, &fr.data}
	for len(block) > 0 {
		var line []byte
		line, block, _ = bytes.Cut(block, []byte("\n"))
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(line) > 0 && line[0] == ':':
			continue
		case fields == 0 && !fr.retry && string(name) == "retry":
			fr.retry = true
			continue
		case fields == len(names) || string(name) != names[fields]:
			return fr, false, errFraming
		}
		*values[fields] = value
		fields++
	}
	if fields == 0 && !fr.retry {
		return fr, false, nil
	}
	if fields != 3 {
		return fr, false, errFraming
	}
	return fr, true, nil
}
