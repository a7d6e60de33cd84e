package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces reads src in pieces of random sizes up to max.
type pieces struct {
	src io.Reader
	rng *rand.Rand
	max int
}

func (p pieces) Read(b []byte) (int, error) {
	return p.src.Read(b[:min(len(b), 1+p.rng.IntN(p.max))])
}

// Lines of all sizes come out as from bufio, however they arrive.
func TestWindowReadsLines(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var in strings.Builder
		for range rng.IntN(40) {
			in.WriteString(strings.Repeat("x", rng.IntN(1<<rng.IntN(16))))
			in.WriteByte('\n')
		}
		in.WriteString(strings.Repeat("y", rng.IntN(3))) // a line without an end
		want := bufio.NewReader(strings.NewReader(in.String()))
		var w window
		w.reset(pieces{strings.NewReader(in.String()), rng, 1 << rng.IntN(15)})
		for {
			a, errA := want.ReadBytes('\n')
			b, errB := w.nextLine(1 << 20)
			if !bytes.Equal(a, b) || errA != errB {
				t.Fatalf("seed %d: %d bytes and %v, want %d and %v", seed, len(b), errB, len(a), errA)
			}
			if errA != nil {
				break
			}
		}
	}
}

func TestWindowFailures(t *testing.T) {
	t.Parallel()
	var w window
	w.reset(strings.NewReader(strings.Repeat("x", 10_001) + "\n"))
	if _, err := w.nextLine(10_000); err != ErrTooLarge {
		t.Errorf("a line above the limit: %v", err)
	}
	broken := errors.New("broken")
	w.reset(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)))
	for _, want := range []struct {
		line string
		err  error
	}{{"a\n", nil}, {"half", broken}, {"", broken}} {
		if line, err := w.nextLine(100); string(line) != want.line || err != want.err {
			t.Errorf("%q, %v, want %q, %v", line, err, want.line, want.err)
		}
	}
	w.reset(idle{})
	if _, err := w.nextLine(100); err != io.ErrNoProgress {
		t.Errorf("a source without progress: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// A stream that waits holds the small buffer; one that brings much holds a large one.
func TestWindowFitsTheStream(t *testing.T) {
	t.Parallel()
	var sizes []int
	chunk := strings.Repeat("x", 199) + "\n"
	sent := []int{1, 1, 40, 40, 1, 1} // chunks that arrive together
	var w window
	w.reset(readFunc(func(p []byte) (int, error) {
		sizes = append(sizes, len(w.buf))
		if len(sent) == 0 {
			return 0, io.EOF
		}
		n := copy(p, strings.Repeat(chunk, sent[0]))
		if sent[0] -= n / len(chunk); sent[0] == 0 || n < len(p) {
			sent = sent[1:]
		}
		return n, nil
	}))
	for {
		if _, err := w.nextLine(1000); err != nil {
			break
		}
	}
	if sizes[0] != smallWindow || sizes[1] != smallWindow || sizes[len(sizes)-1] != smallWindow {
		t.Errorf("buffers of %v: a waiting stream holds a large one", sizes)
	}
	if !slices.Contains(sizes, largeWindow) {
		t.Errorf("buffers of %v: a busy stream has no large one", sizes)
	}
}
