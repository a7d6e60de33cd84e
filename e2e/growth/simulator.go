// This file has the surroundings of the gateway: simulators of a model and of a tool server. They
// cost the gateway's process only their bytes.

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/e2e/toolserver"
)

// textChunk is one of a Gemini API, with a text of 24 characters.
const textChunk = `data: {"candidates": [{"content": {"parts": [{"text": "the next few words go on "}],"role": "model"},"index": 0}],` +
	`"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": 32,"totalTokenCount": 238},"modelVersion": "simulator","responseId": "r1"}` + "\r\n\r\n"

// lastChunk ends an answer. %s is the JSON of its part.
const lastChunk = `data: {"candidates": [{"content": {"parts": [%s],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": 33}}` + "\r\n\r\n"

// model simulates one that answers at once.
//
// The request orders the answer: "chunks N." is the number of chunks before the last one; "call
// NAME." calls that tool first. A question that asks for an agent's id gets the first agent.
type model struct{}

// ServeHTTP answers a call.
func (model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if bytes.Contains(asked, []byte(`agentId`)) {
		fmt.Fprintf(w, lastChunk, `{"text": "{\"agentId\":\"agent-0\",\"confidence\":0.95,\"reasoning\":\"fits\"}"}`)
		return
	}
	if name := wordAfter(asked, "call "); name != "" && !bytes.Contains(asked, []byte(`"functionResponse"`)) {
		fmt.Fprintf(w, lastChunk, fmt.Sprintf(`{"functionCall": {"name": %q,"args": {"id": "x"}}}`, name))
		return
	}
	var n int
	_, _ = fmt.Sscan(wordAfter(asked, "chunks "), &n)
	for part := 100; n > 0; n -= part {
		_, _ = io.WriteString(w, strings.Repeat(textChunk, min(n, part)))
	}
	fmt.Fprintf(w, lastChunk, `{"text": "."}`)
}

// wordAfter returns the word between begin and the next full stop.
func wordAfter(asked []byte, begin string) string {
	_, rest, _ := bytes.Cut(asked, []byte(begin))
	word, _, ok := bytes.Cut(rest, []byte("."))
	if !ok || len(word) > 64 {
		return ""
	}
	return string(word)
}

// modelEnv points a gateway at the model.
func (r *run) modelEnv() string { return "GEMINI_BASE_URL=" + r.Serve(model{}) }

// toolBox returns a server of n tools, which look something up.
func toolBox(n int) *toolserver.Server {
	list := make([]string, n)
	for i := range list {
		list[i] = toolserver.Tool(fmt.Sprintf("look_up_%d", i), "Looks something up by its id, in the list that has this number.",
			toolserver.Argument("id", "string"), `"readOnlyHint":true`)
	}
	return &toolserver.Server{Name: "box", List: strings.Join(list, ","), Call: func(http.ResponseWriter, *http.Request, toolserver.Call) toolserver.Reply {
		return toolserver.Text("found")
	}}
}

// withTools starts a server of n tools, and returns the section of a file for it.
func (r *run) withTools(n int) string {
	return fmt.Sprintf("mcpServers: {box: {url: %q}}\n", r.Serve(toolBox(n))+"/mcp")
}
