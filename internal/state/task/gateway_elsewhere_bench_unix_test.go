//go:build unix

package task_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/mcpclient"
)

// overPair starts two gateways that share a store, and returns where they are. The
// memory of one process is no store for two.
func overPair(b *testing.B, model http.RoundTripper, kind string) (one, two string) {
	b.Helper()
	var cfg settings.Config
	cfg.Config, _ = wholetest.Transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\nSLUICE_STORE=" + kind + "\n"))}.Config(b)
	cfg.Version = "test"
	start := func() string {
		g, err := gateway.New(b.Context(), cfg, zerolog.New(io.Discard).Level(zerolog.InfoLevel), gateway.Seams{Gemini: model, Servers: []mcpclient.Server{}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(g.Close)
		server := httptest.NewServer(g)
		b.Cleanup(server.Close)
		return server.URL
	}
	return start(), start()
}

// request sends one and returns its reply, whose body the caller closes.
func request(b *testing.B, method, url, body string) *http.Response {
	b.Helper()
	req, _ := http.NewRequestWithContext(b.Context(), method, url, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	return resp
}

// reportTimes reports the median and the 99th percentile.
func reportTimes(b *testing.B, elapsed []time.Duration, what string) {
	slices.Sort(elapsed)
	b.ReportMetric(float64(elapsed[len(elapsed)/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(elapsed[len(elapsed)*99/100].Microseconds())/1000, what+"-p99-ms")
}

// BenchmarkResume takes up a turn that has ended at another gateway, from its first event:
// the time to the first byte, and to the end for each event.
func BenchmarkResume(b *testing.B) {
	for _, pieces := range []int{2000, 8000} {
		b.Run(fmt.Sprint(pieces), func(b *testing.B) {
			one, two := overPair(b, wholetest.NewSpeaking(pieces, true), wholetest.StoreFor(b, "redis"))
			first := request(b, http.MethodPost, one+"/chat/stream", `{"input":"hello","accumulated":false}`)
			got, err := io.ReadAll(first.Body)
			_ = first.Body.Close()
			_, rest, _ := strings.Cut(string(got), `"task_id":"`)
			task, _, ok := strings.Cut(rest, `"`)
			if err != nil || !ok {
				b.Fatalf("%v %.300s", err, got)
			}
			var firsts []time.Duration
			for b.Loop() {
				began := time.Now()
				resp := request(b, http.MethodGet, two+"/tasks/"+task+"/events", "")
				in := bufio.NewReader(resp.Body)
				_, _ = in.Peek(1)
				firsts = append(firsts, time.Since(began))
				n, err := io.Copy(io.Discard, in)
				_ = resp.Body.Close()
				if err != nil || n != int64(len(got)) {
					b.Fatalf("%d of %d bytes, %v", n, len(got), err)
				}
			}
			reportTimes(b, firsts, "first-byte")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pieces), "ns/event")
		})
	}
}

// waiting is a model that says one piece, waits until its request ends, and then sends to gone.
type waiting struct {
	wholetest.Speaking
	gone chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.Speaking.RoundTrip(r)
	if err == nil {
		resp.Body = &endless{r.Context(), strings.NewReader(string(w.Pieces[0])), w.gone}
	}
	return resp, err
}

// endless is an answer that has no end of its own.
type endless struct {
	ctx  context.Context
	said io.Reader
	gone chan struct{}
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.said.Read(p); err == nil {
		return n, nil
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

// Close implements io.Closer.
func (e *endless) Close() error {
	e.gone <- struct{}{}
	return nil
}

// BenchmarkCancelElsewhere cancels a turn through another gateway: the time until the model
// is let go of.
func BenchmarkCancelElsewhere(b *testing.B) {
	model := waiting{wholetest.NewSpeaking(2, true), make(chan struct{}, 1)}
	one, two := overPair(b, model, wholetest.StoreFor(b, "redis"))
	var elapsed []time.Duration
	for b.Loop() {
		resp := request(b, http.MethodPost, one+"/chat/stream", `{"input":"hello","accumulated":false}`)
		in, task := bufio.NewScanner(resp.Body), ""
		for in.Scan() && in.Text() != "event: response_delta" {
			if _, rest, ok := strings.Cut(in.Text(), `"task_id":"`); ok {
				task, _, _ = strings.Cut(rest, `"`)
			}
		}
		began := time.Now()
		cancel := request(b, http.MethodPost, two+"/tasks/"+task+"/cancel", "")
		_ = cancel.Body.Close()
		<-model.gone
		elapsed = append(elapsed, time.Since(began))
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	reportTimes(b, elapsed, "cancel")
}

// BenchmarkFirstText is the time to the first piece of a turn that is not kept, and of one
// that is kept in Redis.
func BenchmarkFirstText(b *testing.B) {
	model := wholetest.NewSpeaking(2, true)
	plain, _ := overPair(b, model, "none")
	kept, _ := overPair(b, model, wholetest.StoreFor(b, "redis"))
	first := func(url string) time.Duration {
		began := time.Now()
		resp := request(b, http.MethodPost, url+"/chat/stream", `{"input":"hello","accumulated":false}`)
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		for in.Scan() && in.Text() != "event: response_delta" {
		}
		elapsed := time.Since(began)
		for in.Scan() {
		}
		return elapsed
	}
	var without, with []time.Duration
	for b.Loop() {
		without, with = append(without, first(plain)), append(with, first(kept))
	}
	reportTimes(b, without, "none")
	reportTimes(b, with, "redis")
}
