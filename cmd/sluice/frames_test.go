package main

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

// frame is one event as it stood on the wire.
type frame struct {
	kind string
	raw  string // the JSON of its data line
	data map[string]any
}

func (f frame) str(name string) string { return fmt.Sprint(f.data[name]) }

// turnStream reads one reply, byte by byte as CONTRACT section 4 has it: stricter
// than any client, and written without a look at stream/sse.
type turnStream struct {
	body    io.Closer
	br      *bufio.Reader
	request string            // X-Request-ID of the reply
	n       int               // events so far
	pings   int               // heartbeats so far
	text    string            // of the deltas so far
	tools   []any             // names in order of call
	calls   map[string]string // by call_id: the last status
	fatal   bool              // the last event was a fatal error
	done    bool
}

func newTurnStream(resp *http.Response) *turnStream {
	return &turnStream{body: resp.Body, br: bufio.NewReader(resp.Body), request: resp.Header.Get("X-Request-ID"), calls: map[string]string{}}
}

// leave closes the connection, as a client does that has lost interest.
func (s *turnStream) leave() { _ = s.body.Close() }

// all reads the rest, which must end with done.
func (s *turnStream) all(t *testing.T) []frame {
	t.Helper()
	frames, err := s.rest()
	if err != nil {
		t.Fatalf("the stream %s is not as it should be: %v", s.request, err)
	}
	return frames
}

// rest reads to the end of the stream.
func (s *turnStream) rest() (frames []frame, err error) {
	defer s.body.Close()
	for {
		f, err := s.next()
		if errors.Is(err, io.EOF) && s.done {
			return frames, nil
		}
		if err != nil {
			return frames, fmt.Errorf("after %d events: %w", s.n, err)
		}
		frames = append(frames, f)
	}
}

// until reads up to the first event of a kind.
func (s *turnStream) until(t *testing.T, kind string) frame {
	t.Helper()
	for {
		f, err := s.next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", kind, err)
		}
		if f.kind == kind {
			return f
		}
	}
}

// next returns the next event. Comments between events are skipped. io.EOF is the
// end between two events; an end anywhere else is io.ErrUnexpectedEOF.
func (s *turnStream) next() (frame, error) {
	first, err := s.line()
	if err != nil {
		return frame{}, err
	}
	if first == ": ping" {
		if err := s.expect(""); err != nil {
			return frame{}, err
		}
		s.pings++
		return s.next()
	}
	if s.n == 0 {
		if first != "retry: 86400000" {
			return frame{}, fmt.Errorf("the stream begins with %q", first)
		}
		if first, err = s.line(); err != nil {
			return frame{}, unexpected(err)
		}
	}
	s.n++
	if want := "id: " + s.request + ":" + strconv.Itoa(s.n); first != want {
		return frame{}, fmt.Errorf("got %q, want %q", first, want)
	}
	f, err := s.block()
	if err != nil {
		return frame{}, unexpected(err)
	}
	return f, s.judge(f)
}

// block reads what follows the id.
func (s *turnStream) block() (f frame, err error) {
	kind, err := s.field("event: ")
	if err != nil {
		return f, err
	}
	data, err := s.field("data: ")
	if err != nil {
		return f, err
	}
	if err := s.expect(""); err != nil {
		return f, err
	}
	if data[0] != '{' || !jsontext.Value(data).IsValid() {
		return f, fmt.Errorf("data is no JSON object: %q", data)
	}
	f = frame{kind: kind, raw: data}
	return f, json.Unmarshal([]byte(data), &f.data)
}

func (s *turnStream) field(prefix string) (string, error) {
	line, err := s.line()
	if err != nil {
		return "", err
	}
	value, ok := strings.CutPrefix(line, prefix)
	if !ok || value == "" {
		return "", fmt.Errorf("got %q, want a line %s…", line, prefix)
	}
	return value, nil
}

func (s *turnStream) expect(want string) error {
	got, err := s.line()
	if err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return unexpected(err)
}

// line reads a line without its LF. The only end is one at the start of a line.
func (s *turnStream) line() (string, error) {
	line, err := s.br.ReadString('\n')
	if err != nil {
		if line != "" {
			err = unexpected(err)
		}
		return "", err
	}
	if strings.ContainsAny(line, "\r\x00") {
		return "", fmt.Errorf("a line holds CR or NUL: %q", line)
	}
	return line[:len(line)-1], nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// judge checks an event against those before it.
func (s *turnStream) judge(f frame) error {
	switch {
	case f.data["request_id"] != s.request:
		return fmt.Errorf("%s: request_id is not that of the reply's header: %s", f.kind, f.raw)
	case s.done:
		return fmt.Errorf("%s after done", f.kind)
	case (f.kind == "start") != (s.n == 1):
		return fmt.Errorf("%s is event %d", f.kind, s.n)
	case s.fatal && f.kind != "done":
		return fmt.Errorf("%s between a fatal error and done", f.kind)
	}
	switch f.kind {
	case "start", "thinking":
	case "response_delta":
		return s.delta(f)
	case "tool_call":
		return s.call(f)
	case "error":
		s.fatal = f.data["fatal"] == true
	case "done":
		s.done = true
		return s.end(f)
	default:
		return fmt.Errorf("%s is no event", f.kind)
	}
	return nil
}

func (s *turnStream) delta(f frame) error {
	delta, _ := f.data["delta"].(string)
	s.text += delta
	if acc, ok := f.data["accumulated"]; delta == "" || ok && acc != s.text {
		return fmt.Errorf("a delta that does not fit: %s", f.raw)
	}
	return nil
}

func (s *turnStream) call(f frame) error {
	id, status := f.str("call_id"), f.str("status")
	switch before := s.calls[id]; status {
	case "in_progress":
		s.tools = append(s.tools, f.data["tool_name"])
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

func (s *turnStream) end(f frame) error {
	for id, status := range s.calls {
		if status == "in_progress" {
			return fmt.Errorf("call %s is open at the end", id)
		}
	}
	if f.data["final_output"] != s.text {
		return fmt.Errorf("final_output is not the deltas joined: %s", f.raw)
	}
	if got, want := fmt.Sprint(f.data["tools_called"]), fmt.Sprint(s.tools); got != want {
		return fmt.Errorf("tools_called is %s, want %s", got, want)
	}
	if f.data["success"] == s.fatal {
		return fmt.Errorf("success is %v after fatal error: %v", f.data["success"], s.fatal)
	}
	return nil
}

// only returns the events of a kind.
func only(frames []frame, kind string) (list []frame) {
	for _, f := range frames {
		if f.kind == kind {
			list = append(list, f)
		}
	}
	return list
}

// done returns the last event.
func done(frames []frame) frame { return frames[len(frames)-1] }

// wantSuccess checks how a turn ended.
func wantSuccess(t *testing.T, frames []frame, finish string) {
	t.Helper()
	if d := done(frames); d.data["success"] != true || d.str("finish_reason") != finish {
		t.Errorf("the turn ended with %s", d.raw)
	}
}

// wantFailure checks that a turn ended with a fatal error, and returns that.
func wantFailure(t *testing.T, frames []frame, errorType, finish string) frame {
	t.Helper()
	if d := done(frames); d.data["success"] != false || d.str("finish_reason") != finish {
		t.Errorf("the turn ended with %s", d.raw)
	}
	errs := only(frames, "error")
	if len(errs) == 0 || errs[len(errs)-1].str("error_type") != errorType || errs[len(errs)-1].data["fatal"] != true {
		t.Fatalf("got the errors %v, want a fatal %s", errs, errorType)
	}
	return errs[len(errs)-1]
}
