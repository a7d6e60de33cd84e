package handlers_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// BenchmarkTurn is a turn of 40 deltas over loopback, client included: flushed one
// by one, as from a model, and all at once.
func BenchmarkTurn(b *testing.B) {
	for name, each := range map[string]bool{"flush=each": true, "flush=once": false} {
		b.Run(name, func(b *testing.B) {
			delta := &stream.Delta{Text: "twenty-five characters .."}
			g := serve(b, handlers.Config{
				Limits: handlers.Limits{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second},
				Runner: runner(func(_ context.Context, _ chat.Request, sink stream.Sink) error {
					_ = sink.Emit(&stream.Start{Model: "m"})
					for range 40 {
						_ = sink.Emit(delta)
						if each {
							_ = sink.Flush()
						}
					}
					_ = sink.Emit(&stream.Done{Reason: stream.Stop})
					return sink.Flush()
				}),
			})
			b.ReportAllocs()
			for b.Loop() {
				resp, err := g.send(b.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi","accumulated":false}`), jsonType)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || n < 4000 {
					b.Fatalf("%d bytes, %v", n, err)
				}
			}
		})
	}
}

// BenchmarkRefusal is our own part of refusing a request, without a connection.
func BenchmarkRefusal(b *testing.B) {
	for _, method := range []string{"POST", "GET"} {
		b.Run(method, func(b *testing.B) {
			s := handlers.NewServer(handlers.Config{Dialects: withOwn(nil), Log: zerolog.New(io.Discard)})
			s.Drain()
			r := httptest.NewRequest(method, "/chat/stream?input=hi", nil)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.ResponseRecorder{HeaderMap: http.Header{}}
				if s.ServeHTTP(&w, r); w.Code != http.StatusServiceUnavailable {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
