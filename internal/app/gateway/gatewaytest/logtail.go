package gatewaytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// LogTail is a stdout whose lines a test can wait for.
type LogTail struct {
	mu      sync.Mutex // guards the fields below
	text    []byte     // of a line that is not whole yet
	lines   []LogLine
	changed chan struct{} // closed with the next line; nil: nobody waits
}

// LogLine is one line, and what stood in it.
type LogLine struct {
	Raw    string
	Fields map[string]any
	err    error
}

// Write takes lines, or parts of them.
func (l *LogTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := append(l.text, p...)
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			break
		}
		entry := LogLine{Raw: string(line)}
		entry.err = json.Unmarshal(line, &entry.Fields)
		l.lines = append(l.lines, entry)
		rest = after
	}
	l.text = append([]byte(nil), rest...)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return len(p), nil
}

// Since returns the lines from the nth on, and a channel that is closed when there are more.
func (l *LogTail) Since(n int) ([]LogLine, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return slices.Clone(l.lines[min(n, len(l.lines)):]), l.changed
}

// Await returns the first line with the event and the details (name, value, …) given. ended is
// closed after the last line; it may be nil.
func (l *LogTail) Await(t *testing.T, event string, ended <-chan struct{}, details ...string) LogLine {
	t.Helper()
	return l.AwaitAll(t, 1, event, ended, details...)[0]
}

// AwaitAll is Await for n lines.
func (l *LogTail) AwaitAll(t *testing.T, n int, event string, ended <-chan struct{}, details ...string) []LogLine {
	t.Helper()
	timeout := time.After(Patience)
	for last := false; ; {
		_, more := l.Since(0) // first, so that no line comes in between
		if lines := l.All(event, details...); len(lines) >= n {
			return lines
		}
		if last {
			t.Fatalf("the program ended without %d log lines %s %v:\n%s", n, event, details, l)
		}
		select {
		case <-more:
		case <-ended:
			last = true
		case <-timeout:
			t.Fatalf("there are no %d log lines %s %v:\n%s", n, event, details, l)
		}
	}
}

// All returns the lines with the event and the details given.
func (l *LogTail) All(event string, details ...string) []LogLine {
	lines, _ := l.Since(0)
	return slices.DeleteFunc(lines, func(e LogLine) bool { return !e.Is(event, details...) })
}

// String returns the whole lines.
func (l *LogTail) String() string {
	lines, _ := l.Since(0)
	var b strings.Builder
	for _, e := range lines {
		b.WriteString(e.Raw + "\n")
	}
	return b.String()
}

// Is says whether it is the event, with the details (name, value, …) given.
func (e LogLine) Is(event string, details ...string) bool {
	if e.Fields["event"] != event {
		return false
	}
	for pair := range slices.Chunk(details, 2) {
		if e.Detail(pair[0]) != pair[1] {
			return false
		}
	}
	return true
}

// Detail returns a member of details as text, or "" without one.
func (e LogLine) Detail(name string) string {
	details, _ := e.Fields["details"].(map[string]any)
	v, ok := details[name]
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

// Check looks at every line: one whole JSON object each, with the fields that
// docs/operations.md lists and no others.
func (l *LogTail) Check(t *testing.T) {
	t.Helper()
	lines, _ := l.Since(0)
	for _, e := range lines {
		if err := e.checkLine(); err != nil {
			t.Errorf("log line: %v: %s", err, e.Raw)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > 0 {
		t.Errorf("the log ends within a line: %q", l.text)
	}
}

func (e LogLine) checkLine() error {
	if e.err != nil {
		return e.err
	}
	if !jsontext.Value(e.Raw).IsValid() { // refuses repeated members, too
		return fmt.Errorf("no valid JSON")
	}
	known := []string{"timestamp", "level", "request_id", "event", "duration_ms", "details", "user_id", "conversation_id"}
	for name := range e.Fields {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the field %q is not in the contract", name)
		}
	}
	at, _ := e.Fields["timestamp"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil {
		return fmt.Errorf("timestamp %q", at)
	}
	if !slices.Contains([]any{"DEBUG", "INFO", "WARNING", "ERROR"}, e.Fields["level"]) {
		return fmt.Errorf("level %v", e.Fields["level"])
	}
	if _, ok := e.Fields["request_id"].(string); !ok {
		return fmt.Errorf("request_id %v", e.Fields["request_id"])
	}
	if name, _ := e.Fields["event"].(string); name == "" {
		return fmt.Errorf("event %v", e.Fields["event"])
	}
	if _, ok := e.Fields["details"].(map[string]any); !ok {
		return fmt.Errorf("details %v", e.Fields["details"])
	}
	return nil
}

// Dam is a reader of stdout that does not read until Release.
type Dam struct {
	open chan struct{}
	once sync.Once
	LogTail
}

// NewDam returns one that is closed.
func NewDam() *Dam { return &Dam{open: make(chan struct{})} }

// Write waits for Release.
func (d *Dam) Write(p []byte) (int, error) {
	<-d.open
	return d.LogTail.Write(p)
}

// Release lets everything through, from now on.
func (d *Dam) Release() { d.once.Do(func() { close(d.open) }) }
