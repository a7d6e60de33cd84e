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

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
)

const checkedYAML = `
quality:
  mode: enforce
  drafts: ask
  criteria: [{id: numbers_backed, description: Every number is one that a tool has told., check: numbers_backed}]
`

// checked starts a gateway whose answers are checked, with the offline model, around which
// wrap puts faults, and a tool.
func checked(t *testing.T, yaml string, log io.Writer, with gateway.Seams, wrap func(http.Handler) http.Handler) *http.Client {
	t.Helper()
	client, _, _ := checkedGateway(t, yaml, log, with, wrap)
	return client
}

// checkedGateway is checked, with the gateway and what it was started with.
func checkedGateway(t *testing.T, yaml string, log io.Writer, with gateway.Seams, wrap func(http.Handler) http.Handler) (*http.Client, *gateway.Gateway, settings.Config) {
	t.Helper()
	return checkedGatewayWith(t, yaml, "SLUICE_LOG_PAYLOADS=false\n", log, with, wrap)
}

// checkedGatewayWith is checkedGateway with further variables, a line each.
func checkedGatewayWith(t *testing.T, yaml, env string, log io.Writer, with gateway.Seams, wrap func(http.Handler) http.Handler) (*http.Client, *gateway.Gateway, settings.Config) {
	t.Helper()
	tr := wholetest.Transcript{Archive: &txtar.Archive{Files: []txtar.File{
		{Name: "config", Data: []byte("SLUICE_LOG_LEVEL=debug\n" + env + "SLUICE_STORE=memory\nGEMINI_MODEL=" + providers.OfflineModel + "\n")},
		{Name: "sluice.yaml", Data: []byte(yaml)},
		{Name: "mcp", Data: []byte(`[{"name":"get_timesheet","result":"{\"hours_logged\":32,\"hours_target\":40}"}]`)},
	}}}
	cfg, file := tr.Config(t)
	wholetest.SetServers(&cfg, nil)
	var sim http.Handler = geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), RequireKey: wholetest.Key})
	if wrap != nil {
		sim = wrap(sim)
	}
	with.Gemini, with.Servers = testnet.Serve(t, sim), tr.Servers(t, cfg)
	whole := settings.Config{Config: cfg, File: file, Version: "test"}
	g, err := gateway.New(t.Context(), whole, process.NewLogger(zerolog.SyncWriter(log), config.Of[settings.Logging](&cfg).Level), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	synctest.Wait()
	return &http.Client{Transport: testnet.Serve(t, g)}, g, whole
}

// askChecked runs a turn and returns its stream.
func askChecked(t *testing.T, client *http.Client, body string) string {
	t.Helper()
	resp, err := client.Post("http://gateway/chat/stream", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %d %s", err, resp.StatusCode, text)
	}
	return string(text)
}

// What a draft said that was withheld is in no task, log of events, and line of the log,
// although a client was shown it.
func TestWithheldDraftIsNowhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const canary = "logged 35/40"
		var log bytes.Buffer
		kept := memory.New(memory.Config{})
		client := checked(t, checkedYAML, &log, gateway.Seams{Store: kept}, nil)
		text := askChecked(t, client, `{"input":"Guess my timesheet","drafts":true,"accumulated":false}`)
		if !strings.Contains(text, `"outcome":"refined"`) || !strings.Contains(strings.Join(wholetest.Drafts(text), ""), canary) {
			t.Fatalf("no draft was shown: %s", text)
		}
		synctest.Wait()
		start := wholetest.EventOf(t, text, "start")
		for _, path := range []string{"/tasks/" + start["task_id"].(string), "/tasks/" + start["task_id"].(string) + "/events"} {
			resp, err := client.Get("http://gateway" + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || bytes.Contains(body, []byte("35")) && bytes.Contains(body, []byte(canary)) || !bytes.Contains(body, []byte("32/40")) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
		entries, err := kept.ReadLog(t.Context(), start["turn_id"].(string), 0, 100)
		if err != nil || len(entries) == 0 || strings.Contains(fmt.Sprint(entries), canary) {
			t.Errorf("%v %v", entries, err)
		}
		for _, private := range []string{canary, "timesheet", "32/40"} {
			if strings.Contains(strings.ReplaceAll(log.String(), "get_timesheet", ""), private) {
				t.Errorf("the log holds %q: %s", private, log.String())
			}
		}
		for _, event := range []string{"agent_interaction", "validation_failed"} {
			if !strings.Contains(log.String(), event) {
				t.Errorf("the log has no %s", event)
			}
		}
	})
}

