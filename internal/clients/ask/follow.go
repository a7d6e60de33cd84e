// This file follows one turn to its end although connections break. A gateway that stores turns
// numbers its events (turn_…:N), and sends the events behind Last-Event-ID to anyone who asks. A
// followedTurn asks until done comes, the tries run out, or the person interrupts. An interrupt
// cancels the turn at the gateway first, so that its tools stop.

package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/stream/sse"
)

// longestCancel bounds a cancel, and then the end of the turn.
const longestCancel = 3 * time.Second

// errBroken is wrapped by the error of a stream that ended before done.
var errBroken = errors.New("the stream broke before done, so the outcome is unknown")

// followedTurn is one turn that is followed to its end.
type followedTurn struct {
	command string // whose name is before a note
	client  *Client
	base    string
	view    viewer
	notices io.Writer // for notices that are not events of the turn

	answer    strings.Builder
	questions []*approvalData        // open questions
	waits     bool                   // it has ended for now because they are
	task      atomic.Pointer[string] // nil: the gateway keeps no turns, as far as is known
	last      string                 // the id of the last event
}

// newFollowedTurn returns a turn of which nothing has come.
func (s *session) newFollowedTurn() *followedTurn {
	return &followedTurn{command: s.Command, client: s.Client, base: s.Base, view: s.view, notices: s.Stderr}
}

// resumeWaits are the waits before a stream that broke is asked for its rest. Another
// gateway closes the turns of one that died within 21 s.
//
// The waits begin again after each event that came, since the turn is alive then.
func resumeWaits() []time.Duration {
	return []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second}
}

// runToEnd shows the events of the stream that req is answered with, up to its done, and returns
// the turn's outcome. A turn that the gateway keeps is taken up where its
// stream breaks, and cancelled when ctx ends.
//
// The error wraps errBroken if the end of the turn never came: the turn may continue at the
// gateway, and the message says how to read it.
func (a *followedTurn) runToEnd(ctx context.Context, req *http.Request) (outcome Outcome, err error) {
	following, stop := a.untilCancelled(ctx)
	defer stop()
	outcome, err = a.followReply(req.WithContext(following))
	waits, noted := resumeWaits(), false
	for i := 0; errors.Is(err, errBroken) && a.canResume() && i < len(waits); i++ {
		if !noted {
			fmt.Fprintln(a.notices, a.command+": the connection was lost; the rest of the turn is asked for")
			noted = true
		}
		if !pauseFor(following, waits[i]) {
			break
		}
		before := a.last
		outcome, err = a.followReply(a.restRequest(following))
		if a.last != before {
			i = -1 // the next one is the first
		}
	}
	if task := a.task.Load(); task != nil && err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w; sluice ask --url %s --resume %s tells it from its beginning", err, a.base, *task)
	}
	return outcome, err
}

// streamResultOf returns the result of the stream, with the outcome of its turn.
func (a *followedTurn) streamResultOf(outcome Outcome) streamResult {
	return streamResult{text: a.answer.String(), outcome: outcome, waits: a.waits, questions: a.questions}
}

// untilCancelled returns a context that outlives ctx for as long as it takes to cancel the
// turn and to read its end. stop waits for that.
//
// A second signal is not needed: after longestCancel the context ends whatever the gateway
// does.
func (a *followedTurn) untilCancelled(ctx context.Context) (following context.Context, stop func()) {
	following, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	undone := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(undone)
		defer cancel(context.Cause(ctx))
		if task := a.task.Load(); task == nil || a.cancelTask(following, *task) != nil {
			return // closing the connection is all that can be done
		}
		limit := time.NewTimer(longestCancel)
		defer limit.Stop()
		select {
		case <-ended:
		case <-limit.C:
		}
	})
	return following, func() {
		close(ended)
		if !release() {
			<-undone
		}
		cancel(nil)
	}
}

// cancelTask asks the gateway to cancel a task, wherever it runs.
//
// 200 and 202 both mean that the gateway took it; the second, that another process ends the
// turn.
func (a *followedTurn) cancelTask(ctx context.Context, task string) error {
	ctx, stop := context.WithTimeout(ctx, longestCancel)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/tasks/"+task+"/cancel", nil)
	if err != nil {
		return err
	}
	a.client.addHeaders(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
		return readRefusal(resp)
	}
	return nil
}

// canResume reports whether the remaining events can be requested.
func (a *followedTurn) canResume() bool { return strings.HasPrefix(a.last, "turn_") }

// restRequest returns the request for the remaining events.
func (a *followedTurn) restRequest(ctx context.Context) *http.Request {
	return a.client.askFor(ctx, a.base+"/chat/stream", a.last)
}

