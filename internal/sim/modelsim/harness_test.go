package modelsim

import (
	"bytes"
	"encoding/json" // a decoder that the package does not use, to judge it
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tmaxmax/go-sse"
)

type (
	m         = map[string]any
	jsonValue = jsontext.Value
)

const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	messagesPath  = "/v1/messages"
)

// serve starts a server; failures that a test does not claim are reported at its end.
func serve(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	s := New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL
}

func script(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a request, with directives for it, and returns the reply with its body.
func post(t *testing.T, url, directives string, body any) (*http.Response, string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if directives != "" {
		req.Header.Set(directivesHeader, directives)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, []byte("\n"+err.Error())...)
	}
	return resp, string(text)
}

// event is one of a stream: its name and its data, decoded.
type event struct {
	name, raw string
	data      m
}

// events reads a stream with a reader that is not ours. The end of [DONE] is one
// without data.
func events(t *testing.T, body string) (all []event) {
	t.Helper()
	for e, err := range sse.Read(strings.NewReader(body), nil) {
		if err != nil {
			t.Fatalf("%v in %q", err, body)
		}
		next := event{name: e.Type, raw: e.Data}
		if e.Data != "[DONE]" {
			if err := json.Unmarshal([]byte(e.Data), &next.data); err != nil {
				t.Fatalf("%v in %q", err, e.Data)
			}
		}
		all = append(all, next)
	}
	return all
}

