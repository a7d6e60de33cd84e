// Package model is what calls of all language models have in common: attempts and their retries,
// timeouts, the circuit breaker, limits, the log and the metrics. A Codec has the differences
// between providers.
//
// A call goes through these hands:
//
//   - Model.Stream has the request rendered once, asks the breaker, and
//     makes attempts until one has said something or the policy gives up
//     (call.go).
//   - A Source opens an answer: over HTTP (source.go, http.go) or by other
//     means. Below it, lines become events, within bounds (window.go,
//     event.go).
//   - The codec's Answer makes chunks of events. The watchdog cancels the
//     attempt if none comes in time.
//   - How the attempt ended is judged in one place (ending.go): the
//     breaker's verdict, the error type, whether and when to try again.
//   - Each attempt is logged and measured; metrics count a call once.
//
// A Chain and Forms stand on top of that. A Chain answers with another model when one fails, and
// Forms asks for JSON that fits a schema. Both are Links, as a Model is: the caller sees no
// difference.
//
// A Model is safe for concurrent use. A call runs on the goroutine of its caller. The caller's
// yield gets each chunk and may take its time: during it the timeouts pause. A chunk and its slices
// are valid until yield returns.
package model

import (
	"net/http"
	"slices"

	"sluice/internal/turn/chat"
)

// Codec is the protocol of one provider, set up for one model. It is safe for
// concurrent use.
type Codec interface {
	// Render appends the body of a request to b. It is valid JSON whatever req holds.
	// Members in omit are left out, or give way to their twins.
	Render(b []byte, req *chat.ModelRequest, omit Omit) []byte
	// NewAnswer returns a reader of answers, of one at a time.
	NewAnswer() Answer
	// Refuse reads the body of a reply whose status is not 2xx. The result is never
	// nil; the frame fills in a RetryAfter that only the header reports.
	Refuse(status int, header http.Header, body []byte) *Refusal
}

// Answer reads one answer, event by event, and keeps the state between them.
type Answer interface {
	// Decode reads an event of the stream and appends its content to c.Parts. A call is appended
	// only when it is complete. c.Usage points to the latest figures, if the event had some. name
	// is empty if the event has none, and data is valid until Decode returns. Errors are *Refusal,
	// *Blocked or *Malformed, or wrap ErrUnreadable or ErrTooLarge. They do not quote the model.
	Decode(name string, data []byte, c *chat.Chunk) error
	// HasEnded says that the protocol reported the end: nothing after it is read.
	HasEnded() bool
	// Finished says that the protocol said how the answer ends, as with a finish reason. Usage or
	// an error may follow, or nothing.
	Finished() bool
	// End completes the answer at the end of the stream: it appends the pending calls and sets
	// c.Finish and c.Usage. For an unusable answer it returns ErrCut, ErrNoText or the error of its
	// ending.
	End(c *chat.Chunk) error
	// DecodeDocument reads a reply that is one JSON document in place of a stream; End follows.
	DecodeDocument(body []byte, c *chat.Chunk) error
	// Stats returns the figures of the answer so far, for the log.
	Stats() Stats
	// Reset makes the Answer ready for another one.
	Reset()
}

// Asker is an Answer that receives the request before its first event.
type Asker interface{ SetRequest(req *chat.ModelRequest) }

// PassingOver is a Codec of a protocol whose events may hold more than anybody reads. It removes
// the unread bytes in place and returns the length of the remaining line. The end of the line may
// be missing: the same line may come again with more behind it.
type PassingOver interface{ PassOver(line []byte) int }

// Stats holds the figures of an answer for the log.
type Stats struct {
	TextLength int    // bytes of text, without thoughts
	Finish     string // the provider's word for the ending; empty: none yet
	Unknown    string // a word for the ending that no table has; empty: none
	Model      string // the name in the answer; empty: none
	// Size is the number of bytes that were taken, of any kind. If it grows, the service lives,
	// even if no part is complete yet, such as a piece of a call.
	Size int
	// Pings is how many events said that the service lives, and nothing else.
	Pings int
	// Usage is the latest usage; nil means the last one in a chunk.
	Usage *chat.Usage
}

// Budget counts the bytes of an answer that a codec takes.
type Budget struct{ Size int }

// Grow counts n more. It returns ErrTooLarge when that is more than an answer may have.
func (b *Budget) Grow(n int) error {
	if b.Size += n; b.Size > maxAnswer {
		return ErrTooLarge
	}
	return nil
}

// Omit lists the members of requests that a provider does not take, by the names that
// Refusal.Member gives them. A member that gives way in steps is listed once for each refused step.
// It is never changed, only replaced.
type Omit []string

// Has reports whether member is in o.
func (o Omit) Has(member string) bool { return slices.Contains(o, member) }

// Times returns how many steps of member were refused.
func (o Omit) Times(member string) (n int) {
	for _, m := range o {
		if m == member {
			n++
		}
	}
	return n
}

// countDistinct returns how many members are in o.
func (o Omit) countDistinct() (n int) {
	for i, m := range o {
		if !slices.Contains(o[:i], m) {
			n++
		}
	}
	return n
}
