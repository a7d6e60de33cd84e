package gatewaytest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Frame is one event as it stood on the wire.
type Frame struct {
	Kind string
	Raw  string // the JSON of its data line
	Data map[string]any
}

// Str returns a member of the data as text.
func (f Frame) Str(name string) string { return fmt.Sprint(f.Data[name]) }

// TurnStream reads one reply, byte by byte as docs/events.md has it: stricter
// than any client, and written without a look at stream/sse.
type TurnStream struct {
	body    io.Closer
	br      *bufio.Reader
	Request string            // X-Request-ID of the reply
	ids     string            // begin of the ids: the request's, or the turn's with a store
	n       int               // events so far
	Pings   int               // heartbeats so far
	text    string            // of the deltas so far
	tools   []any             // names in order of call
	calls   map[string]string // by call_id: the last status
	fatal   bool              // the last event was a fatal error
	done    bool
}

// NewTurnStream reads the body of resp.
func NewTurnStream(resp *http.Response) *TurnStream {
	return &TurnStream{body: resp.Body, br: bufio.NewReader(resp.Body), Request: resp.Header.Get("X-Request-ID"), calls: map[string]string{}}
}

// Leave closes the connection, as a client does that has lost interest.
func (s *TurnStream) Leave() { _ = s.body.Close() }

// All reads the remaining events. They must end with done.
func (s *TurnStream) All(t *testing.T) []Frame {
	t.Helper()
	frames, err := s.ReadToEnd()
	if err != nil {
		t.Fatalf("the stream %s is not as it should be: %v", s.Request, err)
	}
	return frames
}

// ReadToEnd reads to the end of the stream.
func (s *TurnStream) ReadToEnd() (frames []Frame, err error) {
	defer s.body.Close()
	for {
		f, err := s.Next()
		if errors.Is(err, io.EOF) && s.done {
			return frames, nil
		}
		if err != nil {
			return frames, fmt.Errorf("after %d events: %w", s.n, err)
		}
		frames = append(frames, f)
	}
}

// Until reads up to the first event of a kind.
func (s *TurnStream) Until(t *testing.T, kind string) Frame {
	t.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", kind, err)
		}
		if f.Kind == kind {
			return f
		}
	}
}

// Next returns the next event. Comments between events are skipped. io.EOF is the
// end between two events; an end anywhere else is io.ErrUnexpectedEOF.
func (s *TurnStream) Next() (Frame, error) {
	first, err := s.readLine()
	if err != nil {
		return Frame{}, err
	}
	if first == ": ping" {
		if err := s.expectLine(""); err != nil {
			return Frame{}, err
		}
		s.Pings++
		return s.Next()
	}
	if s.n == 0 {
		retry := first
		if first, err = s.readLine(); err != nil {
			return Frame{}, unexpectedEnd(err)
		}
		switch kept := strings.HasPrefix(first, "id: turn_"); {
		case !kept && retry == "retry: 86400000":
			s.ids = "id: " + s.Request + ":"
		case kept && retry == "retry: 1000":
			s.ids = strings.TrimSuffix(first, "1")
		default:
			return Frame{}, fmt.Errorf("the stream begins with %q, %q", retry, first)
		}
	}
	s.n++
	if want := s.ids + strconv.Itoa(s.n); first != want {
		return Frame{}, fmt.Errorf("got %q, want %q", first, want)
	}
	f, err := s.readBlock()
	if err != nil {
		return Frame{}, unexpectedEnd(err)
	}
	return f, s.checkEvent(f)
}

// readBlock reads the lines behind the id.
func (s *TurnStream) readBlock() (f Frame, err error) {
	kind, err := s.readField("event: ")
	if err != nil {
		return f, err
	}
	data, err := s.readField("data: ")
	if err != nil {
		return f, err
	}
	if err := s.expectLine(""); err != nil {
		return f, err
	}
	if data[0] != '{' || !jsontext.Value(data).IsValid() {
		return f, fmt.Errorf("data is no JSON object: %q", data)
	}
	f = Frame{Kind: kind, Raw: data}
	return f, json.Unmarshal([]byte(data), &f.Data)
}

func (s *TurnStream) readField(prefix string) (string, error) {
	line, err := s.readLine()
	if err != nil {
		return "", err
	}
	value, ok := strings.CutPrefix(line, prefix)
	if !ok || value == "" {
		return "", fmt.Errorf("got %q, want a line %s…", line, prefix)
	}
	return value, nil
}

func (s *TurnStream) expectLine(want string) error {
	got, err := s.readLine()
	if err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return unexpectedEnd(err)
}

