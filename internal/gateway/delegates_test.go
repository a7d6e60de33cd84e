package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/settings"
	"sluice/internal/testnet"
)

// office is a gateway whose agents call one another. Each agent's model says what its
// script says, a list of parts for each of its calls, and the last one for all after.
type office struct {
	*flowing
	scripts map[string][]string
	fails   func(path, who string) bool                // nil: nothing does
	hangs   func(ctx context.Context, who string) bool // nil: nothing does

	mu    sync.Mutex // guards the field below
	asked map[string][]string
}

const officeFile = `
agents:
  boss: {description: Leads, role: You are boss., delegates: [researcher, writer]}
  researcher: {description: Finds things out, role: You are researcher., tools: [todo], delegates: [writer, boss]}
  writer: {description: Writes, role: You are writer., delegates: [reader]}
  reader: {description: Reads, role: You are reader., delegates: [last]}
  last: {description: Is the last, role: You are last.}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
`

func openOffice(t *testing.T, env map[string]string, scripts map[string][]string) *office {
	t.Helper()
	return openOfficeOf(t, officeFile, env, scripts)
}

func openOfficeOf(t *testing.T, content string, env map[string]string, scripts map[string][]string) *office {
	t.Helper()
	return openOfficeWith(t, content, env, scripts, Seams{})
}

// openOfficeWith is openOffice with more of a test's own.
func openOfficeWith(t *testing.T, content string, env map[string]string, scripts map[string][]string, with Seams) *office {
	t.Helper()
	all := map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini"}
	for name, value := range env {
		all[name] = value
	}
	cfg, file := configured(t, content, all)
	o := &office{scripts: scripts, asked: map[string][]string{}}
	with.Gemini = testnet.Serve(t, o)
	g, err := New(t.Context(), settings.Config{
		Config: cfg, File: file, Version: "test",
	}, zerolog.New(io.Discard), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	o.flowing = &flowing{t: t, Gateway: g}
	o.client.Transport = testnet.Serve(t, g)
	return o
}

// ServeHTTP is Gemini.
func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	who := "nobody"
	for name := range o.scripts {
		if strings.Contains(string(body), "You are "+name+".") {
			who = name
		}
	}
	if o.hangs != nil && o.hangs(r.Context(), who) {
		return
	}
	if o.fails != nil && o.fails(r.URL.Path, who) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	o.mu.Lock()
	o.asked[who] = append(o.asked[who], string(body))
	script, n := o.scripts[who], len(o.asked[who])
	o.mu.Unlock()
	if len(script) == 0 {
		http.Error(w, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}],"+
		"\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":1,\"totalTokenCount\":11}}\n\n", script[min(n, len(script))-1])
}

func textPart(s string) string {
	text, _ := json.Marshal(s)
	return `{"text":` + string(text) + `}`
}

func callPart(name, args string) string {
	return `{"functionCall":{"name":"` + name + `","args":` + args + `},"thoughtSignature":"c2ln"}`
}

// toldOf returns the data of all events of a name.
func toldOf(t *testing.T, body, name string) (list []map[string]any) {
	t.Helper()
	for _, frame := range strings.Split(body, "\n\n") {
		if !strings.Contains(frame, "event: "+name+"\n") {
			continue
		}
		_, data, _ := strings.Cut(frame, "data: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// An agent that is called sees its task and nothing of what its caller was told; the
// caller sees the answer and nothing of how it came about. In a team and in a workflow.
func TestDelegateSeesItsTaskAlone(t *testing.T) {
	t.Parallel()
	for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
		o := openOffice(t, nil, map[string][]string{
			"boss":       {callPart("delegate_to_researcher", `{"task":"Find the height","context":"It is a mountain"}`), textPart("It is 4810 m.")},
			"researcher": {textPart("Let me look. ") + "," + callPart("list_todos", `{}`), textPart("SUMMARY 4810")},
		})
		status, body := o.post(`{"input":"PARENTSECRET how high?","history":[{"role":"user","content":"OLDSECRET"},{"role":"assistant","content":"yes"}],` + who + `}`)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", who, status, body)
		}
		for _, sent := range o.asked["researcher"] {
			if strings.Contains(sent, "SECRET") || strings.Contains(sent, "You are boss") {
				t.Errorf("%s: the delegate was sent its caller's messages:\n%s", who, sent)
			}
			if !strings.Contains(sent, "Find the height") || !strings.Contains(sent, "It is a mountain") {
				t.Errorf("%s: the delegate was not sent its task:\n%s", who, sent)
			}
		}
		if n := len(o.asked["boss"]); n != 2 {
			t.Fatalf("%s: boss was asked %d times:\n%s", who, n, body)
		}
		if last := o.asked["boss"][1]; !strings.Contains(last, "SUMMARY 4810") || strings.Contains(last, `"functionCall":{"name":"list_todos"`) {
			t.Errorf("%s: the caller was sent:\n%s", who, last)
		}
		var runs []map[string]any
		for _, a := range toldOf(t, body, "agent") {
			if a["role"] == "delegate" {
				runs = append(runs, a)
			}
		}
		if len(runs) != 2 || runs[0]["status"] != "started" || runs[1]["status"] != "completed" || runs[0]["session_id"] != runs[1]["session_id"] {
			t.Fatalf("%s: runs of the delegate: %v\n%s", who, runs, body)
		}
		calls, inner := map[any]map[string]any{}, ""
		for _, c := range toldOf(t, body, "tool_call") {
			calls[c["tool_name"]] = c
		}
		if calls["delegate_to_researcher"]["call_id"] != runs[0]["call_id"] {
			t.Errorf("%s: call %v of the run %v", who, calls["delegate_to_researcher"], runs[0])
		}
		if c := calls["list_todos"]; c["session_id"] != runs[0]["session_id"] || c["agent_id"] != "researcher" {
			t.Errorf("%s: the delegate's call: %v\n%s", who, c, body)
		}
		for _, d := range toldOf(t, body, "inner_delta") {
			if d["session_id"] != runs[0]["session_id"] {
				t.Errorf("%s: %v is of no session", who, d)
			}
			inner += d["delta"].(string)
		}
		if !strings.Contains(inner, "SUMMARY 4810") {
			t.Errorf("%s: inner text %q", who, inner)
		}
		var done struct {
			doneData
			Usage struct {
				Input int `json:"input_tokens"`
			} `json:"usage"`
		}
		if dataOf(t, body, "done", &done); done.Output != "It is 4810 m." || !done.Success || done.Usage.Input != 40 {
			t.Errorf("%s: %+v\n%s", who, done, body)
		}
	}
}

// lastOf returns what the model of an agent was told last.
func (o *office) lastOf(agent string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.asked[agent]); n > 0 {
		return o.asked[agent][n-1]
	}
	return ""
}

