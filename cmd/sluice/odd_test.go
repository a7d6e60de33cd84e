package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/app/gateway/gatewaytest"
)

// odd is an answer that no documentation allows and that some server will give all the
// same. After one with a call comes a second answer, which is in order.
type odd struct {
	name   string
	stream []string // data of the events
	want   string   // the turn, as turnLine writes it
}

// A model may number, name, count and end its answer in any way: the turn still ends with
// exactly one done, a tool runs once or not at all, and no figure is negative. The rows
// are the same for all protocols, as far as one has such a member.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	tools := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, noon()))
	for _, p := range []struct {
		fields string
		rows   []odd
		second string // the data of the answer behind a call
	}{
		{"provider: openai, api: chat, model: gpt-4o", oddChat(), chatText},
		{"provider: openai, api: responses, model: gpt-5", oddResponses(), responsesText},
		{"provider: anthropic, model: claude-sonnet-4-5", oddMessages(), messagesText},
		{"provider: gemini, model: gemini-3-pro-preview", oddGemini(), geminiText},
	} {
		t.Run(strings.TrimPrefix(p.fields, "provider: "), func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.ServeHandler(t, oddServer(p.rows, p.second))
			config := fmt.Sprintf("models: {default: {%s, endpoint: %q, api_key: '${KEY}', retries: 0, breaker: '100,1s,1'}}\nmcpServers: {desk: {url: %q}}\n", p.fields, api, tools+"/mcp")
			gateway := start(t, map[string]string{"SLUICE_CONFIG": writeConfig(t, config), "KEY": "test-key-0123456789"})
			for i, row := range p.rows {
				if got := turnLine(gateway.Ask(fmt.Sprintf("row-%d;", i))); got != row.want {
					t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
				}
			}
		})
	}
}

// oddServer answers a request with the row that its last message names, or with second
// once the conversation holds what the tool answered.
func oddServer(rows []odd, second string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		stream := strings.Split(second, "\n")
		for i, row := range rows {
			if strings.Contains(string(body), fmt.Sprintf("row-%d;", i)) && !strings.Contains(string(body), "twelve o'clock") {
				stream = row.stream
			}
		}
		for _, data := range stream {
			_, _ = io.WriteString(w, "data: "+data+"\n\n")
		}
	})
}

// turnLine is what a turn says, on one line: its calls as they ended, errors, the text, how
// it ended, and figures of its usage that cannot be. Long ids are answered by their length.
func turnLine(frames []gatewaytest.Frame) string {
	var line []string
	text := ""
	for _, f := range frames {
		switch f.Kind {
		case "tool_call":
			if f.Data["status"] != "in_progress" {
				line = append(line, fmt.Sprintf("%v %v", f.Data["tool_name"], f.Data["status"]))
			}
			if id := f.Str("call_id"); len(id) > 200 {
				line = append(line, fmt.Sprintf("an id of %d bytes", len(id)))
			}
		case "error":
			line = append(line, fmt.Sprint("error ", f.Data["error_type"]))
		case "response_delta":
			text += f.Str("delta")
		case "done":
			if text != "" {
				line = append(line, text)
			}
			line = append(line, f.Str("finish_reason"))
			usage, _ := f.Data["usage"].(map[string]any)
			for _, name := range []string{"input_tokens", "output_tokens"} {
				if n, ok := usage[name].(float64); !ok || n < 0 || n > 100_000 {
					line = append(line, fmt.Sprintf("%s %v", name, usage[name]))
				}
			}
		}
	}
	return strings.Join(line, ", ")
}

func quoted(s string) string { b, _ := jsontext.AppendQuote(nil, s); return string(b) }

// noon is the one tool, and what it says is how a request is known to be the second.
func noon() map[string]func(context.Context) string {
	return map[string]func(context.Context) string{"now": func(context.Context) string { return "twelve o'clock" }}
}

