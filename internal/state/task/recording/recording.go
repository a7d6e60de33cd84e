// Package recording stores the inputs and outputs of a turn. An operator can see the turn again as
// it was (Play), or run another build with the same inputs and compare (Player, Compare).
//
// A recording is one file of JSON lines: a Head, then entries in the order in which things
// happened, each with its time, then a line that seals it. The inputs of a turn are its request,
// each HTTP exchange with a model or a receiver of answers, each offered set of tools, and the
// outcome of each tool call. Decisions of the tool layer, such as retries, breakers and caches, are
// behind that line. A turn that runs again receives the same, whatever the state of the process.
// The state of a store is not an input. A turn that continues with stored state says so
// (Continues), and can only be played.
//
// Keys are not recorded: of the headers of requests only a few harmless ones are, and none
// of those that go to upstreams. Texts are, all of them.
package recording

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// format is the version of the files that this program writes. It reads older ones.
const format = 1

// Errors of files, to be tested for with errors.Is.
var (
	// ErrNone: the file is not a recording.
	errNone = errors.New("this is no recording")
	// ErrCut: its end is missing, as after a crash, or while the turn runs.
	errCut = errors.New("the recording was cut: its end is missing")
	// ErrAltered: it is not as it was written.
	errAltered = errors.New("the recording was altered: its checksum is another one")
	// ErrNewer: a later version of the program has written it.
	errNewer = errors.New("a newer version of this program has written the recording")
)

// Head is the first line.
type Head struct {
	Format  int    `json:"sluice_recording"`
	Version string `json:"version"` // of the program
	// At is when the request came. The times of entries count from then.
	At      time.Time `json:"at"`
	Request Request   `json:"request"`
	// Stored says that the gateway had a store, so that events have ids of tasks.
	Stored bool `json:"stored"`
	// Continues names the state that the turn continued with and that the recording lacks. If it is
	// empty, the turn can run again.
	Continues string `json:"continues,omitempty"`
}

// Request is the client's request.
type Request struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // path and query
	Header http.Header `json:"header"`
	Body   Text        `json:"body"`
}

// Kind is the kind of an Entry.
type Kind string

// Kinds. N numbers exchanges and calls, each from 1.
const (
	kindAsk      Kind = "ask"      // N: a request to an upstream: Method, URL, Data
	kindAnswer   Kind = "answer"   // N: the head of its reply: Status, Header
	kindData     Kind = "data"     // N: a part of the reply's body: Data
	kindClose    Kind = "close"    // N: its end; with Lost the exchange failed
	kindOffer    Kind = "offer"    // Of was offered Set, spelled out the first time
	kindName     Kind = "name"     // Of ("server/tool") has the name Data
	kindCall     Kind = "call"     // N: call of a tool by Of: Tool, Data
	kindProgress Kind = "progress" // N: of the call
	kindResult   Kind = "result"   // N: of the call: Result or Failure
	kindReply    Kind = "reply"    // the head of the reply to the client: Status, Header
	kindOut      Kind = "out"      // a part of its body: Data
	kindAbort    Kind = "abort"    // the reply was cut off on purpose
	kindNote     Kind = "note"     // Lost is a Head.Continues that was unknown when the turn began
	end          Kind = "end"      // the last line
)

// Entry is a line. Its Kind decides which fields are set.
type Entry struct {
	At   int64 `json:"at_us"` // microseconds since Head.At
	Kind Kind  `json:"kind"`
	N    int   `json:"n,omitempty"`

	Method string      `json:"method,omitempty"`
	URL    string      `json:"url,omitempty"` // path and query
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Data   *Text       `json:"data,omitempty"`
	Lost   string      `json:"lost,omitempty"`

	Of       string         `json:"of,omitempty"`
	Set      int            `json:"set,omitempty"`
	Tools    *Set           `json:"tools,omitempty"`
	Tool     string         `json:"tool,omitempty"`
	CallID   string         `json:"call_id,omitempty"`
	Progress *tool.Progress `json:"progress,omitempty"`
	Result   *tool.Result   `json:"result,omitempty"`
	Failure  *Failure       `json:"failure,omitempty"`

	Lines  int    `json:"lines,omitempty"`  // of the end: those before it
	SHA256 string `json:"sha256,omitempty"` // of those
}

// dataBytes returns the entry's data. It is nil without any, as anybody may have written the file.
func (e *Entry) dataBytes() []byte {
	if e.Data == nil {
		return nil
	}
	return *e.Data
}

// Set is a tool.Set as it is recorded.
type Set struct {
	Specs       []tool.Spec   `json:"specs"`
	Unavailable []Unavailable `json:"unavailable,omitempty"`
}

// Unavailable is a tool.UnavailableServer.
type Unavailable struct {
	Server  string  `json:"server"`
	Failure Failure `json:"failure"`
}

