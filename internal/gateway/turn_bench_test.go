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

// plainTurnAllocates is what a turn allocated before turns could be kept.
const plainTurnAllocates = 149

// What is off costs nothing: neither kept turns, nor workflows, approvals or traces.
func TestPlainTurnAllocatesNoMore(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	run := plainTurn(t)
	run()                                                              // which fills the pools
	if n := testing.AllocsPerRun(200, run); n > plainTurnAllocates+2 { // a collection empties pools
		t.Errorf("%v allocations, want %d", n, plainTurnAllocates)
	}
}

// BenchmarkPlainTurn is a whole turn in this process, without connections, where the
// GEMINI_* variables alone make the model.
func BenchmarkPlainTurn(b *testing.B) {
	run := plainTurn(b)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

// plainTurn starts a gateway and returns a function that runs a turn.
func plainTurn(t testing.TB) func() {
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "SLUICE_TODO_DB": ":memory:", "SLUICE_ADMISSION": "count"}
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(env), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(t.Context(), settings.Config{Config: cfg, Version: "test"}, zerolog.Nop(), Seams{Gemini: newGeminiSays()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return func() {
		req := httptest.NewRequest(http.MethodPost, "http://gateway/chat/stream", strings.NewReader(`{"input":"hello","accumulated":false}`))
		req.Header.Set("Content-Type", "application/json")
		out := httptest.NewRecorder()
		g.ServeHTTP(out, req)
		if out.Code != http.StatusOK || !strings.Contains(out.Body.String(), `"success":true`) {
			t.Fatalf("%d %s", out.Code, out.Body)
		}
	}
}
