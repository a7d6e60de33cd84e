package handlers

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestReadAll(t *testing.T) {
	t.Parallel()
	var b buffers
	for _, n := range []int{0, 1, 511, 512, 513, 4608, 4609, 131072, 1<<20 + 1, 5 << 20} {
		want := bytes.Repeat([]byte{'x'}, n)
		for range 2 {
			got, err := b.readAll(iotest.HalfReader(bytes.NewReader(want)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: got %d, %v", n, len(got), err)
			}
		}
	}
	broken := errors.New("broken")
	if got, err := b.readAll(io.MultiReader(bytes.NewReader(make([]byte, 9000)), iotest.ErrReader(broken))); err != broken || got != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// What two bodies are read into is not shared.
func TestBuffersAreNotHandedOutTwice(t *testing.T) {
	t.Parallel()
	var b buffers
	first, _ := b.readAll(bytes.NewReader(bytes.Repeat([]byte{'a'}, 20000)))
	second, _ := b.readAll(bytes.NewReader(bytes.Repeat([]byte{'b'}, 20000)))
	if bytes.Contains(first, []byte{'b'}) || bytes.Contains(second, []byte{'a'}) {
		t.Error("one body holds bytes of another")
	}
}

func BenchmarkReadBody(b *testing.B) {
	body := bytes.Repeat([]byte{' '}, 131009)
	b.Run("ours", func(b *testing.B) {
		var all buffers
		b.ReportAllocs()
		for b.Loop() {
			data, _ := all.readAll(bytes.NewReader(body))
			all.put(data) // as one that was given up
		}
	})
	b.Run("io.ReadAll", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = io.ReadAll(bytes.NewReader(body))
		}
	})
}
