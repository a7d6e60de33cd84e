package delegate_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// An agent that is called sees its task and nothing of what its caller received; the caller
// sees the answer and nothing of how it came about. In a team and in a workflow.
func TestDelegateSeesItsTaskAlone(t *testing.T) {
	t.Parallel()
	for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
		o := wholetest.OpenOffice(t, nil, map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"Find the height","context":"It is a mountain"}`), wholetest.TextPart("It is 4810 m.")},
			"researcher": {wholetest.TextPart("Let me look. ") + "," + wholetest.CallPart("list_todos", `{}`), wholetest.TextPart("SUMMARY 4810")},
		})
		status, body := o.Post(`{"input":"PARENTSECRET how high?","history":[{"role":"user","content":"OLDSECRET"},{"role":"assistant","content":"yes"}],` + who + `}`)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", who, status, body)
		}
		for _, sent := range o.Bodies["researcher"] {
			if strings.Contains(sent, "SECRET") || strings.Contains(sent, "You are boss") {
				t.Errorf("%s: the delegate was sent its caller's messages:\n%s", who, sent)
			}
			if !strings.Contains(sent, "Find the height") || !strings.Contains(sent, "It is a mountain") {
				t.Errorf("%s: the delegate was not sent its task:\n%s", who, sent)
			}
		}
		if n := len(o.Bodies["boss"]); n != 2 {
			t.Fatalf("%s: boss was asked %d times:\n%s", who, n, body)
		}
		if last := o.Bodies["boss"][1]; !strings.Contains(last, "SUMMARY 4810") || strings.Contains(last, `"functionCall":{"name":"list_todos"`) {
			t.Errorf("%s: the caller was sent:\n%s", who, last)
		}
		var runs []map[string]any
		for _, a := range wholetest.EventsOf(t, body, "agent") {
			if a["role"] == "delegate" {
				runs = append(runs, a)
			}
		}
		if len(runs) != 2 || runs[0]["status"] != "started" || runs[1]["status"] != "completed" || runs[0]["session_id"] != runs[1]["session_id"] {
			t.Fatalf("%s: runs of the delegate: %v\n%s", who, runs, body)
		}
		calls, inner := map[any]map[string]any{}, ""
		for _, c := range wholetest.EventsOf(t, body, "tool_call") {
			calls[c["tool_name"]] = c
		}
		if calls["delegate_to_researcher"]["call_id"] != runs[0]["call_id"] {
			t.Errorf("%s: call %v of the run %v", who, calls["delegate_to_researcher"], runs[0])
		}
		if c := calls["list_todos"]; c["session_id"] != runs[0]["session_id"] || c["agent_id"] != "researcher" {
			t.Errorf("%s: the delegate's call: %v\n%s", who, c, body)
		}
		for _, d := range wholetest.EventsOf(t, body, "inner_delta") {
			if d["session_id"] != runs[0]["session_id"] {
				t.Errorf("%s: %v is of no session", who, d)
			}
			inner += d["delta"].(string)
		}
		if !strings.Contains(inner, "SUMMARY 4810") {
			t.Errorf("%s: inner text %q", who, inner)
		}
		var done struct {
			wholetest.Done
			Usage struct {
				Input int `json:"input_tokens"`
			} `json:"usage"`
		}
		if wholetest.DataOf(t, body, "done", &done); done.Output != "It is 4810 m." || !done.Success || done.Usage.Input != 40 {
			t.Errorf("%s: %+v\n%s", who, done, body)
		}
	}
}

// A call beyond a bound is refused, and the model reads why.
func TestDelegationIsBounded(t *testing.T) {
	t.Parallel()
	task := `{"task":"x"}`
	many := make([]string, 0, 5)
	for step := range 4 {
		var calls []string
		for i := range 8 {
			calls = append(calls, wholetest.CallPart("delegate_to_writer", fmt.Sprintf(`{"task":"%d-%d"}`, step, i)))
		}
		many = append(many, strings.Join(calls, ","))
	}
	for _, tt := range []struct {
		name    string
		scripts map[string][]string
		agent   string // whose model reads the refusal
		want    string
	}{
		{"no task", map[string][]string{"boss": {wholetest.CallPart("delegate_to_writer", `{"task":" "}`), wholetest.TextPart("ok")}}, "boss", "task is missing or empty"},
		{"long task", map[string][]string{"boss": {wholetest.CallPart("delegate_to_writer", `{"task":"`+strings.Repeat("x", 5001)+`"}`), wholetest.TextPart("ok")}}, "boss", "longer than 5,000"},
		{"long context", map[string][]string{"boss": {wholetest.CallPart("delegate_to_writer", `{"task":"x","context":"`+strings.Repeat("x", 16<<10+1)+`"}`), wholetest.TextPart("ok")}}, "boss", "longer than 16 KiB"},
		{"its own caller", map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", task), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("delegate_to_boss", task), wholetest.TextPart("ok")},
		}, "researcher", "it is among those who gave you the task"},
		{"too deep", map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", task), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("delegate_to_writer", task), wholetest.TextPart("ok")},
			"writer":     {wholetest.CallPart("delegate_to_reader", task), wholetest.TextPart("ok")},
			"reader":     {wholetest.CallPart("delegate_to_last", task), wholetest.TextPart("ok")},
			"last":       {wholetest.TextPart("ok")},
		}, "reader", "at most 3 times"},
		{"too many", map[string][]string{"boss": append(many, wholetest.TextPart("ok")), "writer": {wholetest.TextPart("ok")}}, "boss", "20 tasks were given"},
		{"failed", map[string][]string{"boss": {wholetest.CallPart("delegate_to_writer", task), wholetest.TextPart("ok")}}, "boss", "The agent could not do the task"},
		{"says nothing", map[string][]string{"boss": {wholetest.CallPart("delegate_to_writer", task), wholetest.TextPart("ok")}, "writer": {wholetest.TextPart(" ")}}, "boss", "It has given no answer"},
	} {
		o := wholetest.OpenOffice(t, nil, tt.scripts)
		status, body := o.Post(`{"input":"go","agent":"boss"}`)
		if got := o.LastOf(tt.agent); status != http.StatusOK || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d, the model of %s was told\n%.3000s\n%.3000s", tt.name, status, tt.agent, got, body)
		}
		var done wholetest.Done
		if wholetest.DataOf(t, body, "done", &done); done.Output != "ok" || !done.Success {
			t.Errorf("%s: %+v\n%.3000s", tt.name, done, body)
		}
		if n := len(o.Bodies["last"]); n > 0 {
			t.Errorf("%s: the last agent was asked", tt.name)
		}
		if n := len(o.Bodies["writer"]); n > 20 {
			t.Errorf("%s: %d sessions", tt.name, n)
		}
	}
}

// A long answer is summarised by one more call of the delegate, and cut if that fails.
func TestLongAnswerOfADelegate(t *testing.T) {
	t.Parallel()
	long := wholetest.TextPart("BEGIN" + strings.Repeat("x", 5000) + "END")
	for _, tt := range []struct{ name, second, want string }{
		{"summarised", wholetest.TextPart("SHORT"), `"SHORT"`},
		{"cut", long, "bytes of the answer are shown]"},
	} {
		o := wholetest.OpenOffice(t, nil, map[string][]string{
			"boss":   {wholetest.CallPart("delegate_to_writer", `{"task":"x"}`), wholetest.TextPart("ok")},
			"writer": {long, tt.second},
		})
		_, body := o.Post(`{"input":"go","agent":"boss"}`)
		got := o.LastOf("boss")
		if !strings.Contains(got, tt.want) || strings.Contains(got, "xEND") || len(o.Bodies["writer"]) != 2 {
			t.Errorf("%s: %d calls, boss was told\n%.2000s\n%.2000s", tt.name, len(o.Bodies["writer"]), got, body)
		}
	}
}
