// This file has the form of a log. An entry is stored events, a line each. Before the first event
// stands a line that says how the turn was asked for.

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
	// Task and Turn are what the log belongs to.
	Task string `json:"task"`
	Turn string `json:"turn"`
	ownership
	RequestID   string `json:"request_id"`
	Accumulated bool   `json:"accumulated"`
	// Protocol says in which protocol the turn was asked for, and what its encoder must know.
	Protocol
}

// ownership is who may read a log.
type ownership struct {
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"` // who has proved to be that; empty: nobody was asked
}

// provedOwner returns an owner who has proved to be that, or nothing.
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
	quote := func(name, value string) { // what is not UTF-8 becomes U+FFFD
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

// endsTurn says whether a batch of events has the last one of a turn.
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
	claims int // of the turn, by processes that went on with it or close it now; 0: its numbers have no gap
}

// lastMoment is when the last event came, seen from the begin of the turn.
func (k stored) lastMoment() (at time.Duration) {
	for _, logged := range k.logged {
		at = max(at, logged.At)
	}
	return at
}

// idGap is what the number of the first event of a process that goes on with a turn is above a
// multiple of: who received events that the log never got has none of those numbers.
const idGap = 1_000_000

// gapAfter returns the number before the first event behind a takeover.
func gapAfter(last int) int { return (last/idGap + 1) * idGap }

// ErrGone says that there is no log, or none that can be read.
var ErrGone = errors.New("no log of this turn")

// recordEvents gives a Recorder all events.
func (k stored) recordEvents(rec *record.Recorder) *record.Recorder {
	for _, logged := range k.logged {
		rec.Observe(logged.At, logged.Event)
	}
	return rec
}
