package approval_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
)

// chatPage is a page with useChat: it has one message of the assistant's, whose parts are calls.
type chatPage struct {
	b     *bank
	p     wholetest.Peer
	calls []*chatCall
}

// chatCall is a call on the page.
type chatCall struct {
	Type       string        `json:"type"`
	ToolName   string        `json:"toolName"`
	ToolCallID string        `json:"toolCallId"`
	State      string        `json:"state"`
	Approval   *chatApproval `json:"approval,omitempty"`
	Output     string        `json:"output,omitempty"`
	ErrorText  string        `json:"errorText,omitempty"`
	Executed   bool          `json:"providerExecuted"`
}

type chatApproval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// send sends the conversation as it is and follows the reply.
func (c *chatPage) send(others string) (status int, body string) {
	c.b.t.Helper()
	messages := `{"role":"user","parts":[{"type":"text","text":"Pay"}]}`
	if len(c.calls) > 0 {
		parts, _ := json.Marshal(c.calls)
		messages += `,{"role":"assistant","parts":` + string(parts) + `}`
	}
	status, body = c.b.Post(c.p, "/api/chat", `{"id":"chat","messages":[`+messages+`]`+others+`}`)
	if status == http.StatusOK {
		c.follow(body)
	}
	return status, body
}

// follow does with the calls what the client does.
func (c *chatPage) follow(body string) {
	for _, frame := range strings.Split(body, "\n\n") {
		var part struct {
			Type, ToolCallID, ToolName, ApprovalID, Output, ErrorText string
			ProviderExecuted                                          bool
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &part) != nil {
			continue
		}
		if part.Type == "tool-input-available" {
			c.calls = append(c.calls, &chatCall{Type: "dynamic-tool", ToolName: part.ToolName, ToolCallID: part.ToolCallID, Executed: part.ProviderExecuted})
		}
		for i := len(c.calls) - 1; i >= 0; i-- {
			if call := c.calls[i]; call.ToolCallID == part.ToolCallID {
				call.become(part.Type, part.ApprovalID, part.Output, part.ErrorText)
				break
			}
		}
	}
}

func (c *chatCall) become(kind, approval, output, failure string) {
	switch kind {
	case "tool-input-available":
		c.State = "input-available"
	case "tool-approval-request":
		c.State, c.Approval = "approval-requested", &chatApproval{ID: approval}
	case "tool-output-available":
		c.State, c.Output = "output-available", output
	case "tool-output-error":
		c.State, c.ErrorText = "output-error", failure
	}
}

// say answers call i.
func (c *chatPage) say(i int, approved bool, reason string) {
	call := c.calls[i]
	call.State, call.Approval = "approval-responded", &chatApproval{call.Approval.ID, &approved, reason}
}

// states are those of the calls.
func (c *chatPage) states() (all string) {
	for _, call := range c.calls {
		all += call.State + " "
	}
	return strings.TrimSpace(all)
}

// A page with useChat asks on the cards of the calls, and the message that it sends again
// answers.
func TestAISDKApprovals(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		b.calls = 2
		c := &chatPage{b: b, p: b.gateway(nil)}
		status, body := c.send("")
		if status != http.StatusOK || c.states() != "approval-requested approval-requested" || !strings.Contains(body, `"finishReason":"tool-calls"`) {
			t.Fatalf("%d %s", status, body)
		}
		b.wantPaid(0)
		c.say(0, true, "")
		c.say(1, false, "Too dear.")
		twice := &chatPage{b: b, p: c.p}
		for _, call := range c.calls {
			again := *call
			twice.calls = append(twice.calls, &again)
		}
		status, body = c.send("")
		if status != http.StatusOK || c.states() != "output-available output-error" || len(c.calls) != 2 || !strings.Contains(body, `"delta":"Done."`) || strings.Contains(body, "messageId") {
			t.Errorf("%d %s %s", status, c.states(), body)
		}
		if seen := b.seen.Load().(string); !strings.Contains(seen, "Too dear.") {
			t.Errorf("the model does not know why: %s", seen)
		}
		b.wantPaid(1)
		status, body = twice.send("")
		c.refused(status, body, http.StatusConflict, "answered")
		b.wantPaid(1)
	})
}

// refused wants a refusal with some words, for people.
func (c *chatPage) refused(status int, body string, wantStatus int, want string) {
	c.b.t.Helper()
	if status != wantStatus || !strings.Contains(body, want) || !strings.HasSuffix(body, "(req_golden)") {
		c.b.t.Errorf("%d %s, want %d and %q", status, body, wantStatus, want)
	}
}

// An answer that is not whole, not of the question or not of its user uses nothing up.
func TestBadAnswersOfAISDKUseNothingUp(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		b.calls = 2
		c := &chatPage{b: b, p: b.gateway(nil)}
		c.send(`,"user_id":"ann"`)
		ids := []string{c.calls[0].Approval.ID, c.calls[1].Approval.ID}
		status, body := c.send("")
		c.refused(status, body, 422, "")
		for i := range c.calls { // one of two, whichever it is
			c.say(i, true, "")
			status, body = c.send(`,"user_id":"ann"`)
			c.refused(status, body, 422, "")
			c.calls[i].State = "approval-requested"
		}
		c.say(0, true, "")
		c.say(1, true, "")
		for _, forged := range []string{"slap1.AAAA~call_1", "x~call_1", ids[0][:20] + ids[0][21:], "slap1." + strings.Repeat("A", 65<<10) + "~call_1"} {
			c.calls[0].Approval.ID = forged
			status, body = c.send(`,"user_id":"ann"`)
			c.refused(status, body, 403, "")
		}
		c.calls[0].Approval.ID = ids[0]
		status, body = c.send(`,"user_id":"bob"`)
		c.refused(status, body, 403, "")
		c.calls = append(c.calls, &chatCall{Type: "dynamic-tool", ToolName: "pay", ToolCallID: "call_3", State: "approval-responded", Approval: &chatApproval{ID: "x~call_3", Approved: new(bool)}})
		status, body = c.send(`,"user_id":"ann"`)
		c.refused(status, body, 422, "")
		c.calls = c.calls[:2]
		b.wantPaid(0)
		if status, body = c.send(`,"user_id":"ann"`); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(2)
	})
}

// A tool that has become another one is asked about again, and the latest question counts.
func TestChangedToolIsAskedAboutAgainInAISDK(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		c := &chatPage{b: b, p: b.gateway(nil)}
		c.send("")
		b.Offer(`{"type":"object","properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`)
		time.Sleep(time.Minute) // until the gateway has listed the tools again
		c.say(0, true, "")
		if status, body := c.send(""); status != http.StatusOK || c.states() != "approval-responded approval-requested" {
			t.Fatalf("%d %s %s", status, c.states(), body)
		}
		b.wantPaid(0)
		c.say(1, true, "")
		if status, body := c.send(""); status != http.StatusOK || c.states() != "approval-responded output-available" {
			t.Errorf("%d %s %s", status, c.states(), body)
		}
		b.wantPaid(1)
	})
}

// A client that cannot show a question is not asked, and the model says so.
func TestAISDKThatCannotAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		c := &chatPage{b: b, p: b.gateway(nil)}
		status, body := c.send(`,"approvals":false`)
		if status != http.StatusOK || strings.Contains(body, "approval") || !strings.Contains(body, `"delta":"Done."`) {
			t.Errorf("%d %s", status, body)
		}
		if seen := fmt.Sprint(b.seen.Load()); !strings.Contains(seen, "this client cannot ask for that") {
			t.Errorf("the model does not know: %s", seen)
		}
		b.wantPaid(0)
	})
}
