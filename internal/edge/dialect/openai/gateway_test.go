package openai_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/sim/geminisim"
)

// play sends requests to a whole gateway and returns the replies. Files are as in a golden
// transcript; all of the model's script must be used.
func play(t *testing.T, files string) (replies []wholetest.WireReply) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := wholetest.Transcript{Archive: txtar.Parse([]byte(files))}
		script, err := geminisim.ParseScript(cmp.Or(tr.Get("gemini"), "end"))
		if err != nil {
			t.Fatal(err)
		}
		sim := geminisim.New(geminisim.Config{RequireKey: wholetest.Key, Script: script, Foreign: true})
		var log bytes.Buffer
		replies = tr.Play(t, sim, &log)
		tr.JudgeGemini(t, sim)
	})
	return replies
}

const post = "POST /v1/chat/completions\nContent-Type: application/json\n\n"

// tools are those that the client runs.
const tools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},{"type":"function","function":{"name":"alarm"}}]`

// streamed returns the deltas of a stream without their heads, for comparing them.
func streamed(body string) (deltas []string) {
	for frame := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		if _, rest, ok := strings.Cut(frame, `"choices":[{"index":0,"delta":`); ok {
			frame = rest
		}
		deltas = append(deltas, frame)
	}
	return deltas
}

// A call of the client's tool ends the first turn, and its result continues it in the second.
func TestClientTool(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+post+`{"model":"sluice","stream":true,`+tools+`,"messages":[{"role":"user","content":"Is it cold in Oslo?"}]}
---
`+post+`{"model":"sluice",`+tools+`,"messages":[{"role":"user","content":"Is it cold in Oslo?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"minus 5"}]}
-- gemini --
expect-count /tools/0/functionDeclarations 2
text Let me see.
call weather {"city":"Oslo"} id=c1
finish STOP
---
expect /contents/0/parts/0/text "Is it cold in Oslo?"
expect-contains /contents/0/parts/1/text "(UTC+00:00)."
expect /contents/1/parts/0/functionCall/name weather
expect /contents/2/parts/0/functionResponse/response/output minus 5
text Yes.
finish STOP
`)
	want := []string{
		`{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"content":"Let me see."},"finish_reason":null}]}`,
		`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]},"finish_reason":null}]}`,
		`{},"finish_reason":"tool_calls"}]}`,
		`data: [DONE]`,
	}
	if diff := gocmp.Diff(want, streamed(replies[0].Body)); diff != "" {
		t.Errorf("the first turn (-want +got):\n%s", diff)
	}
	if body := replies[1].Body; !strings.Contains(body, `"content":"Yes."`) || !strings.Contains(body, `"finish_reason":"stop"`) {
		t.Errorf("the second turn: %s", body)
	}
}

// Of a step with tools of both sides the server's run first, and the client gets its own alone.
func TestToolsOfBothSides(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+post+`{"model":"sluice",`+tools+`,"messages":[{"role":"user","content":"Look and wake me"}]}
-- gemini --
call look {} id=s1
call weather {"city":"Oslo"} id=c1
call alarm {} id=c2
finish STOP
-- mcp --
[{"name": "look", "readOnly": true, "result": "seen"}]
`)
	want := `"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}},{"id":"c2","type":"function","function":{"name":"alarm","arguments":"{}"}}]},"finish_reason":"tool_calls"`
	if body := replies[0].Body; !strings.Contains(body, want) || !strings.Contains(body, `"content":null`) {
		t.Errorf("the reply is %s", body)
	}
}

