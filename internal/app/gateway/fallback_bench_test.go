package gateway_test

import (
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// BenchmarkOpenBreaker is a model call whose first model has an open breaker, and one
// that asks the second model itself: the difference is what the way to it costs.
func BenchmarkOpenBreaker(b *testing.B) {
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(nil), nil)
	if err != nil {
		b.Fatal(err)
	}
	specs := []model.Spec{wholetest.ChatSpec("default", "http://down/v1/chat/completions", "spare"), wholetest.ChatSpec("spare", "http://up/v1/chat/completions")}
	models, err := providers.Open(b.Context(), providers.Config{Settings: cfg, Models: specs, Log: zerolog.Nop(), Metrics: metrics.New(), Transport: wholetest.Canned{}})
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
