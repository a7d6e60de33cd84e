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

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
)

// BenchmarkSaved is a turn that another gateway could go on with next to one that is kept as well,
// but not for that: x-plain is the ratio of their CPU times, without a call and with one that must
// not be made twice.
func BenchmarkSaved(b *testing.B) {
	url := bank(b)
	for _, kind := range []string{"redis", "sqlite"} {
		for _, input := range []string{"hello", "please pay"} {
			b.Run(kind+"/"+strings.ReplaceAll(input, " ", "-"), func(b *testing.B) {
				kept := savedTurns(b, wholetest.StoreFor(b, kind), url, false, input)
				wholetest.Alternate(b, kept, savedTurns(b, wholetest.StoreFor(b, kind), url, true, input))
			})
		}
	}
}

// savedTurns starts a gateway, and returns a function that runs a turn.
func savedTurns(b *testing.B, kind, bank string, saved bool, input string) func() {
	b.Helper()
	var file settings.File
	env := map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_STORE": kind, "SLUICE_CONFIG": "sluice.yaml"}
	cfg, err := settings.LoaderWith(&file).Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		func(string) ([]byte, error) {
			return fmt.Appendf(nil, "tasks: {take_over: %t}\nmcpServers: {bank: {url: %q}}\n", saved, bank), nil
		})
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard).Level(zerolog.InfoLevel),
		gateway.Seams{Gemini: testnet.Serve(b, http.HandlerFunc(paying))})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	server := httptest.NewServer(g)
	b.Cleanup(server.Close)
	return func() {
		resp, err := server.Client().Post(server.URL+"/chat/stream", "application/json", strings.NewReader(fmt.Sprintf(`{"input":%q,"accumulated":false}`, input)))
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
