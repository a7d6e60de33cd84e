// Package dialect holds the common parts of all protocols: routes, the exchange that a request
// becomes, and refusals. A protocol lies in a folder of its own below this one and is registered by
// one line.
//
// An encoder is a function of the request and the stamped events, without
// clock, randomness and store. So a stream can be reported a second time from its log, to the
// byte.
package dialect

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// MaxBody is how many bytes a body may have where a Route does not say. It holds 5,000
// characters in their longest JSON form (60,000 bytes, as escaped surrogate pairs) with
// room for the rest.
const MaxBody = 128 << 10

// MaxFacts bounds Exchange.Facts, in bytes.
const MaxFacts = 4 << 10

// Native is the Dialect of our own protocol.
const Native = "native"

// A Dialect is one protocol in which turns are asked for and answered.
type Dialect interface {
	// Routes is called once. No two routes of a server may take the same method at the
	// same path.
	Routes() []Route
}

// Route is one path of a Dialect. Origins, admission, the time of a body, the log and
// the metrics are the server's own for all of them. A request with a Last-Event-ID runs
// nothing: it gets the rest of its turn from the store, else 204.
type Route struct {
	// Dialect is the protocol's name in metrics, logs and stored turns; empty means native.
	Dialect string
	Methods []string
	// Path is as for http.ServeMux: /v1/responses/{id}, /v1/models/{id...}. A path that ends in
	// {rest...} also words the refusals of unknown paths, even without a method.
	Path string
	// MaxBody bounds the body in bytes; 0 means MaxBody. A body that says that it is
	// longer is not read.
	MaxBody int64
	// ContentType is the required type of the body. Empty means application/json; */* means any
	// type, and Open checks it.
	ContentType string
	// Mixed means that a request need not ask for a turn. So neither a missing slot nor a drain
	// refuses it before its body is read.
	Mixed bool
	// NoBody says that the request is complete without a body. A body that comes all the same may
	// have any type and MaxBody bytes; Open does not see it.
	NoBody bool
	// Public says that everybody may ask, also where senders must show a credential.
	Public bool
	// Scopes has the scopes that suffice, each alone; 0 stands for those that allow turns.
	Scopes chat.Scopes
	// Use says how limits count a request.
	Use Use
	// LabelsUsers means that the user in a request is a label of the client's. A user that the
	// credential does not allow is ignored, and not refused.
	LabelsUsers bool
	// Retracts means that its encoders can word a stream.Reset, the event that shortens the sent
	// text. Without it an answer that was begun is not begun again.
	Retracts bool
	// Headers are request headers of its own, which allowed foreign pages may set too.
	Headers []string
	// Reconnects means that its clients send a request again by themselves, as an EventSource does.
	// A repeated idempotency key gets 204 in place of a refusal, since that stops them.
	Reconnects bool
	// Repeats returns which repetition a request is that the client's library sends by itself, with
	// a lost connection for instance; 0: a first try. A repetition without a key is refused if it
	// equals a turn of the last ten minutes, unless X-Should-Retry has allowed it. It is equal by
	// path, body and sender. nil: libraries do not repeat by themselves.
	Repeats func(r *http.Request) int
	// Open reads a request. Its error is reported by Refuse: a *chat.ValidationError, a
	// *fault.Error, or a bug. It is called after all other decisions about the request, except the
	// admission of a turn. r has the values of the path (PathValue), the query and the headers. Its
	// context, with the request's logger and id, ends with the reply. It may be called
	// concurrently.
	Open func(r *http.Request, body []byte) (*Exchange, error)
	// Resume returns the encoder of a stored turn: for its own client, and for each that returns
	// with an id of its events or its idempotency key. nil: a turn of this route is reported once.
	Resume func(StoredTurn) stream.Encoder
	// User returns the user that a body names. It is for requests that resume a turn, as Open does
	// not read them. nil: only the query names users.
	User func(body []byte) (string, error)
	// Refuse words a refusal; nil means Problem. It also words refusals before a request gets here,
	// as for a method that the path does not take.
	Refuse func(Refusal) Reply
}

// Use is the purpose of a request. Limits count the request by it.
type Use uint8

// Uses of a request.
const (
	Turn   Use = iota // it may start a turn
	Read              // it reads what there is
	Free              // it gives something back or is free of cost: limits never refuse it
	Either            // Turn, Read or Free, by what its body says: Open calls ChargeFor
	Paid              // a Turn whose request was counted when its ticket was issued
)

