package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// Where every connection runs a turn, a request on a new one is refused as overloaded, and an
// operator can still read how the gateway fares. A connection that waits for a request makes
// room.
func TestEveryConnectionRunsATurn(t *testing.T) {
	t.Parallel()
	model := gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the gateway leaves
		<-r.Context().Done()
	}))
	r := wholetest.Listen(t, map[string]string{
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
	testnet.Eventually(t, "three connections in the metrics, with that of the scrape", func() bool {
		_, text := r.Get("/metrics")
		return strings.Contains(text, "sluice_connections_open 3\n")
	})
}

// Of more turns than there are connections, at once, each is answered: it runs, or is refused
// because there is no room.
func TestBurstOfTurnsIsAnswered(t *testing.T) {
	t.Parallel()
	const limit, turns = 16, 300
	full := make(chan struct{}) // closed when the model is to answer
	model := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-full
		w.WriteHeader(http.StatusBadRequest)
	}))
	r := wholetest.Listen(t, map[string]string{
		"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": model, "SLUICE_MAX_CONNECTIONS": fmt.Sprint(limit), "SLUICE_REQUEST_TIMEOUT": "1m",
	})
	body := gatewaytest.Input("hi")
	request := fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	clients := make([]net.Conn, turns)
	for i := range clients { // the kernel accepts and takes a request before anybody reads it
		c, err := net.Dial("tcp", strings.TrimPrefix(r.Base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, request); err != nil {
			t.Errorf("turn %d: %v", i, err)
		}
		clients[i] = c
	}
	ran := 0
	for i, c := range clients {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		switch {
		case err != nil:
			t.Errorf("turn %d: %v", i, err)
		case resp.StatusCode == http.StatusOK:
			ran++
		case resp.StatusCode != http.StatusServiceUnavailable:
			t.Errorf("turn %d: status %d", i, resp.StatusCode)
		}
	}
	close(full)
	if ran < limit {
		t.Errorf("%d turns ran, want at least %d", ran, limit)

	}
}
