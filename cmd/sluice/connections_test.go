package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Where every connection runs a turn, a new one is told so, and an operator is still
// told how the gateway fares. A connection that waits for a request makes room.
func TestEveryConnectionRunsATurn(t *testing.T) {
	t.Parallel()
	model := serveHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the gateway leaves
		<-r.Context().Done()
	}))
	r := start(t, map[string]string{
		"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": model, "SLUICE_MAX_CONNECTIONS": "2", "SLUICE_REQUEST_TIMEOUT": "1m",
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 2 {
		s, err := r.post(ctx, input("hold"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.leave()
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if resp, body := r.get(path); resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("%s: status %d, closes %v: %s", path, resp.StatusCode, resp.Close, body)
		}
	}
	resp, body := r.get("/tools")
	if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close || resp.Header.Get("Retry-After") == "" ||
		resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"error_type":"overloaded"`) {
		t.Errorf("status %d, header %v: %s", resp.StatusCode, resp.Header, body)
	}
	resp, err := r.client.Post(r.base+"/chat/stream", "application/json", strings.NewReader(input("hi")))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close {
		t.Errorf("a third turn: status %d, closes %v", resp.StatusCode, resp.Close)
	}
	if _, text := r.get("/metrics"); !strings.Contains(text, "sluice_connections_open 3\n") {
		t.Errorf("want three connections in the metrics, with that of the scrape:\n%s", text)
	}
}
