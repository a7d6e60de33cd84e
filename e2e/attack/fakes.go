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

	"sluice/e2e/toolserver"
)

// question is a request of the gateway to the fake model.
type question struct {
	*http.Request
	body string
}

// mentions reports whether the question is about text.
func (q question) mentions(text string) bool { return strings.Contains(q.body, text) }

// hasResults reports whether the question brings results of calls.
func (q question) hasResults() bool { return q.mentions(`"functionResponse"`) }

// model is a fake of the Gemini API. Its chunks are given to say.
//
// It is called for each question, at the same time for several turns. Each chunk is flushed at
// once.
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

// answerPlain answers every question with one word.
func answerPlain(_ question, say func(string)) { say(textAnswer("Fine.")) }

const goodUsage = `{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}`

// textAnswer returns a whole answer with a text.
func textAnswer(s string) string { return wholeAnswer(fmt.Sprintf(`[{"text":%q}]`, s), goodUsage) }

// wholeAnswer returns the one chunk of a whole answer, in Gemini's form.
func wholeAnswer(parts, usage string) string {
	return `{"candidates":[{"content":{"role":"model","parts":` + parts + `},"finishReason":"STOP","index":0}],"usageMetadata":` + usage + `}`
}

// partialAnswer returns the chunk of an answer that continues.
func partialAnswer(parts string) string {
	return `{"candidates":[{"content":{"role":"model","parts":` + parts + `},"index":0}]}`
}

// callAnswer returns an answer that calls one tool. arguments is JSON.
func callAnswer(tool, arguments string) string {
	name, _ := json.Marshal(tool)
	return wholeAnswer(fmt.Sprintf(`[{"functionCall":{"name":%s,"args":%s}}]`, name, arguments), goodUsage)
}

// callingModel calls the tool once and ends when its result is there.
func callingModel(tool, arguments string) model {
	return func(q question, say func(string)) {
		if q.hasResults() {
			say(textAnswer("Done."))
			return
		}
		say(callAnswer(tool, arguments))
	}
}

// tools are those of an MCP server: their list as JSON, and the number of calls that were
// answered. Whether one ran twice is what some rows are about.
type tools struct {
	list  string
	calls *counter
}

// mcpServer returns the server.
func (t *tools) mcpServer() *toolserver.Server {
	return &toolserver.Server{Name: "attack", List: t.list, Call: func(http.ResponseWriter, *http.Request, toolserver.Call) toolserver.Reply {
		t.calls.Add(1)
		return toolserver.Text("done")
	}}
}

// toolEntry returns a tool for the list of a server.
func toolEntry(name, schema string) string { return toolserver.Tool(name, "of the attack", schema, "") }
