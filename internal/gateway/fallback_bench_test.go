package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/chat"
	"sluice/internal/gateway/gatewaytest"
	"sluice/internal/providers"
	"sluice/internal/settings"
	"sluice/metrics"
	"sluice/model"
)

// canned answers for two models: "down" always fails, all others say Hi.
type canned struct{}

func (canned) RoundTrip(req *http.Request) (*http.Response, error) {
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

func chatSpec(key, endpoint string, fallback ...string) model.Spec {
	return model.Spec{
		Key: key, Provider: model.OpenAI, API: model.ChatAPI, Endpoint: endpoint, Model: "m", First: time.Minute, Idle: time.Minute,
		Breaker: breaker.Config{Failures: 1, Recovery: time.Hour, HalfOpenCalls: 1}, Fallback: fallback, FallbackOn: model.DefaultFallbackOn(),
	}
}

// BenchmarkOpenBreaker is a model call whose first model has an open breaker, and one
// that asks the second model itself: the difference is what the way to it costs.
func BenchmarkOpenBreaker(b *testing.B) {
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(nil), nil)
	if err != nil {
		b.Fatal(err)
	}
	specs := []model.Spec{chatSpec("default", "http://down/v1/chat/completions", "spare"), chatSpec("spare", "http://up/v1/chat/completions")}
	models, err := providers.Open(b.Context(), providers.Config{Settings: cfg, Models: specs, Log: zerolog.Nop(), Metrics: metrics.New(), Transport: canned{}})
	if err != nil {
		b.Fatal(err)
	}
	defer models.Close()
	req := &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "Hello"}}}}}
	for _, key := range []string{"spare", "default"} {
		b.Run(map[string]string{"spare": "itself", "default": "behind-an-open-breaker"}[key], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := models.Link(key).Stream(b.Context(), req, func(*chat.Chunk) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
