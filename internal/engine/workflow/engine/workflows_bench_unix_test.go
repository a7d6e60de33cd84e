//go:build unix

package engine_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
	"sluice/mcpclient"
)

// BenchmarkWorkflow is a turn of the whole gateway by an agent, and by a workflow of one
// node that is the same agent. docs/performance.md says what the latter may cost as a
// multiple of the former.
func BenchmarkWorkflow(b *testing.B) {
	const file = "agents: {a: {description: x}}\nworkflows: {one: {nodes: {n: {type: agent, agent: a}}}, four: {nodes: {a: {type: agent, agent: a}, b: {type: agent, agent: a}, c: {type: agent, agent: a}, d: {type: agent, agent: a}}, edges: [{from: a, to: b}, {from: a, to: c}, {from: b, to: d}, {from: c, to: d}]}}\n"
	for _, c := range []struct{ name, store, body string }{
		{"agent", "none", `{"input":"Dim the lights","agent":"a","accumulated":false}`},
		{"workflow", "none", `{"input":"Dim the lights","workflow":"one","accumulated":false}`},
		{"agent-memory", "memory", `{"input":"Dim the lights","agent":"a","accumulated":false}`},
		{"workflow-memory", "memory", `{"input":"Dim the lights","workflow":"one","accumulated":false}`},
		{"agent-sqlite", "sqlite:" + filepath.Join(b.TempDir(), "a.db"), `{"input":"Dim the lights","agent":"a","accumulated":false}`},
		{"workflow-sqlite", "sqlite:" + filepath.Join(b.TempDir(), "w.db"), `{"input":"Dim the lights","workflow":"one","accumulated":false}`},
		{"agent-redis", "redis", `{"input":"Dim the lights","agent":"a","accumulated":false}`},
		{"workflow-redis", "redis", `{"input":"Dim the lights","workflow":"one","accumulated":false}`},
		{"four-nodes", "none", `{"input":"Dim the lights","workflow":"four","accumulated":false}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.store == "redis" {
				c.store = "unix://" + redistest.Start(b, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket
			}
			cfg, f := wholetest.Configured(b, file, map[string]string{"SLUICE_STORE": c.store, "GEMINI_API_KEY": "k-0123456789"})
			with := gateway.Seams{Gemini: wholetest.NewCanned(""), Servers: []mcpclient.Server{}}
			g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: f, Version: "test"}, zerolog.New(io.Discard).Level(zerolog.InfoLevel), with)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			client := http.Client{Transport: testnet.Serve(b, g)}
			b.ReportAllocs()
			began := wholetest.SpentCPU(b)
			for b.Loop() {
				req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://gateway/chat/stream", strings.NewReader(c.body))
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || !bytes.Contains(got, []byte(`"finish_reason":"stop"`)) {
					b.Fatalf("%v: %s", err, got)
				}
			}
			b.ReportMetric(float64(wholetest.SpentCPU(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
}
