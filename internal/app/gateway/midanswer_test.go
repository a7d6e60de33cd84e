package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// Each recording is cut in cuts places, at every k-th byte, where k is its size by this number; one
// short recording a protocol in all of them, most at most. With the variable cutAll it is all
// places of all, a million turns.
const (
	cuts   = 12
	most   = 1200
	cutAll = "SLUICE_TEST_CUT_ALL"
)

// places returns where a recording is cut.
func places(size, n int) (list []int) {
	for i := range n {
		list = append(list, (2*i+1)*size/(2*n))
	}
	return list
}

// shortest returns the name of the shortest recording that is an answer and not only its end.
func (c cutAnswers) shortest() (name string) {
	for key, text := range c {
		if len(text) > 300 && (name == "" || len(text) < len(c[name]) || len(text) == len(c[name]) && key < name) {
			name = key
		}
	}
	return name
}

// cutAnswers plays recorded answers that break off: the input of a turn names the recording and
// how many bytes of it come.
type cutAnswers map[string][]byte

var cutInput = regexp.MustCompile(`cut:([\w.-]+):(\d+)`)

// ServeHTTP implements http.Handler.
func (c cutAnswers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	asked := cutInput.FindSubmatch(body)
	if asked == nil {
		http.Error(w, "no recording", http.StatusBadRequest)
		return
	}
	n, _ := strconv.Atoi(string(asked[2]))
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(c[string(asked[1])][:n])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// spare answers in the place of a model that broke off: with a call, then with a text.
func spare(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	chunk := `{"index":0,"delta":{"content":"I look. ","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":"{}"}}]},"finish_reason":"tool_calls"}`
	if strings.Contains(string(body), `"role":"tool"`) {
		chunk = `{"index":0,"delta":{"content":"All is well."},"finish_reason":"stop"}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, data(`{"choices":[`+chunk+`],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)+data("[DONE]"))
}

const spareSays = "I look. All is well."

// recorded returns the recorded answers of a protocol.
func recorded(t *testing.T, w wholetest.Protocol) cutAnswers {
	t.Helper()
	pattern := map[string]string{"gemini": "gemini/*.sse", "chat": "openai/chat-*.sse", "responses": "openai/responses-*.sse", "messages": "anthropic/messages-*.sse"}[w.Name]
	files, _ := filepath.Glob(filepath.Join(wholetest.Root(), "../shared/testdata", pattern))
	if len(files) == 0 {
		t.Skip("the recordings in shared/testdata are not here")
	}
	all := cutAnswers{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.Contains(name, "fail") || strings.Contains(name, "error") || strings.Contains(name, "quoted") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

// An answer that breaks off anywhere is begun again by the next model, and everybody has its text.
func TestMidAnswer(t *testing.T) {
	t.Parallel()
	var switched, reset, turns atomic.Int64
	t.Run("protocols", func(t *testing.T) {
		for _, w := range wholetest.Protocols() {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				answers := recorded(t, w)
				tools := gatewaytest.ToolServer(t, map[string]func(context.Context) string{"add": func(context.Context) string { return "added" }})
				file := fmt.Sprintf("mcpServers: {tools: {url: %q}}\nmodels:\n", gatewaytest.ServeHandler(t, tools)) +
					w.Spec("default", gatewaytest.ServeHandler(t, answers), "retries: 0, breaker: \"1000,1s,3\", fallback: [spare], fallback_after_text: true") +
					wholetest.Protocols()[1].Spec("spare", gatewaytest.ServeHandler(t, http.HandlerFunc(spare)), "")
				g := wholetest.StartFlows(t, file, map[string]string{"TEST_KEY": "k"})
				wholetest.AwaitTools(t, g.Gateway)
				var running sync.WaitGroup
				free := make(chan struct{}, 4)
				dense := answers.shortest()
				for name, text := range answers {
					n := cuts
					switch {
					case os.Getenv(cutAll) != "":
						n = len(text)
					case name == dense && !testing.Short() && !raceEnabled:
						n = min(len(text), most)
					}
					for _, place := range places(len(text), n) {
						free <- struct{}{}
						running.Go(func() {
							defer func() { <-free }()
							got := broken(t, g, fmt.Sprintf("cut:%s:%d", name, place))
							turns.Add(1)
							switched.Add(int64(got.changes))
							reset.Add(int64(got.resets))
						})
					}
				}
				running.Wait()
			})
		}
	})
	t.Logf("%d turns, %d went to the other model, %d of them retracted text", turns.Load(), switched.Load(), reset.Load())
	if turns.Load() > 0 && (switched.Load() < turns.Load()/2 || reset.Load() < turns.Load()/10) {
		t.Error("the test proves little")
	}
}

// restarted is what a client has seen of a turn.
type restarted struct {
	changes, resets, tools int
	text                   string // by the rule for who joins deltas
}

// broken runs a turn whose answer breaks off, and judges it.
func broken(t *testing.T, g *wholetest.Flow, input string) (got restarted) {
	status, body := g.Post(fmt.Sprintf(`{"input":%q}`, input))
	events, err := wholetest.ReadByAnother(body)
	if status != http.StatusOK || err != nil {
		t.Errorf("%s: %d, %v", input, status, err)
		return got
	}
	out := false // text was, before the other model answered
	for _, ev := range events {
		var d struct {
			Delta, Accumulated, Status, Reason string
			Task                               string `json:"task_id"`
			Final                              string `json:"final_output"`
			Success                            bool
		}
		if err := json.Unmarshal([]byte(ev.Data), &d); err != nil {
			t.Errorf("%s: %v", input, err)
		}
		switch ev.Type {
		case "response_delta":
			if got.text += d.Delta; d.Accumulated != got.text {
				t.Errorf("%s: accumulated %q, joined %q", input, d.Accumulated, got.text)
			}
			out = out || got.changes == 0
		case "model":
			got.changes++
		case "response_reset":
			got.resets++
			if got.text = d.Accumulated; d.Reason != "fallback" || got.text != "" {
				t.Errorf("%s: %s", input, ev.Data)
			}
		case "tool_call":
			if d.Status == "in_progress" {
				got.tools++
			}
		case "done":
			if !d.Success || d.Final != got.text {
				t.Errorf("%s: success %t, final_output %q, joined %q", input, d.Success, d.Final, got.text)
			}
		}
	}
	if got.changes == 0 {
		return got // it broke off behind its end
	}
	if want := map[bool]int{true: 1}[out]; got.changes != 1 || got.resets != want || got.tools != 1 || got.text != spareSays {
		t.Errorf("%s: %+v, want %d resets", input, got, want)
	}
	return got
}
