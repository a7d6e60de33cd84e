package model

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkWindowRivals reads the lines of one answer: with window, with bufio's reader
// of a stream of its own, and with one that is used again. held-B is what each keeps
// while the stream waits for its next chunk.
func BenchmarkWindowRivals(b *testing.B) {
	for _, chunks := range []int{1, 50} {
		body := strings.Repeat("data: "+strings.Repeat("x", 360)+"\r\n\r\n", chunks)
		lines := func(b *testing.B, next func() error) {
			n := 0
			for next() == nil {
				n++
			}
			if n != 2*chunks {
				b.Fatalf("%d lines", n)
			}
		}
		ofBufio := func(r *bufio.Reader) func() error {
			return func() error { _, err := r.ReadSlice('\n'); return err }
		}
		var w window
		again := bufio.NewReader(nil)
		for _, rival := range []struct {
			name string
			held int
			next func(*strings.Reader) func() error
		}{
			{"window", smallWindow, func(src *strings.Reader) func() error {
				w.reset(src)
				return func() error { _, err := w.nextLine(maxChunk); return err }
			}},
			{"bufio", 4096, func(src *strings.Reader) func() error { return ofBufio(bufio.NewReader(src)) }},
			{"bufio-reset", 4096, func(src *strings.Reader) func() error { again.Reset(src); return ofBufio(again) }},
		} {
			b.Run(fmt.Sprintf("%s/chunks=%d", rival.name, chunks), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					lines(b, rival.next(strings.NewReader(body)))
				}
				b.ReportMetric(float64(rival.held), "held-B")
			})
		}
		w.releaseLarge()
	}
}
