package loadtest

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A breach is a way to break the contract of streams. Its text is its name in the report.
type breach string

// Error returns the name of the breach.
func (b breach) Error() string { return string(b) }

const (
	badContentType  breach = "content_type" // 200 without text/event-stream
	badFraming      breach = "framing"      // not id, event, data, or too long
	badRetry        breach = "retry"        // not once, at the beginning
	badID           breach = "id"           // not <request_id>:<n>, with a store <turn_id>:<n>, or a gap that is not that of a takeover
	badStart        breach = "start"        // not first, or not once
	badEvent        breach = "event"        // a name that is not in the vocabulary
	badJSON         breach = "json"         // data is not an object
	badRequestID    breach = "request_id"   // data names another one, or none
	badDelta        breach = "delta"        // empty, no text, or a split code point
	badAccumulated  breach = "accumulated"  // not the text so far, or not asked for
	badDone         breach = "done"         // without success or finish_reason
	badFinalOutput  breach = "final_output" // not the deltas, joined
	secondDone      breach = "second_done"
	eventAfterDone  breach = "after_done"     // another event, or loose bytes
	uncleanEnd      breach = "unclean_end"    // done came, and no proper end
	errorWithoutEnd breach = "after_fatal"    // a fatal error is right before done
	failedSilently  breach = "no_fatal_error" // success is false, and no event says why
)

// audit follows one stream and says where it breaks the contract.
type audit struct {
	accumulated bool // was asked for

	request []byte // its id
	prefix  []byte // of the ids of events, with its colon
	number  []byte // scratch for the id's number
	events  int
	last    int  // number of the last event
	onward  bool // the stream is read on
	gaps    int  // takeovers
	text    joined
	fatal   string // error_type of the fatal error
	done    bool
	success bool
	reason  string // of done
	scratch []byte
}

// beginStream begins a new stream. requestID is the one of the response's header.
func (a *audit) beginStream(requestID string, accumulated bool) {
	a.text.reset()
	*a = audit{
		accumulated: accumulated,
		request:     append(a.request[:0], requestID...),
		prefix:      append(append(a.prefix[:0], requestID...), ':'),
		number:      a.number,
		text:        a.text,
		scratch:     a.scratch,
	}
}

// requestID returns the id of the stream, as the response's header gave it. It is valid
// until reset.
func (a *audit) requestID() []byte { return a.request }

// checkEvent looks at the next event. Its error is a breach.
func (a *audit) checkEvent(f frame) error {
	if err := a.checkOrder(f); err != nil {
		return err
	}
	if string(f.event) == "start" {
		return a.checkStart(f)
	}
	if err := a.checkEventID(f); err != nil {
		return err
	}
	if string(f.event) == "response_delta" {
		return a.checkDelta(f.data)
	}
	if !jsontext.Value(f.data).IsValid() {
		return badJSON
	}
	switch string(f.event) {
	case "response_reset":
		return a.retractText(f.data)
	case "model", "thinking", "tool_call", "route", "agent", "inner_delta", "node", "approval", "quality", "channel_message":
		return a.walkMembers(f.data, func(_, _ []byte) error { return nil })
	case "error":
		return a.checkError(f.data)
	case "done":
		return a.checkDone(f.data)
	}
	return badEvent
}

// checkOrder checks the rules for all events.
func (a *audit) checkOrder(f frame) error {
	switch {
	case a.done && string(f.event) == "done":
		return secondDone
	case a.done:
		return eventAfterDone
	case (a.events == 0) != (string(f.event) == "start"):
		return badStart
	case (a.events == 0) != f.retry:
		return badRetry
	case a.fatal != "" && string(f.event) != "done":
		return errorWithoutEnd
	}
	return nil
}

