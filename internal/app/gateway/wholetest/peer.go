package wholetest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Peer is a further gateway.
type Peer struct{ Client http.Client }

// Resume requests the events behind an event.
func (p Peer) Resume(t *testing.T, path, lastEventID string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s behind %s broke off: %v", path, lastEventID, err)
	}
	return resp.StatusCode, string(all)
}

// Turn is what tests look at of a turn.
type Turn struct {
	Decision, Method, Agent string
	Final, Reason, Task     string
	Conversation            string
	Errors                  []string // error_type, of those that are not fatal in brackets
}

// RunTurn runs a turn and returns its report.
func (p Peer) RunTurn(t *testing.T, body string) (got Turn) {
	t.Helper()
	status, text := p.Ask(t, http.MethodPost, "/chat/stream", body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, status, text)
	}
	time.Sleep(time.Millisecond) // fake time stands still: which task is the newest is reported by it
	for frame := range strings.SplitSeq(text, "\n\n") {
		_, event, _ := strings.Cut(frame, "event: ")
		event, data, ok := strings.Cut(event, "\ndata: ")
		if !ok {
			continue
		}
		var ev struct {
			Decision, Method string
			Agent            string `json:"agent_id"`
			Final            string `json:"final_output"`
			Reason           string `json:"finish_reason"`
			Task             string `json:"task_id"`
			Conversation     string `json:"conversation_id"`
			Type             string `json:"error_type"`
			Fatal            bool
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		switch event {
		case "start":
			got.Task, got.Conversation = ev.Task, ev.Conversation
		case "route":
			got.Decision, got.Method, got.Agent = ev.Decision, ev.Method, ev.Agent
		case "error":
			name := ev.Type
			if !ev.Fatal {
				name = "(" + name + ")"
			}
			got.Errors = append(got.Errors, name)
		case "done":
			got.Final, got.Reason = ev.Final, ev.Reason
		}
	}
	return got
}

// Input returns a body; more is further members, with a comma in front.
func Input(text, more string) string {
	quoted, _ := json.Marshal(text)
	return `{"input":` + string(quoted) + more + `}`
}

// OfAnn is the members of a request that name a conversation of Ann's.
const OfAnn = `,"conversation_id":"conv_1","user_id":"ann"`

// Send sends a request; the headers are pairs.
func (p Peer) Send(t *testing.T, ctx context.Context, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-ID", RequestID)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Ask is Send for a request whose reply is read at once.
func (p Peer) Ask(t *testing.T, method, path, body string, headers ...string) (status int, reply string) {
	t.Helper()
	resp := p.Send(t, t.Context(), method, path, body, headers...)
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s broke off: %v", method, path, err)
	}
	return resp.StatusCode, string(all)
}

// Task returns the document of a task.
func (p Peer) Task(t *testing.T, id string) (d Document) {
	t.Helper()
	_, text := p.Ask(t, http.MethodGet, "/tasks/"+id, "")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}
