package chatkit

import (
	"container/list"
	"sync"
	"time"
)

// Bounds of the messages that are remembered for a retry, without a history.
const (
	recentMessages = 10_000
	recentBytes    = 16 << 20
	recentLives    = 10 * time.Minute
)

// recent remembers the last messages of users. The oldest is removed first.
type recent struct {
	mu       sync.Mutex // guards the fields below
	messages map[recentKey]*list.Element
	order    *list.List // of recentMessage, the oldest first
	bytes    int
}

// recentKey names a message. Only its sender can have it sent again.
type recentKey struct{ owner, threadID, itemID string }

// recentMessage is a user's message, until it expires.
type recentMessage struct {
	key     recentKey
	input   string
	expires time.Time
}

// size returns the bytes that count against the bound. 300 of them stand for the map, the list and
// the strings' headers.
func (m recentMessage) size() int { return len(m.key.owner) + len(m.input) + 300 }

// newRecent returns an empty memory.
func newRecent() *recent { return &recent{messages: map[recentKey]*list.Element{}, order: list.New()} }

// put remembers a message, or remembers it for longer.
func (r *recent) put(key recentKey, input string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.messages[key]; e != nil {
		r.remove(e)
	}
	m := recentMessage{key, input, time.Now().Add(recentLives)}
	r.messages[key] = r.order.PushBack(m)
	r.bytes += m.size()
	r.forget()
}

// get returns a user's message if it is still remembered. It is safe for concurrent use.
func (r *recent) get(key recentKey) (input string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	e := r.messages[key]
	if e == nil {
		return "", false
	}
	return e.Value.(recentMessage).input, true
}

// forget removes expired messages, then the oldest above the bounds. The caller must hold mu.
func (r *recent) forget() {
	now := time.Now()
	for e := r.order.Front(); e != nil; e = r.order.Front() {
		expired := !now.Before(e.Value.(recentMessage).expires)
		if !expired && len(r.messages) <= recentMessages && r.bytes <= recentBytes {
			return
		}
		r.remove(e)
	}
}

// remove forgets a message. The caller holds mu.
func (r *recent) remove(e *list.Element) {
	m := r.order.Remove(e).(recentMessage)
	r.bytes -= m.size()
	delete(r.messages, m.key)
}
