//go:build unix

package approval_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/memory"
)

// Where leaving is the stop button, a run of a workflow that goes on with an answer does so without
// its client all the same, unless the request says otherwise.
func TestAnsweredRunGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]string{"": `"success":true`, `"on_disconnect":"cancel",`: `"success":false`} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			ctx, leave := context.WithCancel(t.Context())
			f := wholetest.StartOn(t, memory.New(memory.Config{}), fmt.Sprintf(wholetest.Paying, wholetest.HookedBank(t, &paid, leave)+"/mcp"))
			var q struct {
				Task  string `json:"task_id"`
				Token string `json:"token"`
			}
			wholetest.DataOf(t, f.Serve("/chat/stream", wholetest.BeginsPay, new(strings.Builder)), "approval", &q)
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/agui", strings.NewReader(fmt.Sprintf(
				`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{%s"user_id":"ann"},"resume":[{"interruptId":%q,"status":"resolved"}]}`, says, q.Token)))
			req.Header.Set("Content-Type", "application/json")
			func() {
				defer func() { _ = recover() }() // a stream that breaks off
				f.ServeHTTP(httptest.NewRecorder(), req)
			}()
			w := httptest.NewRecorder() // to the end of the run
			f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/tasks/"+q.Task+"/events?user_id=ann", nil))
			if _, end, _ := strings.Cut(w.Body.String(), "event: done"); !strings.Contains(end, want) {
				t.Errorf("%d %s, want %s", w.Code, w.Body, want)
			}
		})
	}
}
