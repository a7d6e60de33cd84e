package stream

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Storage writes the events of a turn as lines, which ReadStoredLine takes back. Most bytes of a
// long stored answer would be envelopes, so pieces that came together share one. Its zero value is
// ready; one goroutine uses it.
type Storage struct {
	// last is the stamp of the last piece in the line that can grow, and lastOrigin is its origin.
	// n is 0 if no line can grow.
	last       Stamp
	lastOrigin Attribution
}

// endOfPieces is the text behind the last piece of a line.
const endOfPieces = "]}}\n"

// Append appends ev as a new line, or to the last line of dst. dst must be the result of the
// previous call. It fails like AppendStored; nothing was appended then.
func (s *Storage) Append(dst []byte, stamp Stamp, ev Event) ([]byte, error) {
	d, ok := ev.(*Delta)
	if !ok || !utf8.ValidString(d.Text) || !d.Attribution.isValidUTF8() {
		s.Cut()
		line, err := AppendStored(dst, stamp, ev)
		if err != nil {
			return dst, err
		}
		return append(line, '\n'), nil
	}
	if s.last.N > 0 && stamp == (Stamp{s.last.N + 1, s.last.At}) && s.lastOrigin == d.Attribution {
		dst = append(dst[:len(dst)-len(endOfPieces)], ',')
	} else {
		dst = appendOrigin(append(appendEnvelope(dst, stamp, storedDeltas), '{'), &d.Attribution)
		dst = append(dst, `"texts":[`...)
	}
	s.last, s.lastOrigin = stamp, d.Attribution
	dst, _ = jsontext.AppendQuote(dst, d.Text) // it is valid UTF-8
	return append(dst, endOfPieces...), nil
}

// Cut ends the line: the next event begins another one. It must be called before dst is anything
// else than what Append has returned last.
func (s *Storage) Cut() { s.last = Stamp{} }
