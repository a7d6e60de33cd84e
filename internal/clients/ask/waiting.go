// This file answers the questions that wait for a user, also those of turns that others began. It
// reads the gateway's list and answers one question after the other by its task, as the list lacks
// tokens.

package ask

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"sluice/internal/clients/terminal"
)

// waitingQuestion is one of the list.
type waitingQuestion struct {
	Task         string `json:"task_id"`
	approvalData `json:",inline"`
}

// maxWaiting is how many pages of the list are read.
const maxWaiting = 10

// Waiting answers the questions that wait for the user. It returns the outcome of the first turn
// that did not end well, or Unanswered if nobody is there to answer.
func (c *Client) Waiting(ctx context.Context) Outcome {
	s := c.openSession(ctx)
	list, err := c.waitingQuestions(ctx)
	if err != nil {
		return s.reportOutcome(failed, err)
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Stdout, "Nothing waits.")
	}
	worst := Succeeded
	for i := range list {
		q := &list[i]
		fmt.Fprintf(s.Stdout, "%s waits: %s\n", terminal.Printable(q.Task), terminal.Printable(q.Prompt))
		outcome, err := s.answerOne(ctx, q)
		if outcome = s.reportOutcome(outcome, err); worst == Succeeded {
			worst = outcome
		}
		if outcome == Unanswered || ctx.Err() != nil {
			return outcome
		}
	}
	return worst
}

// answerOne answers a question. Its turn's next questions stay open.
func (s *session) answerOne(ctx context.Context, q *waitingQuestion) (Outcome, error) {
	for {
		given, err := s.decider.decide(&q.approvalData)
		if err != nil {
			return failed, err
		}
		given.ID, given.User = q.ID, s.User
		so, err := s.sendBody(ctx, "/tasks/"+url.PathEscape(q.Task)+"/decision", given)
		if s.decider.canAskAgain(err) {
			continue
		}
		return so.outcome, err // later questions may be for somebody else, or are listed next time
	}
}

// waitingQuestions returns the questions that wait for the user.
func (c *Client) waitingQuestions(ctx context.Context) (all []waitingQuestion, err error) {
	query := url.Values{"user_id": {c.User}}
	for range maxWaiting {
		var page struct {
			Approvals []waitingQuestion `json:"approvals"`
			Next      string            `json:"next_cursor"`
		}
		if err := c.fetchJSON(ctx, c.Base+"/approvals?"+query.Encode(), &page); err != nil {
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

// fetchJSON reads the JSON at a path of the gateway. Another status than 200 is a *refusal.
func (c *Client) fetchJSON(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	c.addHeaders(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readRefusal(resp)
	}
	return json.UnmarshalRead(http.MaxBytesReader(nil, resp.Body, maxFrame), into)
}
