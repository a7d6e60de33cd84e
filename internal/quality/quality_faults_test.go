package quality_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// modelReplies answers a call of the model with one text.
func modelReplies(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	quoted, _ := json.Marshal(text)
	fmt.Fprintf(w, `data: {"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"finishReason":"STOP","index":0}]}`+"\r\n\r\n", quoted)
}

// Planner and judge may answer what nobody asked for: what can be used of it is, the rest
// is nowhere, and the receipt is true.
func TestOddAnswersToChecks(t *testing.T) {
	t.Parallel()
	const (
		yaml    = "quality: {mode: enforce, criteria: [{id: kind, description: The answer is kind to the user.}]}"
		planner = "You plan how"
		judge   = "You check an answer"
		kind    = `{"id":"kind","passed":true,"feedback":""}`
	)
	many := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&many, `{"id":"canary_%d","passed":false,"feedback":"canary"},`, i)
	}
	planned := strings.ReplaceAll(strings.ReplaceAll(many.String(), `"passed":false,"feedback"`, `"description":"A criterion of many that nobody needs.","expected"`), "canary", "wish")
	for name, tt := range map[string]struct {
		who, answer, outcome string
		planned              int
	}{
		"200 ids":           {judge, `{"verdicts":[` + many.String() + kind + "," + strings.TrimSuffix(many.String(), ",") + `]}`, "passed", 0},
		"one id twice":      {judge, `{"verdicts":[` + kind + `,{"id":"kind","passed":false,"feedback":"canary"}]}`, "passed", 0},
		"prose around":      {judge, "Canary, with pleasure:\n\n```json\n{\"verdicts\":[" + kind + "]}\n```\ncanary", "passed", 0},
		"nothing":           {judge, "", "unjudged", 0},
		"white space":       {judge, " \n", "unjudged", 0},
		"null":              {judge, "null", "unjudged", 0},
		"no verdict":        {judge, `{"verdicts":[]}`, "unjudged", 0},
		"only unknown ids":  {judge, `{"verdicts":[` + strings.TrimSuffix(many.String(), ",") + `]}`, "unjudged", 0},
		"invented agents":   {planner, `{"criteria":[],"steps":[{"agent":"canary","action":"canary"},{"agent":"assistant","action":"answer"}]}`, "unjudged", 0},
		"too many criteria": {planner, `{"criteria":[` + strings.TrimSuffix(planned, ",") + `],"steps":[]}`, "unjudged", 6},
		"used ids":          {planner, `{"criteria":[{"id":"kind","description":"canary canary","expected":""},{"id":"complete","description":"canary canary","expected":""}],"steps":[]}`, "unjudged", 0},
		"prose of a plan":   {planner, "Canary: {\"criteria\":[],\"steps\":[]} canary", "unjudged", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				client := checked(t, yaml, &log, gateway.Seams{}, func(sim http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						r.Body = io.NopCloser(bytes.NewReader(body))
						switch {
						case bytes.Contains(body, []byte(tt.who)):
							modelReplies(w, tt.answer)
						case bytes.Contains(body, []byte(judge)):
							modelReplies(w, `{"verdicts":[]}`)
						case bytes.Contains(body, []byte(planner)):
							modelReplies(w, `{"criteria":[],"steps":[]}`)
						default:
							sim.ServeHTTP(w, r)
						}
					})
				})
				text := askChecked(t, client, `{"input":"Check my timesheet","accumulated":false}`)
				synctest.Wait()
				if strings.Count(text, "event: done") != 1 || strings.Contains(strings.ToLower(text+log.String()), "canary") {
					t.Fatalf("%s\n%s", text, log.String())
				}
				receipt := wholetest.EventOf(t, text, "done")["quality"].(map[string]any)
				planned, steps := 0, receipt["plan"].(map[string]any)["steps"].(float64)
				for _, c := range receipt["criteria"].([]any) {
					if c.(map[string]any)["planned"] == true {
						planned++
					}
				}
				if receipt["outcome"] != tt.outcome || receipt["passed"] != (tt.outcome == "passed") || planned != tt.planned {
					t.Errorf("%v", receipt)
				}
				if want := map[bool]float64{true: 4, false: 3}[name == "invented agents"]; steps != want {
					t.Errorf("%v steps, want %v", steps, want)
				}
				if strings.Contains(text, "quality_unavailable") != (tt.outcome == "unjudged") {
					t.Errorf("%s", text)
				}
			})
		})
	}
}

