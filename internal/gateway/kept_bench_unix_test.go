//go:build unix

package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/settings"
	"sluice/mcpclient"
	"sluice/store/redis/redistest"
)

// BenchmarkKept is a turn that is kept beside one that is not, over connections of this
// machine and with the client in this process: x-plain is the ratio of their CPU times.
// The pieces of the answer come at once, so that several share a flush, or each has one.
// The server of Redis is another process, whose CPU does not count.
func BenchmarkKept(b *testing.B) {
	for _, pieces := range []int{40, 2000} {
		for _, paced := range []bool{false, true} {
			model := newSpeaking(pieces, paced)
			for _, kind := range []string{"none", "memory", "redis", "sqlite"} {
				b.Run(fmt.Sprintf("%s/%d/flush-each=%t", kind, pieces, paced), func(b *testing.B) {
					plain := keptTurns(b, model, "none")
					alternate(b, plain, keptTurns(b, model, storeFor(b, kind)))
				})
			}
		}
	}
}

// storeFor returns a value of SLUICE_STORE, behind which is a store that ends with the
// benchmark.
func storeFor(b *testing.B, kind string) string {
	b.Helper()
	switch kind {
	case "redis":
		return "unix://" + redistest.Start(b, "redis-server", false).Socket
	case "sqlite":
		return "sqlite:" + filepath.Join(b.TempDir(), "state.db")
	}
	return kind
}

// speaking is a model without a network. With each, every piece of its answer comes by
// itself: a read gets no more than one.
type speaking struct {
	pieces [][]byte
	each   bool
}

func newSpeaking(n int, each bool) speaking {
	s := speaking{each: each}
	for i := range n {
		finish := ""
		if i == n-1 {
			finish = `,"finishReason":"STOP"`
		}
		s.pieces = append(s.pieces, fmt.Appendf(nil, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"twelve bytes\"}]}%s}],\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":5},\"modelVersion\":\"m\"}\r\n\r\n", finish))
	}
	return s
}

// RoundTrip implements http.RoundTripper.
func (s speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	var body io.Reader = bytes.NewReader(bytes.Join(s.pieces, nil))
	if s.each {
		body = &onePiece{slices.Clone(s.pieces)}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body),
	}, nil
}

// onePiece reads one piece at a time.
type onePiece struct{ left [][]byte }

func (p *onePiece) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

// keptTurns starts a gateway with a store behind a listener of this machine, and
// returns a function that runs a turn.
func keptTurns(b *testing.B, model http.RoundTripper, kind string) func() {
	b.Helper()
	var cfg settings.Config
	cfg.Config, _ = transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\nSLUICE_STORE=" + kind + "\n"))}.config(b)
	cfg.Version = "test"
	g, err := New(b.Context(), cfg, zerolog.New(io.Discard).Level(zerolog.InfoLevel), Seams{Gemini: model, Servers: []mcpclient.Server{}})
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
