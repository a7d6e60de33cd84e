package process_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/redact"
)

// A key too short to be searched for is left alone, and the log warns who set it.
func TestShortKeyLeavesTheLogWhole(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"test", "k", "1"} {
		r := wholetest.Listen(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env("GEMINI_API_KEY", key))
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
		r.Stop() // checks that each line is JSON
		if text := r.Log.String(); strings.Contains(text, redact.Mark) || !strings.Contains(text, `"tokens_used"`) {
			t.Errorf("with the key %q the log is\n%s", key, text)
		}
		warned := r.Log.All("secret_too_short_to_hide")
		if len(warned) != 1 || warned[0].Fields["level"] != "WARNING" || warned[0].Detail("setting") != "GEMINI_API_KEY" {
			t.Errorf("with the key %q the warnings are %v", key, warned)
		}
	}
}

// What a client or a model makes up does not fill the log.
func TestForeignNamesAreClippedInTheLog(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 900<<10)
	r := wholetest.Listen(t, gatewaytest.Scripted(t, "call "+name+" {}\nfinish STOP\n---\ntext Hi\nfinish STOP").Env())
	gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	resp, err := r.Client.Get(r.Base + "/" + url.PathEscape(strings.Repeat("\u202e", 9_000)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", resp.StatusCode)
	}
	r.Stop()
	for _, event := range []string{"mcp_tool_called", "mcp_tool_result", "request_completed", "error_occurred"} {
		lines := r.Log.All(event)
		if len(lines) == 0 {
			t.Errorf("there is no %s", event)
		}
		for _, line := range lines {
			if len(line.Raw) > 4<<10 || line.Fields["line_bytes"] != nil {
				t.Errorf("a line of %d bytes: %.200s", len(line.Raw), line.Raw)
			}
		}
	}
}