// Failure is a *fault.Error, or another error, of which only the text is kept.
type Failure struct {
	Type       fault.Type    `json:"type,omitempty"` // empty if it was not a *fault.Error
	Message    string        `json:"message"`
	Hint       string        `json:"hint,omitempty"`
	Service    string        `json:"service,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Unknown    bool          `json:"unknown,omitempty"`
	NoEffect   bool          `json:"no_effect,omitempty"`
	Cause      string        `json:"cause,omitempty"`
}

// failureOf returns err as it is recorded; nil for nil.
func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return &Failure{Message: err.Error()}
	}
	out := &Failure{Type: f.Type, Message: f.Message, Hint: f.Hint, Service: f.Service, RetryAfter: f.RetryAfter, Unknown: f.Unknown, NoEffect: f.NoEffect}
	if f.Err != nil {
		out.Cause = f.Err.Error()
	}
	return out
}

// asError returns the error that f was.
func (f *Failure) asError() error {
	if f == nil {
		return nil
	}
	if f.Type == "" {
		return errors.New(f.Message)
	}
	out := &fault.Error{Type: f.Type, Message: f.Message, Hint: f.Hint, Service: f.Service, RetryAfter: f.RetryAfter, Unknown: f.Unknown, NoEffect: f.NoEffect}
	if f.Cause != "" {
		out.Err = errors.New(f.Cause)
	}
	return out
}

// Text is bytes: in JSON a string if they are UTF-8, as a part of a stream need not be, and
// else an object with their base64.
type Text []byte

// encoded is a Text that is not UTF-8.
type encoded struct {
	Base64 string `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.Valid(t) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{base64.StdEncoding.EncodeToString(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = Text(s)
		return nil
	}
	var e encoded
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(e.Base64)
	*t = b
	return err
}

// Recording is a file that was read.
type Recording struct {
	Head
	Entries []Entry
}

const (
	// magic is how a recording begins.
	magic = `{"sluice_recording":`
	// maxRead bounds the file that is read: the largest Config.Max.
	maxRead = 64 << 30
	// maxLine bounds a line: the pending bytes of a turn (maxPending), with six bytes for each.
	maxLine = 64 << 20
)

// Read reads a recording. Its error wraps one of those above, or is that of r.
func Read(r io.Reader) (*Recording, error) {
	in := bufio.NewReader(io.LimitReader(r, maxRead))
	sum := sha256.New()
	out := new(Recording)
	for lines := 0; ; lines++ {
		line, err := readNextLine(in)
		switch {
		case err == errLong && lines == 0 && !bytes.HasPrefix(line, []byte(magic)):
			return nil, errNone
		case err == errLong:
			return nil, fmt.Errorf("%w (line %d)", errAltered, lines+1)
		case err != nil && err != io.EOF:
			return nil, err
		case lines == 0:
			if err := out.readHead(line); err != nil {
				return nil, err
			}
			if err == io.EOF {
				return nil, errCut
			}
		case err == io.EOF: // a line has its end, and the last one is the seal
			return nil, errCut
		default:
			var e Entry
			if err := json.Unmarshal(line, &e); err != nil {
				return nil, fmt.Errorf("%w (line %d)", errAltered, lines+1)
			}
			if e.Kind == end {
				return out, checkLastLine(in, line, sealLine(lines, sum.Sum(nil)))
			}
			if e.Kind == kindNote {
				out.Continues = e.Lost
			}
			out.Entries = append(out.Entries, e)
		}
		sum.Write(line)
	}
}

// errLong says that a line has more than maxLine bytes.
var errLong = errors.New("the line is too long")

// readNextLine returns the next line with its end. With an error the line is not whole.
func readNextLine(in *bufio.Reader) (line []byte, err error) {
	for len(line) <= maxLine {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
	return line, errLong
}

// readHead reads the first line.
func (r *Recording) readHead(line []byte) error {
	if !bytes.HasPrefix(line, []byte(magic)) {
		return errNone
	}
	var f struct {
		Format int `json:"sluice_recording"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return errCut
	}
	if f.Format > format {
		return fmt.Errorf("%w: format %d, and this one reads up to %d", errNewer, f.Format, format)
	}
	if err := json.Unmarshal(line, &r.Head); err != nil {
		return fmt.Errorf("%w (line 1)", errAltered)
	}
	return nil
}

// sealLine returns the last line.
func sealLine(lines int, sum []byte) []byte {
	line, _ := json.Marshal(Entry{Kind: end, Lines: lines, SHA256: hex.EncodeToString(sum)})
	return append(line, '\n')
}

// checkLastLine compares the last line with the expected one.
func checkLastLine(in *bufio.Reader, line, want []byte) error {
	if _, err := in.ReadByte(); err != io.EOF || !bytes.Equal(line, want) {
		return errAltered
	}
	return nil
}

// Body returns the bytes that the client got.
func (r *Recording) Body() []byte {
	var all []byte
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == kindOut {
			all = append(all, e.dataBytes()...)
		}
	}
	return all
}
