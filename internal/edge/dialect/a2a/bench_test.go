package a2a_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// pieces answers with so many of them, each by itself.
type pieces int

func (n pieces) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	delta := &stream.Delta{Text: "Hello, this is a piece. "}
	for range n {
		if err := sink.Emit(delta); err != nil {
			return stream.Result{}, err
		}
		if err := sink.Flush(); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// BenchmarkA2ADelta is what a piece of an answer costs from the runner to the client, over a
// connection of this machine: in our own protocol and over A2A, for a short answer and a
// long one.
func BenchmarkA2ADelta(b *testing.B) {
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "SLUICE_TODO_DB": ":memory:", "SLUICE_ADMISSION": "count"}
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(env), nil)
	if err != nil {
		b.Fatal(err)
	}
	const message = `{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
	asked := 0
	for _, n := range []int{200, 2000} {
		g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: settings.File{A2A: settings.A2A{Enabled: true}}, Version: "test"}, zerolog.Nop(), gateway.Seams{
			Gemini: testnet.Serve(b, http.NotFoundHandler()), Runner: func(*agent.Agent) stream.Runner { return pieces(n) },
		})
		if err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(g)
		for _, p := range []struct{ name, path, body string }{
			{"own", "/chat/stream", `{"input":"hello","accumulated":false}`},
			{"JSON-RPC 1.0", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + message + `}`},
			{"HTTP+JSON 1.0", "/a2a/rest/message:stream", message},
			{"JSON-RPC 0.3", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"m%d","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`},
		} {
			b.Run(fmt.Sprintf("%s of %d", p.name, n), func(b *testing.B) {
				for b.Loop() {
					asked++
					body := strings.ReplaceAll(p.body, "m%d", fmt.Sprint("m", asked)) // no message twice
					resp, err := http.Post(server.URL+p.path, "application/json", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					size, err := io.Copy(io.Discard, resp.Body)
					if err != nil || size < int64(50*n) {
						b.Fatalf("%d bytes, %v", size, err)
					}
					resp.Body.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
			})
		}
		server.Close()
		g.Close()
	}
}
