package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Model is a Gemini API that a test scripts, as far as a gateway needs it.
type Model struct {
	URL string

	mu        sync.Mutex // guards asked
	questions []*Question
	news      chan struct{} // closed when there is one more
}

// Question is one call of the model.
type Question struct {
	Text    string // the user's last text
	Body    string // the whole request
	Results int    // how many results of tools it holds

	ctx  context.Context
	w    http.ResponseWriter
	done bool
}

// NewModel serves a model until the test ends. answer runs once for each call; an answer that it
// does not end is ended when it returns.
func NewModel(t testing.TB, answer func(*Question)) *Model {
	m := &Model{news: make(chan struct{})}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		q := newQuestion(w, r, body)
		m.mu.Lock()
		m.questions = append(m.questions, q)
		close(m.news)
		m.news = make(chan struct{})
		m.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		answer(q)
		if !q.done && q.ctx.Err() == nil {
			q.sendPart(`{"text":""}`, `,"finishReason":"STOP"`)
		}
	}))
	srv.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	srv.Start()
	t.Cleanup(srv.Close)
	m.URL = srv.URL
	return m
}

func newQuestion(w http.ResponseWriter, r *http.Request, body []byte) *Question {
	q := &Question{Body: string(body), ctx: r.Context(), w: w}
	var request struct {
		Contents []struct {
			Parts []struct {
				Text             string
				FunctionResponse any
			}
		}
	}
	_ = json.Unmarshal(body, &request)
	for _, c := range request.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				q.Results++
			} else if said := UserText(p.Text); said != "" {
				q.Text = said
			}
		}
	}
	return q
}

// UserText returns the user's words in a text for a model, without the line of its time. For a text
// that the gateway added it returns an empty string.
func UserText(text string) string {
	if strings.HasPrefix(text, "Added by the gateway, not by the user:\n") {
		return ""
	}
	if _, said, ok := strings.Cut(text, ").\n\n"); ok && strings.HasPrefix(text, "Now it is ") {
		return said
	}
	return text
}

// Env returns the environment that points a gateway at the model.
func (m *Model) Env() map[string]string {
	return map[string]string{"GEMINI_API_KEY": "not-a-real-key-of-anybody", "GEMINI_BASE_URL": m.URL}
}

// Questions returns all calls so far.
func (m *Model) Questions() []*Question {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.questions[:len(m.questions):len(m.questions)]
}

// Next is closed by the next call.
func (m *Model) Next() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.news
}

// SendText sends a piece of text.
func (q *Question) SendText(text string) {
	quoted, _ := json.Marshal(text)
	q.sendPart(`{"text":`+string(quoted)+`}`, "")
}

// Call asks for a tool, and ends the answer. args is JSON.
func (q *Question) Call(tool, args string) {
	q.sendPart(fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, tool, args), `,"finishReason":"STOP"`)
	q.done = true
}

// Cancelled is closed when the gateway has cancelled the call, or the test has ended.
func (q *Question) Cancelled() <-chan struct{} { return q.ctx.Done() }

func (q *Question) sendPart(part, end string) {
	fmt.Fprintf(q.w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"index":0%s}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}`+"\n\n", part, end)
	_ = http.NewResponseController(q.w).Flush()
}
