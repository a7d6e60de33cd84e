// This file reads a turn as the simplest client would, line by line. It does not use the
// gateway's reader, whose mistakes it would share.

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// event is an event of a stream.
type event struct {
	name string
	raw  string // its data
	data struct {
		ErrorType    string `json:"error_type"`
		FinishReason string `json:"finish_reason"`
	}
}

// turn is a turn as a client sees it.
type turn struct {
	reply
	events []event
}

// runTurn runs a turn, which fails after limit.
func (g *gateway) runTurn(input string, limit time.Duration) turn {
	body := fmt.Sprintf(`{"input":%q,"accumulated":false}`, input)
	return newTurn(g.fetch(limit, http.MethodPost, "/chat/stream", body, "Content-Type: application/json"))
}

// newTurn reads the events of a reply's body.
func newTurn(r reply) turn { return turn{r, parseEvents(r.body)} }

// parseEvents reads a stream as the gateway frames it: one data line an event.
func parseEvents(body string) (events []event) {
	var e event
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			e.raw = data
			_ = json.Unmarshal([]byte(data), &e.data)
		}
		if line == "" && e.name != "" {
			events = append(events, e)
			e = event{}
		}
	}
	return events
}

// endReason returns in a word how the turn ended: its finish reason, the fatal error before it, or
// the failure of the request.
func (t turn) endReason() string {
	if n := len(t.events); n > 0 && t.events[n-1].name == "done" {
		reason := t.events[n-1].data.FinishReason
		if reason == "error" && n > 1 {
			return t.events[n-2].data.ErrorType
		}
		return reason
	}
	var problem struct {
		ErrorType string `json:"error_type"`
	}
	_ = json.Unmarshal([]byte(t.body), &problem)
	switch {
	case problem.ErrorType != "":
		return problem.ErrorType
	case t.err != nil:
		return t.err.Error()
	case t.status == http.StatusOK:
		return "no done"
	}
	return fmt.Sprint("status ", t.status)
}

// countEvents counts events of a name that hold a word in their data.
func (t turn) countEvents(name, word string) (n int) {
	for _, e := range t.events {
		if e.name == name && strings.Contains(e.raw, word) {
			n++
		}
	}
	return n
}
