// Package simtest makes requests to the simulator in tests.
package simtest

import (
	"bytes"
	"encoding/json" // a decoder that the simulator does not use, to judge it
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Saturday is the date of most tests, as the gateway's system prompt gives it.
const Saturday = "Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00)."

// TodoTools declares the four tools of the todo server, as JSON Schema.
const TodoTools = `[{"functionDeclarations":[
 {"name":"create_todo","description":"Adds a todo","parametersJsonSchema":{"type":"object","properties":{"title":{"type":"string"},"description":{"type":"string"},"due_date":{"type":"string","description":"ISO 8601"},"priority":{"type":"string","enum":["low","medium","high"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["title"]}},
 {"name":"list_todos","description":"Lists todos","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string","enum":["pending","completed","all"]},"priority":{"type":"string","enum":["low","medium","high"]},"due_date_filter":{"type":"string","description":"today, this_week or a date"},"tags":{"type":"array","items":{"type":"string"}},"query":{"type":"string"}}}},
 {"name":"update_todo","description":"Changes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"title":{"type":"string"},"due_date":{"type":"string"},"priority":{"type":"string"},"status":{"type":"string","enum":["pending","completed"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["todo_id"]}},
 {"name":"delete_todo","description":"Deletes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"confirmation":{"type":"boolean"}},"required":["todo_id","confirmation"]}}]}]`

// Post sends a request and returns the reply with its body read.
func Post(t *testing.T, url, body string) (*http.Response, string) {
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

// UserSays is a request of one user text with the todo tools.
func UserSays(text string) string { return Request(Text("user", text)) }

// Request is a request of these contents with the todo tools and a system prompt that
// has the date.
func Request(contents ...string) string {
	return fmt.Sprintf(`{"contents":[%s],"systemInstruction":{"parts":[{"text":%s}]},"tools":%s}`,
		strings.Join(contents, ","), Quote("You look after todos.\n"+Saturday+"\nBe brief."), TodoTools)
}

// Text is a content of one text.
func Text(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[{"text":%s}]}`, role, Quote(text))
}

// Quote is v as JSON.
func Quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// ModelTurn is a content of the model's, of these parts.
func ModelTurn(parts ...string) string {
	return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
}

// UserTurn is a content of the user's, of these parts.
func UserTurn(parts ...string) string {
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}
