package model

import (
	"bytes"
	"io"
	"testing"
)

// A body is used again only when nobody can be reading it.
func TestBodyIsFreedWhenItWasSent(t *testing.T) {
	t.Parallel()
	text := []byte("the body of a request")
	tests := []struct {
		name  string
		read  func(p *Body)
		freed bool
	}{
		{"sent", func(p *Body) { readAll(t, p.newReader()) }, true},
		{"never read", func(*Body) {}, false},
		{"half read", func(p *Body) { _, _ = p.newReader().Read(make([]byte, 5)) }, false},
		{"two readers", func(p *Body) { p.newReader(); readAll(t, p.newReader()) }, false},
	}
	for _, tt := range tests {
		p := &Body{data: bytes.Clone(text)}
		tt.read(p)
		p.free()
		if freed := len(p.data) == 0; freed != tt.freed {
			t.Errorf("%s: freed is %t, want %t", tt.name, freed, tt.freed)
		}
	}
	p := &Body{data: text}
	for range 2 { // each reader begins at the beginning
		if got := readAll(t, p.newReader()); !bytes.Equal(got, text) {
			t.Errorf("read %q", got)
		}
	}
}

func readAll(t *testing.T, r io.ReadCloser) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil || r.Close() != nil {
		t.Errorf("%v", err)
	}
	return b
}
