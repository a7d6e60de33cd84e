//go:build unix

package task_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/mcpclient"
)

// BenchmarkKept is a turn that is kept next to one that is not, over connections of this
// machine and with the client in this process: x-plain is the ratio of their CPU times. The
// pieces of the answer come at once, so that several share a flush, or each has one. The server
// of Redis is another process, whose CPU does not count.
func BenchmarkKept(b *testing.B) {
	for _, pieces := range []int{40, 2000} {
		for _, paced := range []bool{false, true} {
			model := wholetest.NewSpeaking(pieces, paced)
			for _, kind := range []string{"none", "memory", "redis", "sqlite"} {
				b.Run(fmt.Sprintf("%s/%d/flush-each=%t", kind, pieces, paced), func(b *testing.B) {
					plain := keptTurns(b, model, "none")
					wholetest.Alternate(b, plain, keptTurns(b, model, wholetest.StoreFor(b, kind)))
				})
			}
		}
	}
}

// keptTurns starts a gateway with a store behind a listener of this machine, and
// returns a function that runs a turn.
func keptTurns(b *testing.B, model http.RoundTripper, kind string) func() {
	b.Helper()
	var cfg settings.Config
	cfg.Config, _ = wholetest.Transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\nSLUICE_STORE=" + kind + "\n"))}.Config(b)
	cfg.Version = "test"
	g, err := gateway.New(b.Context(), cfg, zerolog.New(io.Discard).Level(zerolog.InfoLevel), gateway.Seams{Gemini: model, Servers: []mcpclient.Server{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	server := httptest.NewServer(g)
	b.Cleanup(server.Close)
	return func() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/chat/stream", strings.NewReader(`{"input":"hello","accumulated":false}`))
		req.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !bytes.Contains(got, []byte(`"finish_reason":"stop"`)) {
			b.Fatalf("%v: %s", err, got)
		}
	}
}
