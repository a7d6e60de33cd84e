package wholetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/internal/model"
)

// Canned answers for two models: "down" always fails, all others say Hi.
type Canned struct{}

// RoundTrip implements http.RoundTripper.
func (Canned) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	resp := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: req, ProtoMajor: 1, ProtoMinor: 1}
	if req.URL.Host == "down" {
		return resp, nil
	}
	resp.StatusCode = http.StatusOK
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Body = io.NopCloser(strings.NewReader(`data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	return resp, nil
}

// ChatSpec is a model that is reached by chat completions.
func ChatSpec(key, endpoint string, fallback ...string) model.Spec {
	return model.Spec{
		Key: key, Provider: model.OpenAI, API: model.ChatAPI, Endpoint: endpoint, Model: "m", First: time.Minute, Idle: time.Minute,
		Breaker: breaker.Config{Failures: 1, Recovery: time.Hour, HalfOpenCalls: 1}, Fallback: fallback, FallbackOn: model.DefaultFallbackOn(),
	}
}

// CannedTeam is a model without a network: a decision where a schema is asked for, else an
// answer of 40 chunks.
type CannedTeam struct{ decision, answer []byte }

// NewCanned returns a team whose router decides so.
func NewCanned(decision string) *CannedTeam {
	chunk := func(text, finish string) string {
		return fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":%q}]}%s}],\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":5},\"modelVersion\":\"m\"}\r\n\r\n", text, finish)
	}
	const stop = `,"finishReason":"STOP"`
	answer := strings.Repeat(chunk("twenty-five characters ..", ""), 39) + chunk("the end.", stop)
	return &CannedTeam{[]byte(chunk(decision, stop)), []byte(answer)}
}

// RoundTrip implements http.RoundTripper.
func (c *CannedTeam) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	text := c.answer
	if bytes.Contains(body, []byte("responseJsonSchema")) {
		text = c.decision
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}, nil
}

// GeminiSays answers each request of Gemini's with a text in ten pieces.
type GeminiSays struct{ body string }

// NewGeminiSays returns a model that answers in a few pieces.
func NewGeminiSays() GeminiSays {
	var b strings.Builder
	for range 10 {
		b.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":"Hello, this is a piece. "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"modelVersion":"gemini-3-flash","responseId":"abc"}` + "\r\n\r\n")
	}
	b.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}` + "\r\n\r\n")
	return GeminiSays{b.String()}
}

// RoundTrip implements http.RoundTripper.
func (g GeminiSays) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(g.body)), ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}
