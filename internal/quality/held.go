package quality

import (
	"time"

	"sluice/stream"
)

// maxHeld bounds a text that is held back, in bytes.
const maxHeld = 2 << 20

// reportEvery is how often a client learns how long a text has become.
const reportEvery = time.Second

// composed is the incoming text of an answer, and the time of the last report of its length. pieces
// has the first attempt; chars counts all attempts.
type composed struct {
	pieces     holding
	chars      int
	firstText  time.Time         // when there was some first
	lastReport time.Time         // of its length
	draft      stream.InnerDelta // reused for each event
}

// countText counts text that came. It reports whether that is the first one, and whether its length
// is due to be reported.
func (c *composed) countText(chars int, now time.Time) (first, due bool) {
	c.chars += chars
	if first = c.firstText.IsZero(); first {
		c.firstText = now
	}
	if due = first || now.Sub(c.lastReport) >= reportEvery; due {
		c.lastReport = now
	}
	return first, due
}

// holding is the text of a turn as it came, in pieces. Thousands of turns may hold one at once, so
// it takes little more memory than its bytes. A slice for each piece would take three times that.
type holding struct {
	text []byte
	ends []int32 // of the pieces in text, which maxHeld bounds
	from []origin
}

// origin is the source of the pieces from first on, up to the next origin. Mostly there is one.
type origin struct {
	first       int32 // piece
	attribution stream.Attribution
}

// firstRoom is the capacity at the first piece, in bytes and in pieces. Most answers fit into it; a
// longer one doubles it.
const (
	firstRoom   = 1 << 10
	firstPieces = 48
)

// add adds a piece.
func (h *holding) add(text string, who stream.Attribution) {
	if h.ends == nil {
		h.text, h.ends = make([]byte, 0, max(firstRoom, len(text))), make([]int32, 0, firstPieces)
	}
	if n := len(h.from); n == 0 || h.from[n-1].attribution != who {
		h.from = append(h.from, origin{int32(len(h.ends)), who})
	}
	h.text = append(h.text, text...)
	h.ends = append(h.ends, int32(len(h.text)))
}

// cut drops so many bytes at the end.
func (h *holding) cut(back int) {
	size := int32(max(0, len(h.text)-back))
	h.text = h.text[:size]
	for n := len(h.ends); n > 0 && (n > 1 && h.ends[n-2] >= size || size == 0); n = len(h.ends) {
		h.ends = h.ends[:n-1]
	}
	if n := len(h.ends); n > 0 {
		h.ends[n-1] = min(h.ends[n-1], size)
	}
	for n := len(h.from); n > 0 && int(h.from[n-1].first) >= len(h.ends); n = len(h.from) {
		h.from = h.from[:n-1]
	}
}

// eachPiece gives use the pieces as they came.
func (h *holding) eachPiece(use func(text string, who stream.Attribution)) {
	text, from, at := string(h.text), h.from, int32(0)
	for i, end := range h.ends {
		if len(from) > 1 && from[1].first == int32(i) {
			from = from[1:]
		}
		use(text[at:end], from[0].attribution)
		at = end
	}
}

// firstAgent returns the first agent that says a piece; empty: none has a name.
func (h *holding) firstAgent() string {
	for _, o := range h.from {
		if o.attribution.AgentID != "" {
			return o.attribution.AgentID
		}
	}
	return ""
}
