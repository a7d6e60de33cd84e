package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/gateway/gatewaytest"
	"sluice/internal/settings"
)

// geminiSays answers each request of Gemini's with a text in ten pieces.
type geminiSays struct{ body string }

func newGeminiSays() geminiSays {
	var b strings.Builder
	for range 10 {
		b.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":"Hello, this is a piece. "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"modelVersion":"gemini-3-flash","responseId":"abc"}` + "\r\n\r\n")
	}
	b.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}` + "\r\n\r\n")
	return geminiSays{b.String()}
}

func (g geminiSays) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(g.body)), ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkPlainTurn is a whole turn in this process, without connections, where the
// GEMINI_* variables alone make the model.
func BenchmarkPlainTurn(b *testing.B) {
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "SLUICE_TODO_DB": ":memory:", "SLUICE_ADMISSION": "count"}
	cfg, err := settings.Load(nil, gatewaytest.LookupIn(env), nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(b.Context(), Config{Config: cfg, Version: "test"}, zerolog.Nop(), Seams{Gemini: newGeminiSays()})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "http://gateway/chat/stream", strings.NewReader(`{"input":"hello","accumulated":false}`))
		req.Header.Set("Content-Type", "application/json")
		out := httptest.NewRecorder()
		g.ServeHTTP(out, req)
		if out.Code != http.StatusOK || !strings.Contains(out.Body.String(), `"success":true`) {
			b.Fatalf("%d %s", out.Code, out.Body)
		}
	}
}
