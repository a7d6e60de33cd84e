package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
)

const saturday = "You look after todos.\nNow it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00)."

// todoTools are three tools of the todo server.
func todoTools(t *testing.T) (tools []any) {
	t.Helper()
	const text = `[
	{"name":"create_todo","parameters":{"type":"object","properties":{"title":{"type":"string"},"due_date":{"type":"string"},"priority":{"type":"string"}},"required":["title"]}},
	{"name":"list_todos","parameters":{"type":"object","properties":{"status":{"type":"string"},"query":{"type":"string"}}}},
	{"name":"update_todo","parameters":{"type":"object","properties":{"todo_id":{"type":"string"},"status":{"type":"string"}},"required":["todo_id"]}}]`
	if err := json.Unmarshal([]byte(text), &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

// spoken is a conversation's turn without what the protocols word differently.
type spoken struct {
	Thoughts, Text string
	Calls          []string
}

// overGemini asks geminisim the same, step by step.
func overGemini(t *testing.T, text string, tools []any, results []string) (steps []spoken) {
	t.Helper()
	h := httptest.NewServer(geminisim.New(geminisim.Config{Model: offline.Model{}}))
	defer h.Close()
	var declared []any
	for _, f := range tools {
		f, _ := f.(m)
		declared = append(declared, m{"name": f["name"], "parametersJsonSchema": f["parameters"]})
	}
	contents := []any{m{"role": "user", "parts": []any{m{"text": text}}}}
	for {
		_, body := post(t, h.URL+"/v1beta/models/offline-demo:streamGenerateContent?alt=sse", "", m{
			"contents": contents, "systemInstruction": m{"parts": []any{m{"text": saturday}}}, "tools": []any{m{"functionDeclarations": declared}},
			"generationConfig": m{"thinkingConfig": m{"includeThoughts": true}},
		})
		var step spoken
		var said, answers []any
		for _, e := range events(t, body) {
			parts, _ := dig(e.data, "candidates", 0, "content", "parts").([]any)
			for _, p := range parts {
				call := dig(p, "functionCall")
				switch {
				case call != nil:
					args, _ := json.Marshal(dig(call, "args"))
					step.Calls = append(step.Calls, str(dig(call, "name"))+" "+string(args))
					said = append(said, p)
					answers = append(answers, m{"functionResponse": m{"id": dig(call, "id"), "name": dig(call, "name"), "response": m{"output": results[len(answers)]}}})
				case dig(p, "thought") == true:
					step.Thoughts += str(dig(p, "text"))
				default:
					step.Text += str(dig(p, "text"))
				}
			}
		}
		steps = append(steps, step)
		if step.Calls == nil {
			return steps
		}
		contents = append(contents, m{"role": "model", "parts": said}, m{"role": "user", "parts": answers})
		results = results[len(answers):]
	}
}

// The offline model says and calls the same in all four protocols, and what goes back
// as it should is taken.
func TestPlansInAllProtocols(t *testing.T) {
	t.Parallel()
	const milk = `{"todos":[{"id":"t1","title":"milk","status":"pending"}]}`
	tests := []struct {
		text    string
		results []string
	}{
		{"hello", nil},
		{"Remind me to buy eggs tomorrow at 3pm", []string{`{"id":"t1","title":"buy eggs","due_date":"2026-11-22T15:00:00+01:00"}`}},
		{"Add todos: milk, bread and eggs", []string{`{"id":"t1","title":"milk"}`, `{"id":"t2","title":"bread"}`, `{"id":"t3","title":"eggs"}`}},
		{"Mark milk as done", []string{milk, `{"id":"t1","title":"milk","status":"completed"}`}},
		{"What's due this week?", []string{milk}},
	}
	for _, tt := range tests {
		want := overGemini(t, tt.text, todoTools(t), tt.results)
		for path, finish := range map[string][2]string{
			chatPath: {"stop", "tool_calls"}, responsesPath: {"completed", "completed"}, messagesPath: {"end_turn", "tool_use"},
		} {
			t.Run(tt.text+path, func(t *testing.T) {
				t.Parallel()
				s, url := serve(t, Config{Model: offline.Model{}})
				c := newClient(path, saturday, tt.text, todoTools(t))
				results := tt.results
				var got []spoken
				for {
					h := c.next(t, url, "reasoning content")
					got = append(got, spoken{h.thoughts, h.text, h.lines()})
					ended := finish[0]
					if len(h.calls) > 0 {
						ended = finish[1]
					}
					if h.finish != ended {
						t.Errorf("finish %q, want %q", h.finish, ended)
					}
					if len(h.calls) == 0 {
						break
					}
					c.reply(h, results[:len(h.calls)]...)
					results = results[len(h.calls):]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-gemini +here)\n%s", diff)
				}
				if f := s.Failures(); f != nil {
					t.Error(f)
				}
			})
		}
	}
}

// Without a stream the answer comes in one piece, with the same in it.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for path, text := range map[string][]any{
		chatPath:      {"choices", 0, "message", "content"},
		responsesPath: {"output", 0, "content", 0, "text"},
		messagesPath:  {"content", 0, "text"},
	} {
		for _, directives := range []string{"", "whole"} {
			c := newClient(path, "s", "hi", nil)
			delete(c.body, "tools")
			if directives == "" {
				delete(c.body, "stream")
				delete(c.body, "stream_options")
			}
			resp, body := post(t, url+path, directives, c.body)
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil || dig(v, text...) != "OK." || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %q: %v in %s", path, directives, err, body)
			}
		}
	}
}

