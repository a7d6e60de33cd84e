//go:build unix && !nosdk

package gemini

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// The drivers side by side: answers of chunkCount chunks, and how much CPU time
// of this process a chunk takes.

const chunkCount = 2000

// BenchmarkRead is all that happens to a chunk between the socket and yield, but
// for the timers.
func BenchmarkRead(b *testing.B) {
	transport := &canned{status: 200, body: strings.Repeat(event(usualChunk), chunkCount)}
	h, _ := httpOver(b, transport)
	for name, src := range map[string]model.Source{"rest": model.OverHTTP(h), "sdk": sdkOver(b, transport)} {
		b.Run(name, func(b *testing.B) {
			measure(b, func() error { return readThrough(src) })
		})
	}
}

// readThrough opens an answer and reads it to its end.
func readThrough(src model.Source) error {
	ans, err := src.Open(context.Background(), &chat.ModelRequest{}, new(model.Body))
	if err != nil {
		return err
	}
	defer ans.Close()
	var c chat.Chunk
	for {
		clear(c.Parts)
		c = chat.Chunk{Parts: c.Parts[:0]}
		if err := ans.Next(&c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		ans.Buffered()
	}
}

// BenchmarkCall is a whole call over loopback, with chunks that the server flushes
// one by one. The server's and the kernel's work is in the CPU time; floor shows
// how much that is, by reading the same bytes and discarding them.
func BenchmarkCall(b *testing.B) {
	chunk := event(usualChunk)
	url := newServer(b, func(w http.ResponseWriter, _ *http.Request) {
		for range chunkCount {
			io.WriteString(w, chunk)
			flush(w)
		}
		io.WriteString(w, finishChunk("STOP"))
	})
	b.Run("floor", func(b *testing.B) {
		tr := model.NewTransport(nil)
		defer tr.CloseIdleConnections()
		client := &http.Client{Transport: tr}
		measure(b, func() error { return discard(client, url) })
	})
	req := &chat.ModelRequest{Messages: []chat.Message{user(chat.Part{Text: "hello"})}}
	for name, driver := range drivers {
		b.Run(name, func(b *testing.B) {
			m, err := driver(Config{BaseURL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			measure(b, func() error {
				return m.Stream(context.Background(), req, func(*chat.Chunk) error { return nil })
			})
		})
	}
}

// newServer starts a server that remembers nothing.
func newServer(tb testing.TB, h http.HandlerFunc) (url string) {
	srv := httptest.NewServer(h)
	tb.Cleanup(srv.Close)
	return srv.URL
}

func discard(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 8<<10))
	return err
}

// measure repeats call, which reads chunkCount chunks.
func measure(b *testing.B, call func() error) {
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/chunkCount, "cpu-ns/chunk")
}

// cpuTime returns the CPU time that this process has used, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