// dig returns what stands at a path of members and indexes.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			node, _ := v.(m)
			v = node[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// observed is what a reader makes of an answer.
type observed struct {
	text, thoughts string
	calls          []observedCall
	finish         string
	kept           []any // native blocks or items that must go back
}

type observedCall struct{ id, name, args string }

// lines are the calls without their ids.
func (h observed) lines() (lines []string) {
	for _, c := range h.calls {
		var args any
		_ = json.Unmarshal([]byte(c.args), &args)
		b, _ := json.Marshal(args)
		lines = append(lines, c.name+" "+string(b))
	}
	return lines
}

func observeChat(t *testing.T, body string) (h observed) {
	t.Helper()
	for _, e := range events(t, body) {
		choice := dig(e.data, "choices", 0)
		h.text += str(dig(choice, "delta", "content"))
		h.thoughts += str(dig(choice, "delta", "reasoning_content"))
		if f := str(dig(choice, "finish_reason")); f != "" {
			h.finish = f
		}
		calls, _ := dig(choice, "delta", "tool_calls").([]any)
		for _, c := range calls {
			if id := str(dig(c, "id")); id != "" {
				h.calls = append(h.calls, observedCall{id: id, name: str(dig(c, "function", "name"))})
			}
			h.calls[len(h.calls)-1].args += str(dig(c, "function", "arguments"))
		}
	}
	return h
}

func observeResponses(t *testing.T, body string) (h observed) {
	t.Helper()
	for _, e := range events(t, body) {
		if e.name != str(e.data["type"]) {
			t.Errorf("event %s holds %v", e.name, e.data["type"])
		}
		switch e.name {
		case "response.output_text.delta":
			h.text += str(e.data["delta"])
		case "response.reasoning_summary_text.delta":
			h.thoughts += str(e.data["delta"])
		case "response.output_item.done":
			item, _ := e.data["item"].(m)
			if item["type"] == "reasoning" {
				h.kept = append(h.kept, item)
			}
			if item["type"] == "function_call" {
				h.calls = append(h.calls, observedCall{str(item["call_id"]), str(item["name"]), str(item["arguments"])})
			}
		case "response.completed", "response.incomplete":
			h.finish = str(dig(e.data, "response", "status"))
		}
	}
	return h
}

func observeMessages(t *testing.T, body string) (h observed) {
	t.Helper()
	for _, e := range events(t, body) {
		if e.name != str(e.data["type"]) {
			t.Errorf("event %s holds %v", e.name, e.data["type"])
		}
		delta := e.data["delta"]
		switch e.name {
		case "content_block_start":
			b, _ := e.data["content_block"].(m)
			switch b["type"] {
			case "tool_use":
				h.calls = append(h.calls, observedCall{id: str(b["id"]), name: str(b["name"])})
			case "thinking", "redacted_thinking":
				h.kept = append(h.kept, b)
			}
		case "content_block_delta":
			h.text += str(dig(delta, "text"))
			h.thoughts += str(dig(delta, "thinking"))
			if s := str(dig(delta, "signature")); s != "" {
				b := h.kept[len(h.kept)-1].(m)
				b["thinking"], b["signature"] = h.thoughts, s
			}
			if n := len(h.calls); n > 0 {
				h.calls[n-1].args += str(dig(delta, "partial_json"))
			}
		case "message_delta":
			h.finish = str(dig(delta, "stop_reason"))
		}
	}
	return h
}

// client holds a conversation in one protocol.
type client struct {
	path    string
	body    m
	observe func(*testing.T, string) observed
}

func (c *client) history() string {
	if c.path == responsesPath {
		return "input"
	}
	return "messages"
}

func (c *client) add(items ...any) {
	old, _ := c.body[c.history()].([]any)
	c.body[c.history()] = append(old, items...)
}

// next sends the conversation and returns the answer.
func (c *client) next(t *testing.T, url, directives string) observed {
	t.Helper()
	resp, body := post(t, url+c.path, directives, c.body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %s", c.path, resp.StatusCode, body)
	}
	return c.observe(t, body)
}

// reply adds an answer and the results of its calls to the conversation.
func (c *client) reply(h observed, results ...string) {
	switch c.path {
	case chatPath:
		var calls []any
		for _, k := range h.calls {
			calls = append(calls, m{"id": k.id, "type": "function", "function": m{"name": k.name, "arguments": k.args}})
		}
		c.add(m{"role": "assistant", "content": nil, "tool_calls": calls})
		for i, r := range results {
			c.add(m{"role": "tool", "tool_call_id": h.calls[i].id, "content": r})
		}
	case responsesPath:
		c.add(h.kept...)
		for _, k := range h.calls {
			c.add(m{"type": "function_call", "call_id": k.id, "name": k.name, "arguments": k.args})
		}
		for i, r := range results {
			c.add(m{"type": "function_call_output", "call_id": h.calls[i].id, "output": r})
		}
	case messagesPath:
		content := append([]any{}, h.kept...)
		var out []any
		for i, k := range h.calls {
			content = append(content, m{"type": "tool_use", "id": k.id, "name": k.name, "input": json.RawMessage(k.args)})
			out = append(out, m{"type": "tool_result", "tool_use_id": k.id, "content": results[i]})
		}
		c.add(m{"role": "assistant", "content": content}, m{"role": "user", "content": out})
	}
}

// newClient begins a conversation with the tools and thinking on.
func newClient(path, system, text string, tools []any) *client {
	switch path {
	case chatPath:
		c := &client{path, m{"model": "sim", "stream": true, "stream_options": m{"include_usage": true}, "messages": []any{m{"role": "system", "content": system}, m{"role": "user", "content": text}}}, observeChat}
		var all []any
		for _, f := range tools {
			all = append(all, m{"type": "function", "function": f})
		}
		c.body["tools"] = all
		return c
	case responsesPath:
		c := &client{path, m{"model": "sim", "stream": true, "store": false, "include": []any{"reasoning.encrypted_content"}, "reasoning": m{"summary": "auto"}, "instructions": system, "input": []any{m{"role": "user", "content": text}}}, observeResponses}
		var all []any
		for _, f := range tools {
			f, _ := f.(m)
			all = append(all, m{"type": "function", "name": f["name"], "parameters": f["parameters"], "strict": false})
		}
		c.body["tools"] = all
		return c
	case messagesPath:
		c := &client{path, m{"model": "sim", "stream": true, "max_tokens": 8192, "thinking": m{"type": "adaptive", "display": "summarized"}, "system": []any{m{"type": "text", "text": system}}, "messages": []any{m{"role": "user", "content": text}}}, observeMessages}
		var all []any
		for _, f := range tools {
			f, _ := f.(m)
			all = append(all, m{"name": f["name"], "input_schema": f["parameters"]})
		}
		c.body["tools"] = all
		return c
	}
	panic(fmt.Sprint("no such path: ", path))
}