// Exchange is one request and its answer: a ready reply, a stream about a turn under way, or a new
// turn.
type Exchange struct {
	// Reply answers at once. nil: Follow does, or Request is run as a turn.
	Reply *Reply
	// Follow reports something else than a turn of its own, as a stream, with the usual heartbeats
	// and deadlines; Encoder is asked for heartbeats alone. It returns true if that was all there
	// is to report. ctx ends with the client. nil: Request is run.
	Follow func(ctx context.Context, out Frames) bool
	// Followed is the stored turn that Follow reports, or empty.
	Followed string

	Request chat.Request
	Repetition
	// Header is added to that of the turn's reply. nil: nothing is.
	Header  http.Header
	Encoder stream.Encoder
	// TaskID is the task that the input is for; empty: it begins one.
	TaskID string
	// MessageID is the client's id of its message, for the task's history; empty without one.
	MessageID string
	Answering
	// Accumulated and Facts are stored with the turn, for Route.Resume. An encoder needs Facts to
	// make the same bytes of its log: one JSON value of at most MaxFacts bytes, or nil.
	Accumulated bool
	Facts       []byte
	// BeatEvents is true if heartbeats are events in place of the Encoder's.
	BeatEvents bool
	// Mode says what becomes of the turn without its client.
	Mode Mode
	Form Form // of what Encoder writes
	// Words reports whether a Document can word a fatal error of a type, so that it is sent all the
	// same. nil stands for false.
	Words func(fault.Type) bool
	// Refuse words a refusal of this request in place of Route.Refuse. nil: that.
	Refuse func(Refusal) Reply
	// Begun is called when the turn is admitted, with what ends it. May be nil.
	Begun func(context.CancelCauseFunc)
	// Output wraps the output to the client. nil leaves it as it is.
	Output func(stream.Output) stream.Output
	// Close is called once when a turn that was admitted is over, however it went: to
	// its Done, or with a client that left. May be nil.
	Close func()
}

// Answering has the members of a request that answers a question.
type Answering struct {
	// Approval answers a question: Request then names the person, and the paused turn continues.
	// nil: Request asks for a turn.
	Approval *chat.Answer
	// Decides is the task whose question Approval answers; empty: it has a token.
	Decides string
	// RunsOn means that a workflow's run that continues with Approval is Detached: the request does
	// not say that leaving cancels it.
	RunsOn bool
}

// Repetition says how a request is known again.
type Repetition struct {
	// Key is the idempotency key, as HeaderKey reads it; empty: none.
	Key string
	// KeyMade says that Key was made of the request, which brings none: a store that does not
	// answer is done without.
	KeyMade bool
	// Keyed is what Key must not come with in another form; nil: path, query and body.
	Keyed []byte
	// Attach says that a repeated Key is answered by the turn that it was used for, reported
	// once more by Encoder, where Route.Resume is nil.
	Attach bool
	// RepeatEncoder makes the encoder for Attach in place of Encoder, if its ids and times are
	// those of the turn and not of the repeated request. nil: Encoder.
	RepeatEncoder func(StoredTurn) stream.Encoder
}

// Form is the way in which the output of an Encoder is sent.
type Form int

const (
	// Streamed: frame by frame.
	Streamed Form = iota
	// Document: as one JSON document when the turn is over, with status 200. A turn that ends
	// by a fatal error is refused instead.
	Document
	// AnyDocument is Document, and Encoder words a fatal error too.
	AnyDocument
)

// Mode says what becomes of a turn without its client, and whether the client waits for it.
type Mode int

const (
	// Attached: the turn ends with its client.
	Attached Mode = iota
	// Detached: it continues when its client leaves, if it is kept.
	Detached
	// Early is Detached, and the document is sent at the first event. A turn that cannot be
	// kept is refused.
	Early
	// Unattended is Detached, and its client gets the task at once, and no stream, if it is kept.
	Unattended
)

// Frames is where Exchange.Follow writes. An error means that the client is gone.
type Frames interface {
	WriteFrame(frame []byte) error
	Flush() error
}

// StoredTurn says how a turn that is kept was asked for.
type StoredTurn struct {
	TurnID, RequestID string
	Accumulated       bool
	// Dialect is the protocol of the turn's request, Began its time, and Facts the facts for its
	// encoder (Exchange.Facts).
	Dialect string
	Began   time.Time
	Facts   []byte
}

// Skipper is an Encoder that accepts events whose frames are not wanted, at less
// cost than that of encoding them.
type Skipper interface{ Skip(stream.Event) }

// Reply is an HTTP response that is not a stream.
type Reply struct {
	Status      int         // 0 means 200
	ContentType string      // empty means application/json
	Header      http.Header // others; may be nil
	Body        []byte
}

// JSON returns the reply that is a JSON text.
func JSON(text []byte) *Reply { return &Reply{Body: text} }

// Name is the name of the route's protocol.
func (r *Route) Name() string { return cmp.Or(r.Dialect, Native) }