// A webhook may refuse, hang, be cut, be limited, move, or answer more than anyone reads:
// the turn ends with one done in its time, and it says what became of the message. Nothing that
// the receiver writes is shown or logged.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	var written, moved atomic.Int64
	flood := bytes.Repeat([]byte("canary "), 16<<10)
	end := make(chan struct{})
	answers := map[string]struct {
		answer   http.HandlerFunc
		status   string
		attempts string
	}{
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary", http.StatusForbidden) }, "rejected", "1"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-end:
			}
		}, "failed", "2"},
		"hangs_late": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-end:
			}
		}, "delivered", "1"},
		"is_cut":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "failed", "2"},
		"is_limited": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary", http.StatusTooManyRequests) }, "failed", "2"},
		"is_broken":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary", http.StatusBadGateway) }, "failed", "2"},
		"rubbish": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "canary\xff{\"status\":\"failed\"")
		}, "delivered", "1"},
		"no_http": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "canary\r\n\r\n")
			_ = conn.Close()
		}, "failed", "2"},
		"endless_head": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for n := 0; err == nil && n < 1<<30; {
				var wrote int
				wrote, err = io.WriteString(conn, "x-canary: "+strings.Repeat("a", 8<<10)+"\r\n")
				n += wrote
				written.Add(int64(wrote))
			}
			_ = conn.Close()
		}, "failed", "2"},
		"moves": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		}, "failed", "2"},
		"answers_a_gigabyte": {func(w http.ResponseWriter, _ *http.Request) {
			for n := 0; n < 1<<30; {
				wrote, err := w.Write(flood)
				if n += wrote; err != nil {
					return
				}
				written.Add(int64(wrote))
			}
		}, "delivered", "1"},
	}
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/elsewhere" {
			moved.Add(1)
			return
		}
		answers[strings.TrimPrefix(r.URL.Path, "/")].answer(w, r)
	}))
	receiver.Config.ErrorLog = nil
	receiver.Start()
	t.Cleanup(func() { close(end); receiver.Close() })
	yaml := "quality: {mode: enforce, plan: none}\nchannels:\n"
	for name := range answers {
		yaml += fmt.Sprintf("  %s: {extends: sms, deliver: {url: %q, secret: \"${HOOK}\", timeout: 300ms, tries: 2}}\n", name, receiver.URL+"/"+name)
	}
	yaml += "  gone: {extends: sms, deliver: {url: \"http://127.0.0.1:1/canary\", secret: \"${HOOK}\", timeout: 300ms, tries: 1}}\n"
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	r := wholetest.Listen(t, map[string]string{"SLUICE_CONFIG": name, "HOOK": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"})
	answers["gone"] = struct {
		answer   http.HandlerFunc
		status   string
		attempts string
	}{nil, "failed", "1"}
	t.Run("", func(t *testing.T) {
		for name, tt := range answers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				resp, err := http.Post(r.Base+"/chat/stream", "application/json", strings.NewReader(`{"input":"hello","channel":"`+name+`","deliver":true,"accumulated":false}`))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				testnet.Prompt(t, "the turn", time.Since(began), 20*time.Second)
				text := string(body)
				done := wholetest.EventOf(t, text, "done")
				if strings.Count(text, "event: done") != 1 || done["success"] != true || done["quality"].(map[string]any)["outcome"] != "passed" {
					t.Errorf("%s", text)
				}
				if want := `"delivery":{"status":"` + tt.status + `","attempts":` + tt.attempts + `,`; !strings.Contains(text, want) {
					t.Errorf("want %s: %s", want, text)
				}
				if strings.Contains(text, `"delivery_failed"`) != (tt.status != "delivered") || strings.Contains(strings.ReplaceAll(text, "canary_", ""), "canary") {
					t.Errorf("%s", text)
				}
			})
		}
	})
	if moved.Load() != 0 || written.Load() > 64<<20 {
		t.Errorf("%d redirects were followed, %d bytes were taken", moved.Load(), written.Load())
	}
	if strings.Contains(r.Log.String(), "canary") {
		t.Errorf("the log holds what a receiver wrote")
	}
}
