package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// logTail is a stdout whose lines a test can wait for.
type logTail struct {
	mu      sync.Mutex // guards the fields below
	text    []byte     // of a line that is not whole yet
	lines   []logLine
	changed chan struct{} // closed with the next line; nil: nobody waits
}

type logLine struct {
	raw    string
	fields map[string]any
	err    error
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := append(l.text, p...)
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			break
		}
		entry := logLine{raw: string(line)}
		entry.err = json.Unmarshal(line, &entry.fields)
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

// since returns the lines from the nth on, and what is closed when there are more.
func (l *logTail) since(n int) ([]logLine, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return slices.Clone(l.lines[min(n, len(l.lines)):]), l.changed
}

// await returns the first line with the event and the details (name, value, …)
// given. ended says that there will be none any more; it may be nil.
func (l *logTail) await(t *testing.T, event string, ended <-chan struct{}, details ...string) logLine {
	t.Helper()
	return l.awaitAll(t, 1, event, ended, details...)[0]
}

// awaitAll is await for n lines.
func (l *logTail) awaitAll(t *testing.T, n int, event string, ended <-chan struct{}, details ...string) []logLine {
	t.Helper()
	timeout := time.After(patience)
	for last := false; ; {
		_, more := l.since(0) // first, lest a line comes in between
		if lines := l.all(event, details...); len(lines) >= n {
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

// all returns the lines with the event and the details given.
func (l *logTail) all(event string, details ...string) []logLine {
	lines, _ := l.since(0)
	return slices.DeleteFunc(lines, func(e logLine) bool { return !e.is(event, details...) })
}

func (l *logTail) String() string {
	lines, _ := l.since(0)
	var b strings.Builder
	for _, e := range lines {
		b.WriteString(e.raw + "\n")
	}
	return b.String()
}

func (e logLine) is(event string, details ...string) bool {
	if e.fields["event"] != event {
		return false
	}
	for pair := range slices.Chunk(details, 2) {
		if e.detail(pair[0]) != pair[1] {
			return false
		}
	}
	return true
}

// detail returns a member of details as text; "" if there is none.
func (e logLine) detail(name string) string {
	details, _ := e.fields["details"].(map[string]any)
	v, ok := details[name]
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

var (
	logTime   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	logLevels = []any{"DEBUG", "INFO", "WARNING", "ERROR"}
	logFields = []string{"timestamp", "level", "request_id", "event", "duration_ms", "details", "user_id", "conversation_id"}
)

// check looks at every line: one whole JSON object each, as in CONTRACT section 6.
func (l *logTail) check(t *testing.T) {
	t.Helper()
	lines, _ := l.since(0)
	for _, e := range lines {
		if err := e.check(); err != nil {
			t.Errorf("log line: %v: %s", err, e.raw)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > 0 {
		t.Errorf("the log ends within a line: %q", l.text)
	}
}

func (e logLine) check() error {
	if e.err != nil {
		return e.err
	}
	if !jsontext.Value(e.raw).IsValid() { // also refuses what is there twice
		return fmt.Errorf("no valid JSON")
	}
	for name := range e.fields {
		if !slices.Contains(logFields, name) {
			return fmt.Errorf("the field %q is not in the contract", name)
		}
	}
	at, _ := e.fields["timestamp"].(string)
	if _, err := time.Parse(time.RFC3339, at); err != nil || !logTime.MatchString(at) {
		return fmt.Errorf("timestamp %q", at)
	}
	if !slices.Contains(logLevels, e.fields["level"]) {
		return fmt.Errorf("level %v", e.fields["level"])
	}
	if _, ok := e.fields["request_id"].(string); !ok {
		return fmt.Errorf("request_id %v", e.fields["request_id"])
	}
	if name, _ := e.fields["event"].(string); name == "" {
		return fmt.Errorf("event %v", e.fields["event"])
	}
	if _, ok := e.fields["details"].(map[string]any); !ok {
		return fmt.Errorf("details %v", e.fields["details"])
	}
	return nil
}
