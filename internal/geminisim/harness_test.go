package geminisim

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encoding/json" // a decoder that the package does not use, to judge it
)

// saturday21 is the date of most tests, as the gateway's system prompt tells it.
const saturday21 = "Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00)."

// todoTools declares the four tools of the todo server, as JSON Schema.
const todoTools = `[{"functionDeclarations":[
 {"name":"create_todo","description":"Adds a todo","parametersJsonSchema":{"type":"object","properties":{"title":{"type":"string"},"description":{"type":"string"},"due_date":{"type":"string","description":"ISO 8601"},"priority":{"type":"string","enum":["low","medium","high"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["title"]}},
 {"name":"list_todos","description":"Lists todos","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string","enum":["pending","completed","all"]},"priority":{"type":"string","enum":["low","medium","high"]},"due_date_filter":{"type":"string","description":"today, this_week or a date"},"tags":{"type":"array","items":{"type":"string"}},"query":{"type":"string"}}}},
 {"name":"update_todo","description":"Changes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"title":{"type":"string"},"due_date":{"type":"string"},"priority":{"type":"string"},"status":{"type":"string","enum":["pending","completed"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["todo_id"]}},
 {"name":"delete_todo","description":"Deletes a todo","parametersJsonSchema":{"type":"object","properties":{"todo_id":{"type":"string"},"confirmation":{"type":"boolean"}},"required":["todo_id","confirmation"]}}]}]`

const streamPath = "/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse"

// serve starts a simulator on a port of its own.
func serve(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	s := New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL
}

// parrot repeats what the user said. What begins with "call" makes it call, once
// for each word that follows, and think before.
type parrot struct{}

func (parrot) Version() string { return "parrot" }

func (parrot) Answer(q Question) Answer {
	said := q.Messages[len(q.Messages)-1].Text
	names := strings.Fields(said)
	if len(names) == 0 || names[0] != "call" || !q.MayCall {
		return Answer{Text: said}
	}
	a := Answer{Thoughts: []string{"**Hm**\n\nI shall call something.\n\n\n"}}
	for _, name := range names[1:] {
		a.Calls = append(a.Calls, Call{Name: name, Args: []byte(`{"title":"buy eggs","priority":"medium"}`)})
	}
	return a
}

// script parses a script that the test wrote.
func script(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

// wireChunk is what a client reads of a chunk.
type wireChunk struct {
	Candidates []struct {
		Content struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Usage        map[string]any `json:"usageMetadata"`
	ModelVersion string         `json:"modelVersion"`
	ResponseID   string         `json:"responseId"`
}

type wirePart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall"`
}

// readSSE cuts a stream into its chunks.
func readSSE(t *testing.T, body string) []wireChunk {
	t.Helper()
	var chunks []wireChunk
	sc := bufio.NewScanner(strings.NewReader(body))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var c wireChunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// answerOf gathers a stream: text, thoughts, calls as raw parts, finish reason.
type answerOf struct {
	text, thoughts string
	calls          []string // raw parts with a functionCall
	finish         string
}

func gather(t *testing.T, body string) answerOf {
	t.Helper()
	var a answerOf
	for _, c := range readSSE(t, body) {
		for _, raw := range c.Candidates[0].Content.Parts {
			var p wirePart
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			switch {
			case p.FunctionCall != nil:
				a.calls = append(a.calls, string(raw))
			case p.Thought:
				a.thoughts += *p.Text
			default:
				a.text += *p.Text
			}
		}
		if f := c.Candidates[0].FinishReason; f != "" {
			a.finish = f
		}
	}
	return a
}

// apiMessage reads an error reply.
func apiMessage(t *testing.T, body string) (code int, status, message string) {
	t.Helper()
	var e struct {
		Error struct {
			Code    int    `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("error reply %q: %v", body, err)
	}
	return e.Error.Code, e.Error.Status, e.Error.Message
}

// recording reads a file of the recorded real responses; where they are not to
// be had the test is skipped.
func recording(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func recordings(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "testdata", "gemini")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded responses (shared/testdata/gemini) are not here")
	}
	return dir
}

// pipeListener is a listener in memory, for tests in a bubble of fake time.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
