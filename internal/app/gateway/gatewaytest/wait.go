package gatewaytest

import (
	"bytes"
	"regexp"
	"sync"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

// Patience bounds every wait for something that must come.
const Patience = testnet.Patience

// Within waits for done to be closed.
func Within[T any](t *testing.T, what string, done <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-done:
	case <-time.After(Patience):
		t.Fatalf("still waiting after %v for %s", Patience, what)
	}
	return v
}

// SafeBuffer is a buffer that is written and read at the same time.
type SafeBuffer struct {
	mu      sync.Mutex // guards the fields below
	buf     bytes.Buffer
	changed chan struct{} // closed with the next write; nil: nobody waits
}

// Write appends.
func (b *SafeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.buf.Write(p)
}

// String returns what there is.
func (b *SafeBuffer) String() string {
	text, _ := b.textSoFar()
	return text
}

// textSoFar returns the text so far, and a channel that is closed when there is more.
func (b *SafeBuffer) textSoFar() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.buf.String(), b.changed
}

// Await waits for a text that matches, and returns the groups of the match.
func (b *SafeBuffer) Await(t *testing.T, re *regexp.Regexp) []string {
	t.Helper()
	for {
		text, more := b.textSoFar()
		if m := re.FindStringSubmatch(text); m != nil {
			return m
		}
		Within(t, re.String(), more)
	}
}
