// This file has the fakes that stand behind the attacked gateway: a model in the form of
// the Gemini API, and an MCP server. They know as much of these protocols as the scenarios
// need, and share no code with the gateway.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// question is what the gateway asks the fake model.
type question struct {
	*http.Request
	body string
}

// about says whether the question is about text.
func (q question) about(text string) bool { return strings.Contains(q.body, text) }

// answered says whether the question brings results of calls.
func (q question) answered() bool { return q.about(`"functionResponse"`) }

// model is a fake of the Gemini API. Its chunks are given to say.
//
// It is called for each question, at the same time for several turns. What it says is
// flushed at once.
type model func(q question, say func(chunk string))

// ServeHTTP reads the request and has the model write events, each flushed.
func (m model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	m(question{r, string(body)}, func(chunk string) {
		_, _ = io.WriteString(w, "data: "+chunk+"\n\n")
		_ = http.NewResponseController(w).Flush()
	})
}

// plain answers every question with one word.
func plain(_ question, say func(string)) { say(text("Fine.")) }

const goodUsage = `{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}`

// text is a whole answer.
func text(s string) string { return answer(fmt.Sprintf(`[{"text":%q}]`, s), goodUsage) }

// answer is the one chunk of a whole answer, in Gemini's form.
func answer(parts, usage string) string {
	return `{"candidates":[{"content":{"role":"model","parts":` + parts + `},"finishReason":"STOP","index":0}],"usageMetadata":` + usage + `}`
}

// part is an answer that continues.
func part(parts string) string {
	return `{"candidates":[{"content":{"role":"model","parts":` + parts + `},"index":0}]}`
}

// call is an answer that calls one tool. arguments is JSON.
func call(tool, arguments string) string {
	name, _ := json.Marshal(tool)
	return answer(fmt.Sprintf(`[{"functionCall":{"name":%s,"args":%s}}]`, name, arguments), goodUsage)
}

// calling calls the tool once and ends when its result is there.
func calling(tool, arguments string) model {
	return func(q question, say func(string)) {
		if q.answered() {
			say(text("Done."))
			return
		}
		say(call(tool, arguments))
	}
}

// tools is a fake MCP server over streamable HTTP: its list of tools as JSON, and
// the number of calls that it has answered.
type tools struct {
	list  string
	calls *counter
}

// tool is a line of such a list.
func tool(name, schema string) string {
	return fmt.Sprintf(`{"name":%q,"description":"of the attack","inputSchema":%s}`, name, schema)
}

// ServeHTTP is an MCP server over HTTP without sessions.
func (t tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, t.reply(req.Method, req.Params.ProtocolVersion))
}

// reply answers the few methods that a client needs. Calls are counted: whether
// one ran twice is what some rows are about.
func (t tools) reply(method, version string) string {
	switch method {
	case "initialize":
		return fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"attack","version":"1"}}`, version)
	case "tools/list":
		return `"result":{"tools":[` + t.list + `]}`
	case "tools/call":
		t.calls.Add(1)
		return `"result":{"content":[{"type":"text","text":"done"}]}`
	case "ping":
		return `"result":{}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}
