// This file has the form of a log. An entry has stored events, a line each. A line about the turn's
// request precedes the first event.

package task

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// head is the first line of a log.
type head struct {
	// Task and Turn own the log.
	Task string `json:"task"`
	Turn string `json:"turn"`
	ownership
	RequestID   string `json:"request_id"`
	Accumulated bool   `json:"accumulated"`
	// Protocol is the protocol of the turn's request, with the facts for its encoder.
	Protocol
}

// ownership says whose readers may read a log.
type ownership struct {
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"` // the authenticated owner; empty without authentication
}

// provedOwner returns owner if it is an authenticated one, or "".
func provedOwner(owner string) string {
	if chat.IsProved(owner) {
		return owner
	}
	return ""
}

// Protocol is how a turn was asked for, as its readers must know it. The zero value is our own
// protocol.
type Protocol struct {
	Dialect string          `json:"dialect,omitempty"`
	Began   int64           `json:"began,omitempty"` // since 1970, in nanoseconds
	Facts   json.RawMessage `json:"facts,omitempty"` // one JSON value of the protocol's
}

// appendLine writes the head as the first line of a log.
func (h head) appendLine(dst []byte) []byte {
	quote := func(name, value string) { // bytes that are not UTF-8 become U+FFFD
		dst, _ = jsontext.AppendQuote(append(dst, name...), value)
	}
	quote(`{"task":`, h.Task)
	quote(`,"turn":`, h.Turn)
	if h.Tenant != "" {
		quote(`,"tenant":`, h.Tenant)
	}
	if h.Owner != "" {
		quote(`,"owner":`, h.Owner)
	}
	quote(`,"request_id":`, h.RequestID)
	dst = strconv.AppendBool(append(dst, `,"accumulated":`...), h.Accumulated)
	if h.Dialect != "" {
		quote(`,"dialect":`, h.Dialect)
		dst = strconv.AppendInt(append(dst, `,"began":`...), h.Began, 10)
	}
	if len(h.Facts) > 0 {
		dst = append(append(dst, `,"facts":`...), h.Facts...)
	}
	return append(dst, "}\n"...)
}

// Logged is an event as it was sent.
type Logged struct {
	stream.Stamp
	Event stream.Event
}

// endsTurn reports whether a batch of events has the last one of a turn.
func endsTurn(logged []Logged) bool {
	if len(logged) == 0 {
		return false
	}
	_, done := logged[len(logged)-1].Event.(*stream.Done)
	return done
}

// stored is all that a log holds of a turn.
type stored struct {
	logged []Logged
	last   int
	claims int // claims of the turn by later processes, this one included; 0: the numbers of events are without a gap
}

// lastMoment returns the time of the last event since the begin of the turn.
func (k stored) lastMoment() (at time.Duration) {
	for _, logged := range k.logged {
		at = max(at, logged.At)
	}
	return at
}

// idGap is the step for the event numbers of each process that continues a turn. A client may have
// numbers beyond the log, and the new numbers do not repeat them.
const idGap = 1_000_000

// gapAfter returns the number before the first event behind a takeover.
func gapAfter(last int) int { return (last/idGap + 1) * idGap }

// ErrGone says that the log does not exist, or cannot be read.
var ErrGone = errors.New("no log of this turn")

// recordEvents gives a Recorder all events.
func (k stored) recordEvents(rec *record.Recorder) *record.Recorder {
	for _, logged := range k.logged {
		rec.Observe(logged.At, logged.Event)
	}
	return rec
}
