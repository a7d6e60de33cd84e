package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// view is one reader's view of a turn, over all of its connections. Only one goroutine uses it.
type view struct {
	task, turn      string
	last            int // number of the last event; they count from 1, without gaps but where a gateway goes on
	dones           int
	stray           int // events behind done, or that are not the next one
	reason, failure string
	asks            string             // the kind of the question that ended the turn, or empty
	calls           map[string]string  // the last status of each call
	sum             hash.Hash          // of all bytes of events, in order
	also            func(events.Event) // receives each event too; nil: nobody does
}

// newView returns the view of a reader that has seen nothing.
func newView() *view { return &view{calls: map[string]string{}, sum: sha256.New()} }

// digest returns a text that is equal for readers that received the same.
func (v *view) digest() string { return fmt.Sprintf("%x", v.sum.Sum(nil)[:8]) }

// accept adds an event. It counts events that a reader must never see, and continues: the complete
// view shows the fault better than an early end of the row.
func (v *view) accept(f events.Event) {
	if v.also != nil {
		v.also(f)
	}
	if f.N != v.last+1 && f.N != v.takeoverNumber() || v.dones > 0 || v.turn != "" && f.Turn != v.turn {
		v.stray++
	}
	v.last, v.turn = f.N, f.Turn // so that one gap counts once
	fmt.Fprintf(v.sum, "%d %s %s\n", f.N, f.Name, f.Data)
	switch f.Name {
	case "response_delta", "inner_delta", "thinking", "node": // the most frequent ones say nothing of interest
		return
	}
	var d struct {
		TaskID    string `json:"task_id"`
		CallID    string `json:"call_id"`
		ErrorType string `json:"error_type"`
		Finish    string `json:"finish_reason"`
		Status    string
		Kind      string
		Fatal     bool
	}
	if err := json.Unmarshal(f.Data, &d); err != nil { // half an event
		v.stray++
	}
	switch f.Name {
	case "start":
		v.task = d.TaskID
	case "tool_call":
		v.calls[d.CallID] = d.Status
	case "approval":
		v.asks = d.Kind
	case "error":
		if d.Fatal {
			v.failure = d.ErrorType
		}
	case "done":
		v.dones, v.reason = v.dones+1, d.Finish
	}
}

// takeoverNumber returns the number of the next event if another gateway goes on with the turn.
func (v *view) takeoverNumber() int {
	const gap = 1_000_000
	return (v.last/gap+1)*gap + 1
}

// problem is a reply that is not a stream.
type problem struct {
	Status    int
	ErrorType string `json:"error_type"`
}

// Error names it.
func (p *problem) Error() string { return fmt.Sprint(p.Status, " ", p.ErrorType) }

// isTemporary reports whether the same request may do better later: no gateway is there, none is
// ready, or their store is not.
func (p *problem) isTemporary() bool { return p.Status >= 500 }

// client reads streams. It keeps connections as a balancer or a browser does.
type client struct{ http *http.Client }

// newClient returns one that is good for many streams at the same time.
func newClient() *client {
	return &client{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, IdleConnTimeout: time.Minute}}}
}

// sendRequest sends one. header is names and values.
func (c *client) sendRequest(ctx context.Context, method, url, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return c.http.Do(req)
}

// readStream sends a request and gives its events to each until that returns false or the stream
// ends. The error is a *problem if the reply is not a stream, or the error of a refused connection.
// It is nil for a stream that was cut: only done proves an end, and that is for each to notice.
// Comments and retry lines are passed over.
func (c *client) readStream(ctx context.Context, each func(events.Event) bool, method, url, body string, header ...string) error {
	ctx, cancel := context.WithCancel(ctx) // closes the connection when each has enough
	defer cancel()
	resp, err := c.sendRequest(ctx, method, url, body, header...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		p := &problem{Status: resp.StatusCode}
		text, _ := io.ReadAll(resp.Body)
		_ = json.Unmarshal(text, p)
		p.Status = resp.StatusCode
		return p
	}
	_ = events.Read(resp.Body, each)
	return nil
}

// errGone says that a turn cannot be resumed: no gateway has its log.
var errGone = errors.New("there is no log")

// followTurn reads the rest of a turn at one of several addresses, over as many connections
// as it takes: it is done when done was read. The error is errGone, a *problem that will
// not pass, or that of ctx.
func (c *client) followTurn(ctx context.Context, v *view, urls ...string) error {
	for n := 0; v.dones == 0; n++ {
		err := c.readStream(ctx, func(f events.Event) bool { v.accept(f); return true }, http.MethodGet,
			urls[n%len(urls)]+"/tasks/"+v.task+"/events?turn="+v.turn, "", v.resumeHeader()...)
		p := (*problem)(nil)
		switch {
		case v.dones > 0:
			return nil
		case ctx.Err() != nil:
			return errors.New("no done in time")
		case errors.As(err, &p) && p.Status == http.StatusNoContent: // a browser would stop here, too
			return errGone
		case errors.As(err, &p) && !p.isTemporary():
			return err
		}
		if err := scenario.Pause(ctx, 50*time.Millisecond); err != nil {
			return errors.New("no done in time")
		}
	}
	return nil
}

// resumeHeader returns the header that asks for the missing events, or nil to ask for all.
func (v *view) resumeHeader() []string {
	if v.last == 0 {
		return nil
	}
	return []string{"Last-Event-ID", fmt.Sprint(v.turn, ":", v.last)}
}

// document is the gateway's description of a task.
type document struct {
	Status struct {
		State     string
		Approvals []string // ids of questions that wait
	}
	Metadata  struct{ Turns []string } // ids, the last one at the end
	Artifacts []struct {
		Parts []struct{ Text string }
	}
}

// answerText returns the text of the task.
func (d document) answerText() (text string) {
	for _, a := range d.Artifacts {
		for _, p := range a.Parts {
			text += p.Text
		}
	}
	return text
}

// lastTurn returns the task's last turn.
func (d document) lastTurn() string {
	if len(d.Metadata.Turns) == 0 {
		return ""
	}
	return d.Metadata.Turns[len(d.Metadata.Turns)-1]
}

// readTask reads one, whose gateway or store may not be there for a while: it asks until it is
// answered, or ctx ends. The error is a *problem if the task does not exist.
func (c *client) readTask(ctx context.Context, url, id string) (d document, err error) {
	for ctx.Err() == nil {
		var resp *http.Response
		resp, err = c.sendRequest(ctx, http.MethodGet, url+"/tasks/"+id, "")
		if err == nil {
			text, errRead := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusOK && errRead == nil:
				return d, json.Unmarshal(text, &d)
			case resp.StatusCode < 500:
				return d, &problem{Status: resp.StatusCode}
			}
		}
		_ = scenario.Pause(ctx, 50*time.Millisecond)
	}
	return d, errors.New("no answer in time")
}

// newestTask returns the newest task of a conversation. It returns an empty string if there is not
// any, or if the gateway cannot answer.
func (c *client) newestTask(ctx context.Context, url, conversation string) string {
	resp, err := c.sendRequest(ctx, http.MethodGet, url+"/tasks?conversation_id="+conversation, "")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var list struct{ Tasks []struct{ ID string } }
	if json.NewDecoder(resp.Body).Decode(&list) != nil || len(list.Tasks) == 0 {
		return ""
	}
	return list.Tasks[0].ID
}
