package quality_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
)

// checkingGemini answers agents as GeminiSays does, and a planner and a judge with what
// they are asked for.
type checkingGemini struct{ agent wholetest.GeminiSays }

func (g checkingGemini) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	req.Body = http.NoBody
	answer := ""
	switch {
	case strings.Contains(string(body), "You plan how"):
		answer = `{\"criteria\":[{\"id\":\"greets\",\"description\":\"The answer greets the user.\",\"expected\":\"hello\"}],\"steps\":[{\"agent\":\"assistant\",\"action\":\"answer\"}]}`
	case strings.Contains(string(body), "You check an answer"):
		answer = `{\"verdicts\":[{\"id\":\"greets\",\"passed\":true,\"feedback\":\"\"}]}`
	default:
		return g.agent.RoundTrip(req)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(`data: {"candidates":[{"content":{"parts":[{"text":"` + answer + `"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}` + "\r\n\r\n")),
	}, nil
}

// BenchmarkCheckedTurn is BenchmarkPlainTurn with what is done to an answer: nothing, the
// form of a channel, checks by code, and a planner and a judge.
func BenchmarkCheckedTurn(b *testing.B) {
	for _, tt := range []struct{ name, yaml, body string }{
		{"plain", "", `{"input":"hello","accumulated":false}`},
		{"sms", "", `{"input":"hello","accumulated":false,"channel":"sms"}`},
		{"sms_code", "quality: {mode: enforce, plan: none}", `{"input":"hello","accumulated":false,"channel":"sms"}`},
		{"drafts", "quality: {mode: enforce, plan: none, drafts: always}", `{"input":"hello","accumulated":false}`},
		{"judged", "quality: {mode: enforce}", `{"input":"hello","accumulated":false}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "SLUICE_TODO_DB": ":memory:", "SLUICE_ADMISSION": "count"}
			readFile := os.ReadFile
			if tt.yaml != "" {
				env["SLUICE_CONFIG"] = "sluice.yaml"
				readFile = func(string) ([]byte, error) { return []byte(tt.yaml), nil }
			}
			var file settings.File
			cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), readFile)
			if err != nil {
				b.Fatal(err)
			}
			g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), gateway.Seams{Gemini: checkingGemini{wholetest.NewGeminiSays()}})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest(http.MethodPost, "http://gateway/chat/stream", strings.NewReader(tt.body))
				req.Header.Set("Content-Type", "application/json")
				out := httptest.NewRecorder()
				g.ServeHTTP(out, req)
				if out.Code != http.StatusOK || !strings.Contains(out.Body.String(), `"success":true`) || strings.Contains(out.Body.String(), `"passed":false`) {
					b.Fatalf("%d %s", out.Code, out.Body)
				}
			}
		})
	}
}