// What must not be is refused, and the model is told why.
func TestDelegationIsBounded(t *testing.T) {
	t.Parallel()
	task := `{"task":"x"}`
	many := make([]string, 0, 5)
	for step := range 4 {
		var calls []string
		for i := range 8 {
			calls = append(calls, callPart("delegate_to_writer", fmt.Sprintf(`{"task":"%d-%d"}`, step, i)))
		}
		many = append(many, strings.Join(calls, ","))
	}
	for _, tt := range []struct {
		name    string
		scripts map[string][]string
		agent   string // whose model is told
		want    string
	}{
		{"no task", map[string][]string{"boss": {callPart("delegate_to_writer", `{"task":" "}`), textPart("ok")}}, "boss", "task is missing or empty"},
		{"long task", map[string][]string{"boss": {callPart("delegate_to_writer", `{"task":"`+strings.Repeat("x", 5001)+`"}`), textPart("ok")}}, "boss", "longer than 5,000"},
		{"long context", map[string][]string{"boss": {callPart("delegate_to_writer", `{"task":"x","context":"`+strings.Repeat("x", 16<<10+1)+`"}`), textPart("ok")}}, "boss", "longer than 16 KiB"},
		{"its own caller", map[string][]string{
			"boss":       {callPart("delegate_to_researcher", task), textPart("ok")},
			"researcher": {callPart("delegate_to_boss", task), textPart("ok")},
		}, "researcher", "it is among those who gave you the task"},
		{"too deep", map[string][]string{
			"boss":       {callPart("delegate_to_researcher", task), textPart("ok")},
			"researcher": {callPart("delegate_to_writer", task), textPart("ok")},
			"writer":     {callPart("delegate_to_reader", task), textPart("ok")},
			"reader":     {callPart("delegate_to_last", task), textPart("ok")},
			"last":       {textPart("ok")},
		}, "reader", "at most 3 times"},
		{"too many", map[string][]string{"boss": append(many, textPart("ok")), "writer": {textPart("ok")}}, "boss", "20 tasks were given"},
		{"failed", map[string][]string{"boss": {callPart("delegate_to_writer", task), textPart("ok")}}, "boss", "The agent could not do the task"},
		{"says nothing", map[string][]string{"boss": {callPart("delegate_to_writer", task), textPart("ok")}, "writer": {textPart(" ")}}, "boss", "It has given no answer"},
	} {
		o := openOffice(t, nil, tt.scripts)
		status, body := o.post(`{"input":"go","agent":"boss"}`)
		if got := o.lastOf(tt.agent); status != http.StatusOK || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d, the model of %s was told\n%.3000s\n%.3000s", tt.name, status, tt.agent, got, body)
		}
		var done doneData
		if dataOf(t, body, "done", &done); done.Output != "ok" || !done.Success {
			t.Errorf("%s: %+v\n%.3000s", tt.name, done, body)
		}
		if n := len(o.asked["last"]); n > 0 {
			t.Errorf("%s: the last agent was asked", tt.name)
		}
		if n := len(o.asked["writer"]); n > 20 {
			t.Errorf("%s: %d sessions", tt.name, n)
		}
	}
}

// A long answer is summarised by one more call of the delegate, and cut if that fails.
func TestLongAnswerOfADelegate(t *testing.T) {
	t.Parallel()
	long := textPart("BEGIN" + strings.Repeat("x", 5000) + "END")
	for _, tt := range []struct{ name, second, want string }{
		{"summarised", textPart("SHORT"), `"SHORT"`},
		{"cut", long, "bytes of the answer are shown]"},
	} {
		o := openOffice(t, nil, map[string][]string{
			"boss":   {callPart("delegate_to_writer", `{"task":"x"}`), textPart("ok")},
			"writer": {long, tt.second},
		})
		_, body := o.post(`{"input":"go","agent":"boss"}`)
		got := o.lastOf("boss")
		if !strings.Contains(got, tt.want) || strings.Contains(got, "xEND") || len(o.asked["writer"]) != 2 {
			t.Errorf("%s: %d calls, boss was told\n%.2000s\n%.2000s", tt.name, len(o.asked["writer"]), got, body)
		}
	}
}