// The results of all calls must come, and none that no call is for.
func TestResultsOfClientTools(t *testing.T) {
	t.Parallel()
	const asked = `{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"alarm","arguments":"{}"}}]}`
	result := func(id string) string { return `,{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }
	replies := play(t, `
-- request --
`+post+`{"model":"sluice",`+tools+`,"messages":[`+asked+result("c1")+`]}
---
`+post+`{"model":"sluice",`+tools+`,"messages":[`+asked+result("c1")+result("c2")+result("c3")+`]}
---
`+post+`{"model":"sluice",`+tools+`,"messages":[`+asked+result("c2")+result("c1")+`]}
-- gemini --
expect-count /contents/2/parts 2
expect /contents/2/parts/0/functionResponse/name weather
text Done.
finish STOP
`)
	for i, want := range []string{`"param":"messages.1","code":"required"`, `"param":"messages.4","code":"unknown_value"`, `"content":"Done."`} {
		if !strings.Contains(replies[i].Body, want) {
			t.Errorf("request %d: %s, want %s", i, replies[i].Body, want)
		}
	}
}

// A tool with the name of one of the gateway's is refused, and a team that must route has none
// of the client's.
func TestToolsThatCannotBe(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+post+`{"model":"sluice",`+tools+`,"messages":[{"role":"user","content":"a"}]}
-- mcp --
[{"name": "alarm", "readOnly": true, "result": "x"}]
`)
	if r := replies[0]; r.Status != 400 || !strings.Contains(r.Body, `"param":"tools.1.function.name","code":"name_taken"`) {
		t.Errorf("a name that is taken: %d %s", r.Status, r.Body)
	}
	const team = `
-- sluice.yaml --
mcpServers: {fake: {builtin: todo}}
agents:
  first: {description: Answers first, role: You are first.}
  second: {description: Answers second, role: You are second.}
`
	const ask = `,"messages":[{"role":"user","content":"a"}]}`
	replies = play(t, team+`
-- request --
`+post+`{"model":"sluice",`+tools+ask+`
---
`+post+`{"model":"sluice/second",`+tools+ask+`
-- gemini --
text {"agentId": "first", "confidence": 0.93, "reasoning": "It is.", "additionalAgents": []}
finish STOP
-- gemini.first --
expect-absent /tools
text One.
finish STOP
-- gemini.second --
expect-count /tools/0/functionDeclarations 2
call alarm {} id=c1
finish STOP
`)
	if r := replies[0]; r.Header.Get("X-Sluice-Ignored") != "tools" || !strings.Contains(r.Body, `"content":"One."`) {
		t.Errorf("a team: %q, %s", r.Header.Get("X-Sluice-Ignored"), r.Body)
	}
	if r := replies[1]; r.Header.Get("X-Sluice-Ignored") != "" || !strings.Contains(r.Body, `"name":"alarm"`) {
		t.Errorf("an agent of it: %q, %s", r.Header.Get("X-Sluice-Ignored"), r.Body)
	}
}

// tool_choice holds for the first call of the model: none leaves the client's tools out.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	const ask = `,"messages":[{"role":"user","content":"a"}]}`
	play(t, `
-- request --
`+post+`{"model":"sluice","tool_choice":"none",`+tools+ask+`
---
`+post+`{"model":"sluice","tool_choice":"required",`+tools+ask+`
---
`+post+`{"model":"sluice","tool_choice":{"type":"function","function":{"name":"alarm"}},`+tools+ask+`
-- gemini --
expect-absent /tools
text a
finish STOP
---
expect /toolConfig/functionCallingConfig/mode ANY
call alarm {} id=c1
finish STOP
---
expect /toolConfig/functionCallingConfig/allowedFunctionNames/0 alarm
call alarm {} id=c1
finish STOP
`)
}

// Whatever is asked for under /v1 in the wrong way is refused in OpenAI's form.
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
GET /v1/embeddings
---
POST /v1/embeddings
Content-Type: application/json

{}
---
GET /v1/chat/completions
---
DELETE /v1/models
---
GET /v1/models/gpt-9
---
POST /v1/chat/completions
Content-Type: text/plain

hi
---
GET /v1/models/sluice
`)
	for i, want := range []struct {
		status int
		code   string
	}{{404, "not_found"}, {404, "not_found"}, {405, "method_not_allowed"}, {405, "method_not_allowed"}, {404, "model_not_found"}, {415, "unsupported_media_type"}} {
		r := replies[i]
		if r.Status != want.status || !strings.HasPrefix(r.Body, `{"error":{"message":"`) || !strings.Contains(r.Body, `"code":"`+want.code+`"`) ||
			r.Header.Get("X-Should-Retry") != "false" || r.Header.Get("X-Request-Id") == "" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("request %d: %d %v %s, want %+v", i, r.Status, r.Header, r.Body, want)
		}
	}
	if r := replies[2]; r.Header.Get("Allow") == "" {
		t.Error("the 405 names no method")
	}
	if r := replies[6]; r.Status != 200 || !strings.Contains(r.Body, `"id":"sluice"`) {
		t.Errorf("the model: %d %s", r.Status, r.Body)
	}
}

// A turn that fails before its document is a status, with words about whether to send it again.
func TestFailedDocument(t *testing.T) {
	t.Parallel()
	const ask = `,"messages":[{"role":"user","content":"a"}]}`
	replies := play(t, `
-- request --
`+post+`{"model":"sluice"`+ask+`
---
`+post+`{"model":"sluice","stream":true`+ask+`
-- gemini --
error 503 No.
---
error 503 No.
---
error 503 No.
---
error 503 No.
---
error 503 No.
---
error 503 No.
-- mcp --
[{"name": "look", "readOnly": true, "result": "seen"}]
`)
	if r := replies[0]; r.Status != 503 || r.Header.Get("X-Should-Retry") != "true" || r.Header.Get("Retry-After-Ms") == "" || !strings.Contains(r.Body, `"code":"model_unavailable"`) {
		t.Errorf("nothing was done: %d %v %s", r.Status, r.Header, r.Body)
	}
	if got := streamed(replies[1].Body); len(got) != 2 || !strings.HasPrefix(got[1], `data: {"error":{"message":`) || replies[1].Status != 200 {
		t.Errorf("a stream: %q", got)
	}
	replies = play(t, `
-- request --
`+post+`{"model":"sluice"`+ask+`
-- gemini --
call look {} id=s1
finish STOP
---
error 503 No.
---
error 503 No.
---
error 503 No.
-- mcp --
[{"name": "look", "readOnly": true, "result": "seen"}]
`)
	if r := replies[0]; r.Status != 503 || r.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("a tool was started: %d %v %s", r.Status, r.Header, r.Body)
	}
}

// With a store a document is a document too, and a repeated key gets it again.
func TestKeptDocument(t *testing.T) {
	t.Parallel()
	const keyed = "POST /v1/chat/completions\nContent-Type: application/json\nIdempotency-Key: 0123456789\n\n" + `{"model":"sluice","messages":[{"role":"user","content":"a"}]}`
	replies := play(t, `
-- config --
SLUICE_STORE=memory
-- request --
`+keyed+`
---
`+keyed+`
-- gemini --
text One.
finish STOP
`)
	if diff := gocmp.Diff(replies[0].Body, replies[1].Body); diff != "" || !strings.HasPrefix(replies[0].Body, `{"id":"chatcmpl-`) || replies[1].Header.Get("X-Sluice-Replayed") != "true" {
		t.Errorf("the second is not the first: %s", diff)
	}
}
