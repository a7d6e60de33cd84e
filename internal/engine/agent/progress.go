package agent

import (
	"sync"
	"time"

	"sluice/internal/turn/tool"
)

// progressEvery is the least time between two progress events of one call. Five a second are enough
// for any bar, and a tool may report each byte.
const progressEvery = 200 * time.Millisecond

// mailbox holds the latest report of a call. A report that is not sent in time is overwritten,
// so a slow client neither blocks the tool nor makes it pile up.
type mailbox struct {
	mu     sync.Mutex // guards the fields below
	latest tool.Progress
	full   bool
}

// put replaces a report that was not taken yet. A tool that reports faster than a client reads
// never waits.
func (m *mailbox) put(p tool.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest, m.full = p, true
}

// holds reports whether there is something to take, without taking it.
func (m *mailbox) holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.full
}

// drain empties the mailbox; ok is false if it was empty.
func (m *mailbox) drain() (p tool.Progress, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok = m.latest, m.full
	m.full = false
	return p, ok
}
