package handlers_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"sluice/handlers"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// gzipped packs a body.
func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zstandard packs a body, as a stream whose head does not say its length if streamed is true.
func zstandard(t testing.TB, text string, streamed bool) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !streamed {
		return string(w.EncodeAll([]byte(text), nil))
	}
	for len(text) > 0 {
		n := min(len(text), 1000)
		if _, err := io.WriteString(w, text[:n]); err != nil || w.Flush() != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// post sends a body with a Content-Encoding to a path.
func post(t *testing.T, g *gateway, path, body, encoding string) reply {
	t.Helper()
	headers := []string{jsonType}
	if encoding != "" {
		headers = append(headers, "Content-Encoding: "+encoding)
	}
	return g.do(t, "POST", path, body, headers...)
}

// Each bound counts the content of a packed body, and a body that unpacks to more ends there.
func TestPackedBodies(t *testing.T) {
	t.Parallel()
	const limit = 128 << 10
	question := `{"input":"hi"}`
	padded := func(size int) string { return question + strings.Repeat(" ", size-len(question)) }
	noise := make([]byte, limit-40) // gzip makes it longer
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"[x>>26]
	}
	for _, tt := range []struct {
		name, body, encoding string
		status               int
	}{
		{"gzip", gzipped(t, question), "gzip", 200},
		{"gzip by another name", gzipped(t, question), " X-GZIP ", 200},
		{"gzip of two members", gzipped(t, question[:5]) + gzipped(t, question[5:]), "gzip", 200},
		{"zstd", zstandard(t, question, false), "zstd", 200},
		{"zstd as a stream", zstandard(t, padded(limit), true), "Zstd", 200},
		{"identity", question, "identity", 200},
		{"gzip up to the bound", gzipped(t, padded(limit)), "gzip", 200},
		{"gzip that packs badly", gzipped(t, `{"input":"hi","x":"`+string(noise)+`"}`)[:], "gzip", 200},
		{"zstd up to the bound", zstandard(t, padded(limit), false), "zstd", 200},
		{"gzip beyond the bound", gzipped(t, padded(limit+1)), "gzip", 413},
		{"zstd beyond the bound", zstandard(t, padded(limit+1), false), "zstd", 413},
		{"zstd beyond the bound as a stream", zstandard(t, padded(limit+1), true), "zstd", 413},
		{"bomb of gzip", gzipped(t, strings.Repeat(" ", 64<<20)), "gzip", 413},
		{"bomb of zstd", zstandard(t, strings.Repeat(" ", 64<<20), false), "zstd", 413},
		{"bomb of zstd as a stream", zstandard(t, strings.Repeat(" ", 2<<20), true), "zstd", 413},
		{"cut gzip", gzipped(t, question)[:20], "gzip", 422},
		{"cut zstd", zstandard(t, padded(1000), false)[:20], "zstd", 422},
		{"plain text", question, "gzip", 422},
		{"plain text as zstd", question, "zstd", 422},
		{"nothing", "", "gzip", 422},
		{"br", "x", "br", 415},
		{"two encodings", gzipped(t, gzipped(t, question)), "gzip, gzip", 415},
		{"deflate", "x", "deflate", 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{})
			got := post(t, g, "/chat/stream", tt.body, tt.encoding)
			if got.status != tt.status || (g.runs.Load() == 1) != (tt.status == 200) {
				t.Errorf("status %d, want %d; %d runs: %.300s", got.status, tt.status, g.runs.Load(), got.body)
			}
			if accepts := got.header.Get("Accept-Encoding"); (accepts == "gzip, zstd") != (tt.status == 415) {
				t.Errorf("Accept-Encoding is %q", accepts)
			}
		})
	}
}

// A byte order mark before the JSON is skipped, packed or not; a second one is not.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	var input string
	g := serve(t, handlers.Config{Runner: runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		input = req.Input
		return hello(ctx, req, sink)
	})})
	const mark, question = "\uFEFF", `{"input":"hi"}`
	for _, tt := range []struct {
		body, encoding string
		status         int
	}{
		{mark + question, "", 200}, {gzipped(t, mark+question), "gzip", 200}, {zstandard(t, mark+question, true), "zstd", 200},
		{mark + mark + question, "", 422}, {mark, "", 422}, {"\xEF\xBB", "", 422},
	} {
		input = ""
		if got := post(t, g, "/chat/stream", tt.body, tt.encoding); got.status != tt.status || (input == "hi") != (tt.status == 200) {
			t.Errorf("%q: %d, input %q: %s", tt.body, got.status, input, got.body)
		}
	}
}
