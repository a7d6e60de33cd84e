package delegate_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
)

// cardsOf returns what a page with useChat has of the calls in a stream: of each the types of its
// parts, under the name of its tool where the stream opens it, else under its id; and the
// parts of calls as they go back with an answer that allows all.
func cardsOf(t *testing.T, body string) (cards map[string][]string, sent string) {
	t.Helper()
	cards = map[string][]string{}
	names, parts := map[string]string{}, []string{}
	for frame := range strings.SplitSeq(body, "\n\n") {
		var part struct{ Type, ToolCallID, ToolName, ApprovalID string }
		if json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &part) != nil || part.ToolCallID == "" {
			continue
		}
		if part.ToolName != "" {
			names[part.ToolCallID] = part.ToolName + " " + part.ToolCallID
		}
		name := names[part.ToolCallID]
		if name == "" {
			name = part.ToolCallID
		}
		cards[name] = append(cards[name], part.Type)
		state := `"state":"output-available","output":""`
		switch part.Type {
		case "tool-input-available":
			continue
		case "tool-approval-request":
			state = `"state":"approval-responded","approval":{"approved":true,"id":"` + part.ApprovalID + `"}`
		}
		tool, _, _ := strings.Cut(name, " ")
		parts = append(parts, `{"type":"dynamic-tool","toolName":"`+tool+`","toolCallId":"`+part.ToolCallID+`","input":{},"providerExecuted":true,`+state+`}`)
	}
	return cards, strings.Join(parts, ",")
}

// In a page with useChat the call of a delegate's has the card that asks. The call that called the
// delegate, which ended with the wait and begins again, is a note in the stream that continues.
func TestDelegatesAskInAISDK(t *testing.T) {
	t.Parallel()
	o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, map[string]string{"SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes"}, map[string][]string{
		"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"Note it"}`), wholetest.TextPart("All done.")},
		"researcher": {wholetest.CallPart("list_todos", `{}`), wholetest.CallPart("create_todo", `{"title":"eggs"}`), wholetest.TextPart("NOTED")},
	})
	const begins = `{"id":"c","agent":"boss","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}`
	_, first := o.PostTo("/api/chat", begins+`]}`)
	cards, sent := cardsOf(t, first)
	got := map[string]string{}
	ids := map[string]string{}
	for name, parts := range cards {
		tool, id, _ := strings.Cut(name, " ")
		got[tool], ids[tool] = strings.Join(parts, " "), id
	}
	const whole = "tool-input-available tool-output-available"
	if diff := cmp.Diff(map[string]string{"delegate_to_researcher": whole, "list_todos": whole, "create_todo": "tool-input-available tool-approval-request"}, got); diff != "" {
		t.Fatalf("(-want +got):\n%s\n%s", diff, first)
	}
	status, second := o.PostTo("/api/chat", begins+`,{"role":"assistant","parts":[`+sent+`]}]}`)
	cards, _ = cardsOf(t, second)
	if diff := cmp.Diff(map[string][]string{ids["create_todo"]: {"tool-output-available"}}, cards); diff != "" || status != http.StatusOK {
		t.Errorf("%d, cards (-want +got):\n%s", status, diff)
	}
	if notes := strings.Count(second, `"event":"tool_call"`); notes != 2 || !strings.Contains(second, `"delta":"All done."`) {
		t.Errorf("%d notes in\n%s", notes, second)
	}
}
