package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
)

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
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, Version: "test"}, zerolog.Nop(), gateway.Seams{Gemini: wholetest.NewGeminiSays()})
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
