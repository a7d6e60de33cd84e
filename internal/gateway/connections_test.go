package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/gateway/gatewaytest"
)

// Where every connection runs a turn, a new one is told so, and an operator is still
// told how the gateway fares. A connection that waits for a request makes room.
func TestEveryConnectionRunsATurn(t *testing.T) {
	t.Parallel()
	model := gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the gateway leaves
		<-r.Context().Done()
	}))
	r := start(t, map[string]string{
		"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": model, "SLUICE_MAX_CONNECTIONS": "2", "SLUICE_REQUEST_TIMEOUT": "1m",
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 2 {
		s, err := r.Post(ctx, gatewaytest.Input("hold"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Leave()
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if resp, body := r.Get(path); resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("%s: status %d, closes %v: %s", path, resp.StatusCode, resp.Close, body)
		}
	}
	resp, body := r.Get("/tools")
	if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close || resp.Header.Get("Retry-After") == "" ||
		resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"error_type":"overloaded"`) {
		t.Errorf("status %d, header %v: %s", resp.StatusCode, resp.Header, body)
	}
	resp, err := r.Client.Post(r.Base+"/chat/stream", "application/json", strings.NewReader(gatewaytest.Input("hi")))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close {
		t.Errorf("a third turn: status %d, closes %v", resp.StatusCode, resp.Close)
	}
	// A connection that the gateway has closed counts until its goroutine has ended.
	for end := time.Now().Add(gatewaytest.Patience); ; {
		_, text := r.Get("/metrics")
		if strings.Contains(text, "sluice_connections_open 3\n") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("want three connections in the metrics, with that of the scrape:\n%s", text)
		}
	}
}
