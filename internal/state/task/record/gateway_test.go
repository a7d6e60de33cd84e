package record_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
)

// GET /tasks/{id}/trace reports a turn on any gateway, while it runs and afterwards.
func TestTraceOfATask(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		resp := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", `{"input":"hi","conversation_id":"conv_1"}`)
		time.Sleep(1500 * time.Millisecond) // nobody reads: the turn waits behind its first word
		list := two.Send(t, t.Context(), http.MethodGet, "/tasks?conversation_id=conv_1", "")
		text, _ := io.ReadAll(list.Body)
		_, rest, _ := strings.Cut(string(text), `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		trace := func() string {
			t.Helper()
			resp := two.Send(t, t.Context(), http.MethodGet, "/tasks/"+id+"/trace", "")
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status, err, string(body))
			}
			return string(body)
		}
		if tr := trace(); !strings.Contains(tr, `"message":"word "`) || strings.Contains(tr, `"duration_ms"`) {
			t.Errorf("while it runs: %s", tr)
		}
		_, _ = io.ReadAll(resp.Body)
		if tr := trace(); !strings.Contains(tr, `"message":"word word word word word "`) || !strings.Contains(tr, `"duration_ms":6500`) {
			t.Errorf("afterwards: %s", tr)
		}
		if resp := two.Send(t, t.Context(), http.MethodGet, "/tasks/task_other/trace", ""); resp.StatusCode != http.StatusNotFound {
			t.Error(resp.Status)
		}
	})
}
