package gateway_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

const twoAnswers = "text \"It is \"\ntext noted.\nfinish STOP\n---\ntext Done.\nfinish STOP"

// The model is shown what a request says was said before, whichever driver speaks to it.
func TestHistoryReachesTheModel(t *testing.T) {
	t.Parallel()
	const exchange = `{"role":"user","content":"buy\u0000 eggs"},{"role":"assistant","content":"It is noted."}`
	for _, driver := range []string{"rest", "sdk"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, twoAnswers)
			r := wholetest.Listen(t, api.Env("GEMINI_DRIVER", driver))
			for n, tt := range []struct {
				history string
				want    []string
			}{
				{exchange, []string{"user: buy eggs", "model: It is noted.", "user: mark it as done"}},
				{exchange + `,{"role":"user","content":"wait"}`, []string{"user: buy eggs", "model: It is noted.", "user: wait\n\nmark it as done"}},
			} {
				resp, err := r.Client.Post(r.Base+"/chat/stream", "application/json", strings.NewReader(`{"input":"mark it as done","history":[`+tt.history+`]}`))
				if err != nil {
					t.Fatal(err)
				}
				stream, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || !strings.Contains(string(stream), `"success":true`) {
					t.Errorf("%v: %s", err, stream)
				}
				if diff := cmp.Diff(tt.want, gatewaytest.ShownTo(t, api, n)); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// The model is shown what was said in a thread before, if threads are kept.
func TestChatKitThreadReachesTheModel(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string][]string{
		"memory": {"user: buy eggs", "model: It is noted.", "user: mark it as done"},
		"store":  {"user: buy eggs", "model: It is noted.", "user: mark it as done"},
		"none":   {"user: mark it as done"},
	} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, twoAnswers)
			r := wholetest.Listen(t, api.Env("SLUICE_CHATKIT_HISTORY", kept, "SLUICE_STORE", "memory"))
			var cases []chatKitCase
			m := userMessage.FindStringSubmatch(chatKitOK(r, &cases, chatKitRequest("threads.create", chatKitInput("buy eggs"))))
			chatKitOK(r, &cases, chatKitRequest("threads.add_user_message", `"thread_id":"`+m[2]+`",`+chatKitInput("mark it as done")))
			if diff := cmp.Diff(want, gatewaytest.ShownTo(t, api, 1)); diff != "" {
				t.Errorf("the second request (-want +got):\n%s", diff)
			}
		})
	}
}
