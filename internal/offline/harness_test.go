package offline

import (
	"bufio"
	"bytes"
	"encoding/json" // a decoder that the package does not use, to judge it
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/geminisim"
)

// saturday21 is the date of most tests, as the gateway's system prompt tells it.
const saturday21 = "Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00)."

// testNow is the same moment.
func testNow() time.Time {
	return time.Date(2026, 11, 21, 11, 30, 0, 0, time.FixedZone("Europe/Berlin", 3600))
}

// todoTools declares the four tools of the todo server, as JSON Schema.
const todoTools = `[{"functionDeclarations":[
 {"name":"create_todo","description":"Adds a todo","parametersJsonSchema":{"type":"object","properties":{"title":{"type":"string"},"description":{"type":"string"},"due_date":{"type":"string","description":"ISO 8601"},"priority":{"type":"string","enum":["low","medium","high"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["title"]}},
 {"name":"list_todos","description":"Lists todos","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string","enum":["pending","completed","all"]},"priority":{"type":"string","enum":["low","medium","high"]},"due_date_filter":{"type":"string","description":"today, this_week or a date"},"tags":{"type":"array","items":{"type":"string"}},"query":{"type":"string"}}}},
 {"name":"update_todo","description":"Changes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"title":{"type":"string"},"due_date":{"type":"string"},"priority":{"type":"string"},"status":{"type":"string","enum":["pending","completed"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["todo_id"]}},
 {"name":"delete_todo","description":"Deletes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"confirmation":{"type":"boolean"}},"required":["todo_id","confirmation"]}}]}]`

const streamPath = "/v1beta/models/offline-demo:streamGenerateContent?alt=sse"

// serve starts a simulator with the offline model.
func serve(t *testing.T) string {
	t.Helper()
	h := httptest.NewServer(geminisim.New(geminisim.Config{Model: Model{Now: testNow}}))
	t.Cleanup(h.Close)
	return h.URL
}

// post sends a request and returns the reply with its body read.
func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the reply: %v (got %q)", err, b)
	}
	return resp, string(b)
}

// userSays is a request of one user text with the todo tools.
func userSays(text string) string { return requestOf(textContent("user", text)) }

func requestOf(contents ...string) string {
	return fmt.Sprintf(`{"contents":[%s],"systemInstruction":{"parts":[{"text":%s}]},"tools":%s}`,
		strings.Join(contents, ","), quote("You look after todos.\n"+saturday21+"\nBe brief."), todoTools)
}

func textContent(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[{"text":%s}]}`, role, quote(text))
}

func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func modelTurn(parts ...string) string {
	return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
}

func userTurn(parts ...string) string {
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

type wirePart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// answerOf is what a stream holds.
type answerOf struct {
	text  string
	calls []string // raw parts with a functionCall
	lines []string // the calls as "name {args}"
}

func gather(t *testing.T, body string) answerOf {
	t.Helper()
	var a answerOf
	sc := bufio.NewScanner(strings.NewReader(body))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var c struct {
			Candidates []struct {
				Content struct {
					Parts []json.RawMessage `json:"parts"`
				} `json:"content"`
			} `json:"candidates"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		for _, raw := range c.Candidates[0].Content.Parts {
			a.add(t, raw)
		}
	}
	return a
}

func (a *answerOf) add(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var p wirePart
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.FunctionCall == nil {
		a.text += *p.Text
		return
	}
	var args bytes.Buffer
	if err := json.Compact(&args, p.FunctionCall.Args); err != nil {
		t.Fatal(err)
	}
	a.calls = append(a.calls, string(raw))
	a.lines = append(a.lines, p.FunctionCall.Name+" "+args.String())
}

// answer sends a request and returns the calls, one a line, or else the text.
func answer(t *testing.T, url, request string) string {
	t.Helper()
	resp, body := post(t, url+streamPath, request)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", request, body)
	}
	a := gather(t, body)
	if len(a.lines) > 0 {
		return strings.Join(a.lines, "\n")
	}
	return a.text
}