// No answer passes for one of a real model.
func TestLabels(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for _, path := range []string{chatPath, responsesPath, messagesPath} {
		c := newClient(path, "s", "hi", todoTools(t))
		resp, body := post(t, url+path, "", c.body)
		if resp.Header.Get("X-Modelsim") != "simulator" || resp.Header.Get("Server") != "modelsim" || !strings.Contains(body, `"model":"modelsim"`) {
			t.Errorf("%s: %v %s", path, resp.Header, body)
		}
	}
}

// Structured output is the smallest value of the schema, what a role says, or what
// the script does, in each protocol; and a forced tool gets its arguments.
func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	schema := m{"type": "object", "properties": m{"n": m{"type": "integer", "minimum": 3}}, "required": []any{"n"}, "additionalProperties": false}
	role := func(_ jsonValue, q geminisim.Question) (jsonValue, bool) {
		return jsonValue(`{"n":7}`), strings.Contains(q.System, "judge")
	}
	_, url := serve(t, Config{Roles: []geminisim.Role{role}})
	for path, format := range map[string]m{
		chatPath:      {"response_format": m{"type": "json_schema", "json_schema": m{"name": "answer", "schema": schema, "strict": true}}},
		responsesPath: {"text": m{"format": m{"type": "json_schema", "name": "answer", "schema": schema, "strict": true}}},
		messagesPath:  {"output_config": m{"format": m{"type": "json_schema", "schema": schema}}},
	} {
		for _, tt := range []struct{ system, directives, want string }{
			{"s", "", `{"n":3}`}, {"You are a judge.", "", `{"n":7}`}, {"s", `text {"n":4}`, `{"n":4}`},
		} {
			c := newClient(path, tt.system, "hi", nil)
			delete(c.body, "tools")
			for k, v := range format {
				c.body[k] = v
			}
			if got := c.next(t, url, tt.directives); got.text != tt.want {
				t.Errorf("%s %v: %q", path, tt, got.text)
			}
		}
	}
	for path, choice := range map[string]m{
		chatPath:      {"type": "function", "function": m{"name": "create_todo"}},
		responsesPath: {"type": "function", "name": "create_todo"},
		messagesPath:  {"type": "tool", "name": "create_todo"},
	} {
		c := newClient(path, "s", "hi", todoTools(t))
		delete(c.body, "thinking")
		c.body["tool_choice"] = choice
		if got := fmt.Sprint(c.next(t, url, "").lines()); got != `[create_todo {"title":""}]` {
			t.Errorf("%s: %s", path, got)
		}
	}
	c := newClient(chatPath, "Answer with JSON that follows this schema: "+string(encodeJSON(schema)), "hi", nil)
	delete(c.body, "tools")
	c.body["response_format"] = m{"type": "json_object"}
	if got := c.next(t, url, ""); got.text != `{"n":3}` {
		t.Errorf("json_object: %q", got.text)
	}
	delete(c.body, "response_format")
	if got := c.next(t, url, "prompted"); got.text != `{"n":3}` {
		t.Errorf("prompted: %q", got.text)
	}
}

// Pauses are those that were asked for.
func TestPace(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{FirstDelay: time.Hour})
	begin := time.Now()
	c := newClient(chatPath, "s", "hi", todoTools(t))
	c.next(t, url, "first 1ms; pace 20ms")
	if elapsed := time.Since(begin); elapsed < 60*time.Millisecond { // role, text, finish, usage
		t.Errorf("took %v", elapsed)
	}
}