// The second answers, an event a line.
const (
	chatText      = `{"choices":[{"index":0,"delta":{"content":"It is noon."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	responsesText = `{"type":"response.output_text.delta","delta":"It is noon."}
{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":1}}}`
	messagesText = `{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is noon."}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}
{"type":"message_stop"}`
	geminiText = `{"candidates":[{"content":{"role":"model","parts":[{"text":"It is noon."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
)

// oddIndexes are what stands where a small whole number should.
func oddIndexes() []string { return []string{"-1", "1000000000", `"0"`, "1.5"} }

// oddCounts are what stands where a number of tokens should.
func oddCounts() []string { return []string{"-5", "1000000000000000000", `"seven"`} }

// longID is an id of n bytes.
func longID(n int) string { return strings.Repeat("i", n) }

// How turns end.
const (
	answered  = "Hm., stop"
	cutShort  = "Hm., max_tokens"
	withdrawn = "error model_blocked, Hm., error"
	ran       = "now completed, It is noon., stop"
	failed    = "error model_unavailable, error"
)

func oddChat() (rows []odd) {
	choice := func(delta, finish string) string {
		return `{"choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]}`
	}
	call := func(index, id, args string) string {
		return choice(`"tool_calls":[{"index":`+index+`,"id":`+quoted(id)+`,"type":"function","function":{"name":"now","arguments":`+quoted(args)+`}}]`, "null")
	}
	for _, index := range oddIndexes() {
		rows = append(rows, odd{"a call's index " + index, []string{call(index, "a", "{"), choice(`"tool_calls":[{"index":`+index+`,"function":{"arguments":"}"}}]`, `"tool_calls"`), "[DONE]"}, ran})
	}
	for _, index := range oddIndexes() {
		want := answered
		if index == "-1" || index == "1000000000" {
			want = failed // another choice than the one that was asked for
		}
		rows = append(rows, odd{"a choice's index " + index, []string{`{"choices":[{"index":` + index + `,"delta":{"content":"Hm."},"finish_reason":"stop"}]}`, "[DONE]"}, want})
	}
	for _, n := range oddCounts() {
		rows = append(rows, odd{"usage " + n, []string{choice(`"content":"Hm."`, `"stop"`), `{"choices":[],"usage":{"prompt_tokens":` + n + `,"completion_tokens":` + n + `}}`, "[DONE]"}, answered})
	}
	many := strings.Repeat(`{"index":7,"delta":{"content":"no"},"finish_reason":"stop"},`, 999)
	return append(rows,
		odd{"an id of 64 KiB", []string{call("0", longID(64<<10), "{}"), choice("", `"tool_calls"`)}, ran},
		odd{"an id of 1 MiB", []string{call("0", longID(1<<20), "{}"), choice("", `"tool_calls"`)}, failed},
		odd{"stop, then length", []string{choice(`"content":"Hm."`, `"stop"`), choice("", `"length"`)}, cutShort},
		odd{"length, then stop", []string{choice(`"content":"Hm."`, `"length"`), choice("", `"stop"`)}, answered},
		odd{"stop, then content_filter", []string{choice(`"content":"Hm."`, `"stop"`), choice("", `"content_filter"`)}, withdrawn},
		odd{"stop, with a call", []string{call("0", "a", "{}"), choice("", `"stop"`)}, ran},
		odd{"tool_calls, without one", []string{choice(`"content":"Hm."`, `"tool_calls"`)}, answered},
		odd{"1,000 choices", []string{`{"choices":[` + many + `{"index":0,"delta":{"content":"Hm."},"finish_reason":"stop"}]}`}, answered},
	)
}

func oddResponses() (rows []odd) {
	text := func(index string) string {
		return `{"type":"response.output_text.delta","output_index":` + index + `,"content_index":` + index + `,"item_id":"m","delta":"Hm."}`
	}
	call := func(index, id string) string {
		return `{"type":"response.output_item.done","output_index":` + index + `,"item":{"type":"function_call","id":"fc_1","call_id":` + quoted(id) + `,"name":"now","arguments":"{}","status":"completed"}}`
	}
	end := func(status, more string) string {
		return `{"type":"response.` + status + `","response":{"status":"` + status + `"` + more + `}}`
	}
	for _, index := range oddIndexes() {
		rows = append(rows, odd{"an item's index " + index, []string{call(index, "a"), end("completed", "")}, ran},
			odd{"a text's index " + index, []string{text(index), end("completed", "")}, answered})
	}
	for _, n := range oddCounts() {
		rows = append(rows, odd{"usage " + n, []string{text("0"), end("completed", `,"usage":{"input_tokens":`+n+`,"output_tokens":`+n+`}`)}, answered})
	}
	item := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}`
	return append(rows,
		odd{"an id of 64 KiB", []string{call("0", longID(64<<10)), end("completed", "")}, ran},
		odd{"an id of 1 MiB", []string{call("0", longID(1<<20)), end("completed", "")}, failed},
		odd{"completed, then incomplete", []string{text("0"), end("completed", ""), end("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`)}, answered},
		odd{"incomplete, then completed", []string{text("0"), end("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`), end("completed", "")}, cutShort},
		odd{"completed, and says that it failed", []string{text("0"), `{"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"no"}}}`}, "error model_unavailable, Hm., error"},
		odd{"1,000 items", []string{text("0"), end("completed", `,"output":[`+strings.Repeat(item+",", 999)+item+`]`)}, answered},
	)
}

func oddMessages() (rows []odd) {
	const begin = `{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`
	const over = `{"type":"message_stop"}`
	text := func(index string) []string {
		return []string{
			`{"type":"content_block_start","index":` + index + `,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"text_delta","text":"Hm."}}`,
			`{"type":"content_block_stop","index":` + index + `}`,
		}
	}
	call := func(index, id string) []string {
		return []string{
			`{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":` + quoted(id) + `,"name":"now","input":{}}}`,
			`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"content_block_stop","index":` + index + `}`,
		}
	}
	stop := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":2}}`
	}
	row := func(name, want string, blocks []string, ends ...string) odd {
		return odd{name, slices.Concat([]string{begin}, blocks, ends), want}
	}
	for _, index := range oddIndexes() {
		rows = append(rows, row("a call's index "+index, ran, call(index, "a"), stop("tool_use"), over), row("a text's index "+index, answered, text(index), stop("end_turn"), over))
	}
	for _, n := range oddCounts() {
		rows = append(rows, row("usage "+n, answered, text("0"), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":`+n+`,"output_tokens":`+n+`}}`, over))
	}
	var many []string
	for i := range 1000 {
		many = append(many, `{"type":"content_block_start","index":`+strconv.Itoa(i+1)+`,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_stop","index":`+strconv.Itoa(i+1)+`}`)
	}
	return append(rows,
		row("an id of 64 KiB", ran, call("0", longID(64<<10)), stop("tool_use"), over),
		row("an id of 1 MiB", failed, call("0", longID(1<<20)), stop("tool_use"), over),
		row("end_turn, then max_tokens", cutShort, text("0"), stop("end_turn"), stop("max_tokens"), over),
		row("max_tokens, then end_turn", answered, text("0"), stop("max_tokens"), stop("end_turn"), over),
		row("end_turn, then refusal", withdrawn, text("0"), stop("end_turn"), stop("refusal"), over),
		row("end_turn, with a call", ran, call("0", "a"), stop("end_turn"), over),
		row("tool_use, without one", answered, text("0"), stop("tool_use"), over),
		row("1,000 blocks", answered, slices.Concat(text("0"), many), stop("end_turn"), over),
	)
}

func oddGemini() (rows []odd) {
	candidate := func(index, parts, finish string) string {
		return `{"index":` + index + `,"content":{"role":"model","parts":[` + parts + `]}` + finish + `}`
	}
	chunk := func(candidates, more string) string { return `{"candidates":[` + candidates + `]` + more + `}` }
	const text, stop, length = `{"text":"Hm."}`, `,"finishReason":"STOP"`, `,"finishReason":"MAX_TOKENS"`
	call := func(id string) string {
		return `{"functionCall":{"name":"now","args":{},"id":` + quoted(id) + `},"thoughtSignature":"c2ln"}`
	}
	for _, index := range oddIndexes() {
		rows = append(rows, odd{"a candidate's index " + index, []string{chunk(candidate(index, text, stop), "")}, answered},
			odd{"a candidate's index " + index + ", with a call", []string{chunk(candidate(index, call("a"), stop), "")}, ran})
	}
	for _, n := range oddCounts() {
		rows = append(rows, odd{"usage " + n, []string{chunk(candidate("0", text, stop), `,"usageMetadata":{"promptTokenCount":`+n+`,"candidatesTokenCount":`+n+`}`)}, answered})
	}
	many := strings.Repeat(","+candidate("7", `{"text":"no"}`, stop), 999)
	return append(rows,
		odd{"an id of 64 KiB", []string{chunk(candidate("0", call(longID(64<<10)), stop), "")}, ran},
		odd{"an id of 1 MiB", []string{chunk(candidate("0", call(longID(1<<20)), stop), "")}, failed},
		odd{"STOP, then MAX_TOKENS", []string{chunk(candidate("0", text, stop), ""), chunk(candidate("0", "", length), "")}, cutShort},
		odd{"MAX_TOKENS, then STOP", []string{chunk(candidate("0", text, length), ""), chunk(candidate("0", "", stop), "")}, answered},
		odd{"STOP, then SAFETY", []string{chunk(candidate("0", text, stop), ""), chunk(candidate("0", "", `,"finishReason":"SAFETY"`), "")}, withdrawn},
		odd{"1,000 candidates", []string{chunk(candidate("0", text, stop)+many, "")}, answered},
	)
}
