// This file answers what waits for a user, of turns that others began too: the list of a
// gateway, one question after the other, each by its task, as the list has no tokens.

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"sluice/clients/terminal"
)

// waitingQuestion is one of the list.
type waitingQuestion struct {
	Task         string `json:"task_id"`
	approvalData `json:",inline"`
}

// maxWaiting is how many pages of the list are read.
const maxWaiting = 10

// answerWaiting answers what waits for the user. It returns the exit code of the first turn
// that did not end well; exitAsked if nobody is there to answer.
func (p program) answerWaiting(ctx context.Context, base string, show viewer, d *decider) int {
	list, err := waiting(ctx, base, d.user)
	if err != nil {
		return p.verdict(exitFailed, err)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.stdout, "Nothing waits.")
	}
	worst := exitOK
	for i := range list {
		q := &list[i]
		fmt.Fprintf(p.stdout, "%s waits: %s\n", terminal.Printable(q.Task), terminal.Printable(q.Prompt))
		code, err := p.answerOne(ctx, base, q, show, d)
		if code = p.verdict(code, err); worst == exitOK {
			worst = code
		}
		if code == exitAsked || ctx.Err() != nil {
			return code
		}
	}
	return worst
}

// answerOne answers a question, and what its turn asks after it.
func (p program) answerOne(ctx context.Context, base string, q *waitingQuestion, show viewer, d *decider) (int, error) {
	for {
		given, err := d.decide(&q.approvalData)
		if err != nil {
			return exitFailed, err
		}
		given.ID, given.User = q.ID, d.user
		so, err := p.send(ctx, base, "/tasks/"+url.PathEscape(q.Task)+"/decision", given, show)
		if d.again(err) {
			continue
		}
		return so.code, err // what is asked then may be for somebody else, or is listed next time
	}
}

// waiting returns what waits for a user.
func waiting(ctx context.Context, base, user string) (all []waitingQuestion, err error) {
	query := url.Values{"user_id": {user}}
	for range maxWaiting {
		var page struct {
			Approvals []waitingQuestion `json:"approvals"`
			Next      string            `json:"next_cursor"`
		}
		if err := fetchJSON(ctx, base+"/approvals?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Approvals...)
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	return all, nil
}

// fetchJSON reads what a path of the gateway reports. Another status than 200 is a *refusal.
func fetchJSON(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refused(resp)
	}
	return json.UnmarshalRead(http.MaxBytesReader(nil, resp.Body, maxFrame), into)
}