// readLine reads a line without its LF. The only end is one at the start of a line.
func (s *TurnStream) readLine() (string, error) {
	line, err := s.br.ReadString('\n')
	if err != nil {
		if line != "" {
			err = unexpectedEnd(err)
		}
		return "", err
	}
	if strings.ContainsAny(line, "\r\x00") {
		return "", fmt.Errorf("a line holds CR or NUL: %q", line)
	}
	return line[:len(line)-1], nil
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkEvent checks an event against those before it.
func (s *TurnStream) checkEvent(f Frame) error {
	switch {
	case f.Data["request_id"] != s.Request:
		return fmt.Errorf("%s: request_id is not that of the reply's header: %s", f.Kind, f.Raw)
	case s.done:
		return fmt.Errorf("%s after done", f.Kind)
	case (f.Kind == "start") != (s.n == 1):
		return fmt.Errorf("%s is event %d", f.Kind, s.n)
	case s.fatal && f.Kind != "done":
		return fmt.Errorf("%s between a fatal error and done", f.Kind)
	}
	switch f.Kind {
	case "start", "thinking", "model", "route", "agent":
	case "response_delta":
		return s.checkDelta(f)
	case "response_reset":
		s.text = f.Str("accumulated")
	case "tool_call":
		return s.checkCall(f)
	case "error":
		s.fatal = f.Data["fatal"] == true
	case "done":
		s.done = true
		return s.checkEnd(f)
	default:
		return fmt.Errorf("%s is no event", f.Kind)
	}
	return nil
}

func (s *TurnStream) checkDelta(f Frame) error {
	delta, _ := f.Data["delta"].(string)
	s.text += delta
	if acc, ok := f.Data["accumulated"]; delta == "" || ok && acc != s.text {
		return fmt.Errorf("a delta that does not fit: %s", f.Raw)
	}
	return nil
}

func (s *TurnStream) checkCall(f Frame) error {
	id, status := f.Str("call_id"), f.Str("status")
	switch before := s.calls[id]; status {
	case "in_progress":
		s.tools = append(s.tools, f.Data["tool_name"])
		if before != "" {
			return fmt.Errorf("call %s begins twice", id)
		}
	case "completed", "failed", "unknown":
		if before != "in_progress" {
			return fmt.Errorf("call %s is %s, and was %q", id, status, before)
		}
	default:
		return fmt.Errorf("status %q", status)
	}
	s.calls[id] = status
	return nil
}

func (s *TurnStream) checkEnd(f Frame) error {
	for id, status := range s.calls {
		if status == "in_progress" {
			return fmt.Errorf("call %s is open at the end", id)
		}
	}
	if f.Data["final_output"] != s.text {
		return fmt.Errorf("final_output is not the deltas joined: %s", f.Raw)
	}
	if got, want := fmt.Sprint(f.Data["tools_called"]), fmt.Sprint(s.tools); got != want {
		return fmt.Errorf("tools_called is %s, want %s", got, want)
	}
	if f.Data["success"] == s.fatal {
		return fmt.Errorf("success is %v after fatal error: %v", f.Data["success"], s.fatal)
	}
	return nil
}

// Only returns the events of a kind.
func Only(frames []Frame, kind string) (list []Frame) {
	for _, f := range frames {
		if f.Kind == kind {
			list = append(list, f)
		}
	}
	return list
}

// Done returns the last event.
func Done(frames []Frame) Frame { return frames[len(frames)-1] }

// WantSuccess checks how a turn ended.
func WantSuccess(t *testing.T, frames []Frame, finish string) {
	t.Helper()
	if d := Done(frames); d.Data["success"] != true || d.Str("finish_reason") != finish {
		t.Errorf("the turn ended with %s", d.Raw)
	}
}

// WantFailure checks that a turn ended with a fatal error, and returns that.
func WantFailure(t *testing.T, frames []Frame, errorType, finish string) Frame {
	t.Helper()
	if d := Done(frames); d.Data["success"] != false || d.Str("finish_reason") != finish {
		t.Errorf("the turn ended with %s", d.Raw)
	}
	errs := Only(frames, "error")
	if len(errs) == 0 || errs[len(errs)-1].Str("error_type") != errorType || errs[len(errs)-1].Data["fatal"] != true {
		t.Fatalf("got the errors %v, want a fatal %s", errs, errorType)
	}
	return errs[len(errs)-1]
}

// WantResult checks a turn with one tool call, and returns the tool's result.
func WantResult(t *testing.T, frames []Frame, tool string) string {
	t.Helper()
	WantSuccess(t, frames, "stop")
	calls := Only(frames, "tool_call")
	if len(calls) != 2 || calls[1].Str("tool_name") != tool || calls[1].Str("status") != "completed" {
		t.Fatalf("calls: %v", calls)
	}
	return calls[1].Str("result")
}