// askFor returns the request for a turn's events; last is the id of one, or empty.
//
// Each request has its own connection: one that has broken must not be used again from the
// pool.
func (c *Client) askFor(ctx context.Context, url, last string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return new(http.Request).WithContext(ctx) // net/http refuses it, so the request fails
	}
	req.Close = true // the next one may be long in coming
	c.addHeaders(req)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	return req
}

// followReply shows the events of one reply.
//
// It returns when done came or no more can. A status of 5xx after some events came counts
// as broken, as a gateway that restarts answers so; 204 says that nothing is left to report.
func (a *followedTurn) followReply(req *http.Request) (outcome Outcome, err error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil && a.last != "" {
		return failed, fmt.Errorf("%w: %w", errBroken, err)
	}
	if err != nil {
		return failed, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return failed, errors.New("cannot resume: the turn is unknown, or its events have expired")
	case resp.StatusCode >= http.StatusInternalServerError && a.last != "":
		return failed, fmt.Errorf("%w: %w", errBroken, readRefusal(resp))
	case resp.StatusCode != http.StatusOK:
		return failed, readRefusal(resp)
	}
	events := sse.NewReader(resp.Body, maxFrame)
	for {
		ev, err := events.Next()
		if err != nil {
			return failed, fmt.Errorf("%w: %w", errBroken, err)
		}
		if outcome, done, err := a.showEvent(ev); done || err != nil {
			return outcome, err
		}
	}
}

// showEvent shows one event.
//
// done is true for the last event of the turn. Data that is not JSON is an error: the gateway
// writes nothing else.
func (a *followedTurn) showEvent(ev sse.Event) (outcome Outcome, done bool, err error) {
	var data eventData
	if err := json.Unmarshal([]byte(ev.Data), &data); err != nil {
		return failed, false, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	if ev.Type == "start" && data.TaskID != "" {
		a.task.Store(&data.TaskID)
	}
	if err := a.view.showEvent(ev, data); err != nil {
		return failed, false, err
	}
	a.last = ev.ID
	if a.client.Seen != nil {
		a.client.Seen(ev.Type)
	}
	a.recordEvent(ev.Type, &data)
	return outcomeOf(data), ev.Type == "done", nil
}

// recordEvent records the parts of an event that are needed after the turn.
func (a *followedTurn) recordEvent(event string, data *eventData) {
	switch event {
	case "response_delta":
		a.answer.WriteString(data.Delta)
	case "response_reset":
		a.answer.Reset()
		a.answer.WriteString(data.Accumulated)
	case "approval":
		a.questions = append(a.questions, &data.approvalData)
	case "done":
		a.waits = data.Finish == "approval_required"
	}
}

// pauseFor waits, unless ctx ends first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// resumable matches the ids that can be followed: of a task, of a turn, or of an event of a turn.
const resumable = `^(task_[0-9a-z]{26}|turn_[0-9a-z]{26}(:\d{1,9})?)$`

// Follow follows a turn that was begun elsewhere. For a task it shows the last turn, from its first
// event. For an event it shows the later ones. It answers the questions that still wait as in a
// turn of one's own.
//
// The number 0 is in front of the first event, as events count from 1.
func (c *Client) Follow(ctx context.Context, id string) Outcome {
	s := c.openSession(ctx)
	url, last := c.Base+"/tasks/"+id+"/events", ""
	if strings.HasPrefix(id, "turn_") {
		url, last = c.Base+"/chat/stream", id
		if !strings.Contains(id, ":") {
			last += ":0"
		}
	}
	a := s.newFollowedTurn()
	if strings.HasPrefix(id, "task_") {
		a.task.Store(&id)
	}
	outcome, err := a.runToEnd(ctx, a.client.askFor(ctx, url, last))
	said := a.streamResultOf(outcome)
	if err == nil && said.waits {
		said.questions, err = a.stillAsked(ctx)
	}
	_, outcome, err = s.answerQuestions(ctx, said, err)
	return s.reportOutcome(outcome, err)
}

// stillAsked returns the questions of the turn that its task waits for: others were answered
// since, or withdrawn.
func (a *followedTurn) stillAsked(ctx context.Context) (list []*approvalData, err error) {
	task := a.task.Load()
	if task == nil { // the stream began behind its start
		return a.questions, nil
	}
	var doc struct {
		Status struct {
			Approvals []string `json:"approvals"`
		} `json:"status"`
	}
	if err := a.client.fetchJSON(ctx, a.base+"/tasks/"+*task, &doc); err != nil {
		return nil, err
	}
	for _, q := range a.questions {
		if slices.Contains(doc.Status.Approvals, q.ID) {
			list = append(list, q)
		}
	}
	return list, nil
}

// CanFollow reports whether Follow can follow id.
func CanFollow(id string) bool { return regexp.MustCompile(resumable).MatchString(id) }