// Planner, judge and refinement may refuse, hang, be cut, be limited or answer rubbish, over
// the wire: the turn ends with one done that is true, in its time, and the tool ran once.
func TestFaultsOfChecks(t *testing.T) {
	t.Parallel()
	marks := map[string]string{"planner": "You plan how", "judge": "You check an answer", "refinement": "You rewrite an answer"}
	faults := map[string]func(http.ResponseWriter, *http.Request){
		"refuses": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"is cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"candidates":[{"content":{"parts":[{"text":"{\"crit"}],"role":"model"},"index":0}]}`+"\r\n\r\n")
		},
		"is limited": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`, http.StatusTooManyRequests)
		},
		"answers rubbish": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"candidates":[{"content":{"parts":[{"text":"No 4711 way."}],"role":"model"},"finishReason":"STOP","index":0}]}`+"\r\n\r\n")
		},
	}
	outcomes := map[string]string{"planner": "refined", "judge": "unjudged", "refinement": "graceful_failure"}
	for who, mark := range marks {
		for fault, answer := range faults {
			t.Run(who+" "+fault, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var refused, tools atomic.Int64
					client := checked(t, checkedYAML, io.Discard, gateway.Seams{}, func(sim http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							body, _ := io.ReadAll(r.Body)
							r.Body = io.NopCloser(bytes.NewReader(body))
							if bytes.Contains(body, []byte("functionResponse")) {
								tools.Add(1)
							}
							if bytes.Contains(body, []byte(mark)) {
								refused.Add(1)
								answer(w, r)
								return
							}
							sim.ServeHTTP(w, r)
						})
					})
					text := askChecked(t, client, `{"input":"Guess my timesheet","accumulated":false}`)
					done := wholetest.EventOf(t, text, "done")
					receipt := done["quality"].(map[string]any)
					if strings.Count(text, "event: done") != 1 || receipt["outcome"] != outcomes[who] || receipt["passed"] != (who == "planner") || done["success"] != true {
						t.Errorf("%s", text)
					}
					if refused.Load() == 0 || tools.Load() != 1 || len(done["tools_called"].([]any)) != 1 {
						t.Errorf("%d calls were refused, the tool answered %d times", refused.Load(), tools.Load())
					}
					if who == "planner" != strings.Contains(text, "quality_unavailable") && who != "judge" {
						t.Errorf("quality_unavailable: %s", text)
					}
				})
			})
		}
	}
}

// The state that a task keeps of its checks can be read.
func TestTaskKeepsItsChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := checked(t, checkedYAML, io.Discard, gateway.Seams{Store: memory.New(memory.Config{})}, nil)
		text := askChecked(t, client, `{"input":"Check my timesheet","channel":"sms","accumulated":false}`)
		synctest.Wait()
		resp, err := client.Get("http://gateway/tasks/" + wholetest.EventOf(t, text, "start")["task_id"].(string))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var doc struct {
			Status   struct{ State string }
			Metadata struct {
				Quality struct {
					Plan      struct{ Steps []any }    `json:"execution_plan"`
					Final     string                   `json:"final_response"`
					Formatted struct{ Content string } `json:"formatted_response"`
					Result    struct{ Passed bool }    `json:"validation_result"`
					Data      []struct{ Result map[string]any }
				}
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		const said = "You've logged 32/40 hours this week. Great progress!"
		q := doc.Metadata.Quality
		if doc.Status.State != task.Completed || q.Final != said || q.Formatted.Content != said || !q.Result.Passed || len(q.Plan.Steps) != 4 || len(q.Data) != 1 || q.Data[0].Result["hours_logged"] != 32.0 {
			t.Errorf("%+v", doc)
		}
	})
}

// What a file says of quality and of channels holds for turns that begin after it was read
// again.
func TestReloadOfChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, g, cfg := checkedGateway(t, "quality: {mode: \"off\"}", io.Discard, gateway.Seams{}, nil)
		const body = `{"input":"Check my timesheet","accumulated":false}`
		if text := askChecked(t, client, body); strings.Contains(text, "event: quality") {
			t.Errorf("%s", text)
		}
		_, again, now := checkedGateway(t, checkedYAML+"channels: {pager: {extends: sms}}", io.Discard, gateway.Seams{}, nil)
		_ = again
		now.Config = cfg.Config
		if err := g.Reload(now, nil); err != nil {
			t.Fatal(err)
		}
		if text := askChecked(t, client, `{"input":"Check my timesheet","channel":"pager","accumulated":false}`); !strings.Contains(text, `"outcome":"passed"`) || !strings.Contains(text, `"channel":"pager"`) {
			t.Errorf("%s", text)
		}
		resp, err := client.Get("http://gateway/channels")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); !bytes.Contains(body, []byte(`"pager"`)) {
			t.Errorf("%s", body)
		}
	})
}

// A graceful text gets the style's words and is delivered, once, under the turn's id.
func TestCheckedAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 3)
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got <- r
	}))
	defer receiver.Close()
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(checkedYAML+`
style: {version: "7", texts: {en: {greeting_text: "Hello {name}!", failure_text: "Sorry, {name}."}}}
channels: {text: {extends: sms, deliver: {url: "`+receiver.URL+`", secret: "${HOOK}"}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := wholetest.Listen(t, map[string]string{"SLUICE_CONFIG": name, "HOOK": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "SLUICE_STORE": "memory"})
	resp, err := http.Post(r.Base+"/chat/stream", "application/json",
		strings.NewReader(`{"input":"Guess wildly how many todos I have","channel":"text","deliver":true,"user_name":"Ann","user_id":"u1","accumulated":false}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	start, done := wholetest.EventOf(t, string(text), "start"), wholetest.EventOf(t, string(text), "done")
	if done["final_output"] != "Sorry, Ann." || !strings.Contains(string(text), `"delivery":{"status":"delivered","attempts":1,`) || !strings.Contains(string(text), `"style_version":"7"`) {
		t.Fatalf("%s", text)
	}
	hook := <-got
	if id := hook.Header.Get("webhook-id"); id != "msg_"+start["turn_id"].(string) || len(got) != 0 {
		t.Errorf("webhook-id %q, %d more", id, len(got))
	}
	if !strings.Contains(string(body), `"quality":{"passed":false,"outcome":"graceful_failure"}`) || !strings.Contains(string(body), `"user_id":"u1"`) || strings.Contains(string(body), "4567") {
		t.Errorf("%s", body)
	}
}

// The memory of a conversation has what was sent, in Markdown, and nothing of a draft that
// was withheld.
func TestMemoryOfCheckedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New(memory.Config{})
		client := checked(t, checkedYAML+"memory: {enabled: true}\n", io.Discard, gateway.Seams{Store: kept}, nil)
		askChecked(t, client, `{"input":"Guess my timesheet","channel":"sms","conversation_id":"conv_1","accumulated":false}`)
		askChecked(t, client, `{"input":"Show my todos as a table","channel":"sms","conversation_id":"conv_1","accumulated":false}`)
		synctest.Wait()
		items, err := kept.List(t.Context(), store.MemoryKey("", "", "conv_1"), 0, 0)
		if err != nil || len(items) != 2 {
			t.Fatalf("%q %v", items, err)
		}
		for _, item := range items {
			if text := string(item); strings.Contains(text, "35/40") {
				t.Errorf("a draft is remembered: %s", text)
			}
		}
		if !strings.Contains(string(items[0]), "32/40 hours") {
			t.Errorf("%s", items[0])
		}
	})
}
