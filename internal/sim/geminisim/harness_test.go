package geminisim

import (
	"bufio"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encoding/json" // a decoder that the package does not use, to judge it
)

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
	dir := filepath.Join("..", "..", "..", "..", "shared", "testdata", "gemini")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded responses (shared/testdata/gemini) are not here")
	}
	return dir
}
