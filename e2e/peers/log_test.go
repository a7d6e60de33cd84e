package peers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// logLine is a line of the gateway's log.
type logLine struct {
	Level     string
	RequestID string `json:"request_id"`
	Event     string
	Details   map[string]any
}

// detail returns a member of details as text; "" if there is none.
func (l logLine) detail(name string) string {
	v, ok := l.Details[name]
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

// log returns the lines of an event, oldest first, whose details hold the names and
// values given.
func (g *gateway) log(event string, details ...string) []logLine {
	return logLines(g.out.String(), event, details...)
}

func logLines(text, event string, details ...string) (found []logLine) {
	for line := range strings.Lines(text) {
		var l logLine
		if json.Unmarshal([]byte(line), &l) != nil || l.Event != event { // the banner is no JSON
			continue
		}
		fits := true
		for pair := range slices.Chunk(details, 2) {
			fits = fits && l.detail(pair[0]) == pair[1]
		}
		if fits {
			found = append(found, l)
		}
	}
	return found
}

// awaitLog waits for a line in the log and returns the first one.
func (g *gateway) awaitLog(t testing.TB, event string, details ...string) logLine {
	t.Helper()
	return g.awaitLogs(t, 1, event, details...)[0]
}

// awaitLogs waits until there are n such lines.
func (g *gateway) awaitLogs(t testing.TB, n int, event string, details ...string) (lines []logLine) {
	t.Helper()
	err := g.await(fmt.Sprintf("%d log lines %s %v", n, event, details), func(text string) bool {
		lines = logLines(text, event, details...)
		return len(lines) >= n
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