// checkStart checks the first event. If the turn is stored, the event names the turn, and the ids
// of events begin with that name.
func (a *audit) checkStart(f frame) error {
	if !jsontext.Value(f.data).IsValid() {
		return badJSON
	}
	err := a.walkMembers(f.data, func(name, value []byte) error {
		if string(name) == "turn_id" {
			turn, ok := unquoteString(value, &a.scratch)
			if !ok || len(turn) == 0 {
				return badStart
			}
			a.prefix = append(append(a.prefix[:0], turn...), ':')
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.checkEventID(f)
}

// checkEventID checks the id of the next event.
func (a *audit) checkEventID(f frame) error {
	a.events++
	number, ok := bytes.CutPrefix(f.id, a.prefix)
	if !ok {
		return badID
	}
	if a.matchesNumber(number, a.last+1) || a.onward && string(f.event) == "response_reset" && a.matchesNumber(number, a.last) {
		return nil
	}
	if a.onward && a.matchesNumber(number, (a.last/idGap+1)*idGap+1) {
		a.gaps++
		return nil
	}
	return badID
}

// matchesNumber compares the number of an event, and notes it.
func (a *audit) matchesNumber(number []byte, n int) bool {
	a.number = strconv.AppendInt(a.number[:0], int64(n), 10)
	if !bytes.Equal(number, a.number) {
		return false
	}
	a.last = n
	return true
}

// walkMembers calls each for the members of an event's data except request_id, and checks that one
// itself.
func (a *audit) walkMembers(data []byte, each func(name, value []byte) error) error {
	known := false
	for m := membersOf(data); ; {
		name, value, ok := m.nextMember()
		switch {
		case m.bad:
			return badJSON
		case !ok && !known:
			return badRequestID
		case !ok:
			return nil
		case string(name) == "request_id":
			known = a.isOwnRequestID(value)
			if !known {
				return badRequestID
			}
			continue
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
}

// isOwnRequestID compares a JSON string with the request id, as that never has escapes.
func (a *audit) isOwnRequestID(quoted []byte) bool {
	n := len(quoted)
	return n >= 2 && quoted[0] == '"' && bytes.Equal(quoted[1:n-1], a.requestID())
}

// checkDelta checks a piece of the answer and adds it to the text so far. accumulated must
// come after delta, as it includes it.
func (a *audit) checkDelta(data []byte) error {
	hasDelta, hasAll := false, false
	err := a.walkMembers(data, func(name, value []byte) error {
		switch string(name) {
		case "delta":
			hasDelta = true
			if !a.text.addPiece(value) {
				return badDelta
			}
		case "accumulated":
			hasAll = true
			if !hasDelta || !a.text.equalsText(value) {
				return badAccumulated
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !hasDelta:
		return badDelta
	case hasAll != a.accumulated:
		return badAccumulated
	}
	return nil
}

// retractText sets the text to its remaining part.
func (a *audit) retractText(data []byte) error {
	whole := false
	err := a.walkMembers(data, func(name, value []byte) error {
		if string(name) == "accumulated" {
			whole = a.text.setText(value)
		}
		return nil
	})
	if err == nil && !whole {
		err = badAccumulated
	}
	return err
}

// checkError checks an error event. A fatal one must be the last before done, which order
// checks then.
func (a *audit) checkError(data []byte) error {
	fatal, kind := false, ""
	err := a.walkMembers(data, func(name, value []byte) error {
		switch string(name) {
		case "fatal":
			fatal = string(value) == "true"
		case "error_type":
			kind = a.wordOf(value)
		}
		return nil
	})
	if fatal {
		a.fatal = kind
	}
	return err
}

// checkDone checks the done event: its text must be the deltas, and where it says that the
// turn failed an event must have said why, unless the turn was cancelled.
func (a *audit) checkDone(data []byte) error {
	hasText, hasSuccess := false, false
	err := a.walkMembers(data, func(name, value []byte) error {
		switch string(name) {
		case "final_output":
			hasText = a.text.equalsText(value)
		case "success":
			hasSuccess = true
			a.success = string(value) == "true"
		case "finish_reason":
			a.reason = a.wordOf(value)
		}
		return nil
	})
	a.done = true
	switch {
	case err != nil:
		return err
	case !hasSuccess || a.reason == "":
		return badDone
	case !hasText:
		return badFinalOutput
	case !a.success && a.fatal == "" && a.reason != "cancelled":
		return failedSilently
	}
	return nil
}

// wordOf returns a name that stands for a kind of thing. A text that is not a name becomes "other",
// since it will be a key of the report, and others wrote it.
func (a *audit) wordOf(quoted []byte) string {
	plain, ok := unquoteString(quoted, &a.scratch)
	if !ok || !isWord(plain) {
		return "other"
	}
	return string(plain)
}

// isWord accepts a-z, then up to 39 of a-z 0-9 _.
func isWord(text []byte) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return len(text) > 0 && len(text) <= 40 && strings.IndexByte(letters, text[0]) >= 0 && len(bytes.Trim(text, letters+"0123456789_")) == 0
}

// breachOf turns the error of a reader into the breach that it is; ok is false for
// one of the connection.
func breachOf(err error) (b breach, ok bool) {
	if errors.Is(err, errFraming) || errors.Is(err, errTooLong) {
		return badFraming, true
	}
	b, ok = errors.AsType[breach](err)
	return b, ok
}
