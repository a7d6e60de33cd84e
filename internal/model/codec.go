// Package model is what calls of all language models have in common: attempts and
// their retries, timeouts, the circuit breaker, limits, the log and the metrics. What
// differs between providers is a Codec.
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
// On top of that stand a Chain, which answers with another model when one
// fails, and Forms, which ask for JSON that keeps to a schema. Both are Links,
// as a Model is: the caller sees no difference.
//
// A Model is safe for concurrent use. A call runs on the goroutine of its
// caller, who is called back with each chunk and may take its time: while it
// does, no timeout runs. What a chunk points to is valid until the callback
// returns.
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

// Answer reads one answer, event by event, and keeps what spans them.
type Answer interface {
	// Decode reads an event of the stream and appends what it holds to c.Parts, calls
	// only when they are whole; c.Usage points to the latest figures, if the event had
	// some. name is empty if the event has none, and data is valid until Decode returns.
	// Errors are *Refusal, *Blocked or *Malformed, or wrap ErrUnreadable or ErrTooLarge;
	// they hold no word of the model's.
	Decode(name string, data []byte, c *chat.Chunk) error
	// Over says that the protocol reported the end: nothing after it is read.
	Over() bool
	// Finished says that the protocol said how the answer ends, as with a finish reason. Usage or
	// an error may follow, or nothing.
	Finished() bool
	// End completes the answer at the end of the stream: it appends the calls that were
	// held back, sets c.Finish and c.Usage, or says why the answer is no good, with
	// ErrCut, ErrNoText or an error as of Take.
	End(c *chat.Chunk) error
	// Whole reads a reply that is one JSON document in place of a stream; End follows.
	Whole(body []byte, c *chat.Chunk) error
	// Note returns what the log says about the answer, so far.
	Note() Note
	// Reset makes the Answer ready for another one.
	Reset()
}

// Asker is an Answer that receives the request before its first event.
type Asker interface{ Asked(req *chat.ModelRequest) }

// PassingOver is a Codec of a protocol whose events may hold more than anybody reads. It
// removes that in place, from a line of the stream of which the end may be missing, and returns
// how much is left; the same line may come again with more behind it.
type PassingOver interface{ PassOver(line []byte) int }

// Note is what the log says about an answer.
type Note struct {
	TextLength int    // bytes of text, without thoughts
	Finish     string // the provider's word for the ending; empty: none yet
	Unknown    string // a word for the ending that no table has; empty: none
	Model      string // the name in the answer; empty: none
	// Size is how much of the answer was taken, in bytes of any kind: what makes it grow
	// is a sign of life, also where it completes no part yet, as a piece of a call.
	Size int
	// Pings is how many events said that the service lives, and nothing else.
	Pings int
	// Usage is the latest that is known; nil: what the chunks reported.
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
// Refusal.Member gives them. One that gives way in steps is listed once a step that was
// refused. It is never changed, only replaced.
type Omit []string

// Has says whether member is in o.
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

// distinct returns how many members are in o.
func (o Omit) distinct() (n int) {
	for i, m := range o {
		if !slices.Contains(o[:i], m) {
			n++
		}
	}
	return n
}
