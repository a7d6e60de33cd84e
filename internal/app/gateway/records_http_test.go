package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// Over real HTTP: records are shown with their task, whose id is the key where nobody says who
// asks; a page is asked for by a good cursor; HEAD has the head of GET and no body.
func TestRecordsOverHTTP(t *testing.T) {
	t.Parallel()
	o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, nil, map[string][]string{
		"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"Note it"}`), wholetest.TextPart("All done.")},
		"researcher": {wholetest.TextPart("NOTED")},
	})
	web := httptest.NewServer(o.Gateway)
	t.Cleanup(web.Close)
	do := func(method, path, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	_, got := do(http.MethodPost, "/chat/stream", `{"input":"go","workflow":"flow","user_id":"ann"}`)
	var start struct {
		Task string `json:"task_id"`
	}
	wholetest.DataOf(t, got, "start", &start)
	session := ""
	for _, a := range wholetest.EventsOf(t, got, "agent") {
		if a["role"] == "delegate" {
			session = a["session_id"].(string)
		}
	}
	at := "/tasks/" + start.Task
	paths := []string{at + "/checkpoints", at + "/checkpoints/0", at + "/sessions/" + session, at + "/trace"}
	for _, path := range paths {
		got, text := do(http.MethodGet, path+"?user_id=ann", "")
		if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %s", path, got.StatusCode, text)
		}
		head, none := do(http.MethodHead, path+"?user_id=ann", "")
		if head.StatusCode != http.StatusOK || none != "" || head.Header.Get("Content-Type") != got.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q %v", path, head.StatusCode, none, head.Header)
		}
		for _, foreign := range []string{strings.Replace(path, start.Task, "task_00000000000000000000000000", 1), strings.Replace(path, start.Task, start.Task+"0", 1)} {
			got, text := do(http.MethodGet, foreign, "")
			if got.StatusCode != http.StatusNotFound || !strings.Contains(text, `"error_type":"not_found"`) || strings.Contains(text, "NOTED") {
				t.Errorf("%s: %d %s", foreign, got.StatusCode, text)
			}
			if head, none := do(http.MethodHead, foreign, ""); head.StatusCode != http.StatusNotFound || none != "" {
				t.Errorf("HEAD %s: %d %q", foreign, head.StatusCode, none)
			}
		}
		if got, text := do(http.MethodPost, path, `{}`); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") == "" {
			t.Errorf("POST %s: %d %s", path, got.StatusCode, text)
		}
	}
	for _, bad := range []string{"x", "-1", "", "1.5", "0x1", "%00", "99999999999999999999", "1&cursor=2"} {
		if got, text := do(http.MethodGet, at+"/checkpoints?user_id=ann&cursor="+bad, ""); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, `"field":"/cursor"`) {
			t.Errorf("cursor %s: %d %s", bad, got.StatusCode, text)
		}
	}
	for _, bad := range []string{"99", "-1", "00", "1.0", "x", "%2e%2e", "18446744073709551616"} {
		if got, text := do(http.MethodGet, fmt.Sprint(at, "/checkpoints/", bad, "?user_id=ann"), ""); got.StatusCode != http.StatusNotFound {
			t.Errorf("checkpoint %s: %d %s", bad, got.StatusCode, text)
		}
	}
}
