//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/state/store/redis/redistest"
)

// provider is a model's that allows so many calls, and answers 429 from then on.
type provider struct {
	*httptest.Server
	allowed            int64
	answered, refusals atomic.Int64
}

func newProvider(t *testing.T, allowed int64) *provider {
	t.Helper()
	p := &provider{allowed: allowed}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if p.answered.Add(1) > p.allowed {
			p.refusals.Add(1)
			http.Error(w, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota"}}`, http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}`+"\n\n")
	}))
	t.Cleanup(p.Close)
	return p
}

// pair are two gateways with one Redis and one provider.
type pair struct {
	t     *testing.T
	redis *redistest.Server
	bases [2]string
}

func newPair(t *testing.T, p *provider, limits string) pair {
	t.Helper()
	g := pair{t: t, redis: redistest.Start(t, "redis-server", false)}
	file := writeConfig(t, limits)
	for i := range g.bases {
		_, g.bases[i] = spawn(t, "SLUICE_STORE=unix://"+g.redis.Socket, "SLUICE_CONFIG="+file, "GEMINI_BASE_URL="+p.URL, "SLUICE_ADMISSION=count")
	}
	return g
}

// turns runs n turns at each gateway, all at once, and returns how many were answered. All others
// are limited as if their provider had said so.
func (g pair) turns(n int) int {
	g.t.Helper()
	var wg sync.WaitGroup
	var answered atomic.Int64
	for i := range 2 * n {
		wg.Go(func() {
			resp, err := http.Post(g.bases[i%2]+"/chat/stream", "application/json", strings.NewReader(`{"input":"hi"}`))
			if err != nil {
				g.t.Error(err)
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			switch stream := string(text); {
			case err == nil && strings.Contains(stream, "hello") && !strings.Contains(stream, "error_type"):
				answered.Add(1)
			case err != nil, !strings.Contains(stream, `"model_rate_limited"`), !strings.Contains(stream, `"limits"`):
				g.t.Errorf("%d, %v: %s", resp.StatusCode, err, stream)
			}
		})
	}
	wg.Wait()
	return int(answered.Load())
}

// breakers fails the test unless the breaker of each gateway's model is closed.
func (g pair) breakers() {
	g.t.Helper()
	for _, base := range g.bases {
		resp, err := http.Get(base + "/metrics")
		if err != nil {
			g.t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(text), `sluice_breaker_state{service="gemini",state="closed"} 1`) {
			g.t.Errorf("a breaker is not closed: %v", err)
		}
	}
}

// Two gateways keep a provider's quota together: it never refuses, whatever becomes of their store.
func TestQuotaOfTwoGateways(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	const quota = 9
	p := newProvider(t, quota)
	g := newPair(t, p, fmt.Sprintf("limits: {models: {gemini: {calls: %d/h}}}", quota))
	if n := g.turns(12); n != quota || p.answered.Load() != quota {
		t.Errorf("%d of %d turns are answered, with %d calls", n, quota, p.answered.Load())
	}
	g.redis.Pause(t)
	if n := g.turns(5); n != 0 {
		t.Errorf("%d turns while the store hangs", n)
	}
	g.redis.Kill()
	if n := g.turns(5); n != 0 {
		t.Errorf("%d turns without the store", n)
	}
	if p.refusals.Load() != 0 {
		t.Errorf("the provider has refused %d calls", p.refusals.Load())
	}
	g.breakers()
}

// What is beyond a quota waits, at whichever gateway it is, and is served as fast as the quota allows
// and no faster.
func TestQuotaOfTwoGatewaysIsWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	p := newProvider(t, 24)
	g := newPair(t, p, "limits: {models: {gemini: {calls: 6/s}}, wait: 30s}")
	began := time.Now()
	if n := g.turns(12); n != 24 || p.refusals.Load() != 0 {
		t.Errorf("%d of 24 turns are answered, and %d calls refused", n, p.refusals.Load())
	}
	if spent := time.Since(began); spent < 3*time.Second {
		t.Errorf("24 calls at 6/s within %v", spent)
	}
	g.breakers()
}
