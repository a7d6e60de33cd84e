package gateway

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/gateway/gatewaytest"
)

// shownTo returns the conversation that request n to Gemini holds, "role: text".
func shownTo(t *testing.T, api *gatewaytest.FakeGemini, n int) (list []string) {
	t.Helper()
	requests := api.Requests()
	if n >= len(requests) {
		t.Fatalf("%d requests, want one more", len(requests))
	}
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	if err := json.Unmarshal(requests[n].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, c := range body.Contents {
		list = append(list, c.Role+": "+c.Parts[0].Text)
	}
	return list
}

const twoAnswers = "text \"It is \"\ntext noted.\nfinish STOP\n---\ntext Done.\nfinish STOP"

// The model is shown what was said in a thread before, if threads are kept.
func TestChatKitThreadReachesTheModel(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string][]string{
		"memory": {"user: buy eggs", "model: It is noted.", "user: mark it as done"},
		"none":   {"user: mark it as done"},
	} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, twoAnswers)
			r := start(t, api.Env("SLUICE_CHATKIT_HISTORY", kept))
			var cases []chatKitCase
			m := userMessage.FindStringSubmatch(chatKitOK(r, &cases, chatKitRequest("threads.create", chatKitInput("buy eggs"))))
			chatKitOK(r, &cases, chatKitRequest("threads.add_user_message", `"thread_id":"`+m[2]+`",`+chatKitInput("mark it as done")))
			if diff := cmp.Diff(want, shownTo(t, api, 1)); diff != "" {
				t.Errorf("the second request (-want +got):\n%s", diff)
			}
		})
	}
}
