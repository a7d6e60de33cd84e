package handlers

import (
	"sync"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

const (
	// keyMemory is how long a key is remembered after its turn has ended.
	keyMemory = 10 * time.Minute
	// minKeys is how many keys are remembered at least.
	minKeys = 1 << 16
)

// keyring remembers the idempotency keys of turns that run or ran. Its memory is
// bounded: when it is full, the key whose turn ended first is forgotten.
type keyring struct {
	max int

	mu    sync.Mutex // guards the fields below
	held  map[string]bool
	ended []endedKey // oldest first, from head on
	head  int
}

// endedKey is a key whose turn has ended, and when it may be used again.
type endedKey struct {
	key     string
	expires time.Time
}

// newKeyring returns a keyring that remembers up to limit keys. Keys of running turns are never
// forgotten, so there may be more.
func newKeyring(limit int) *keyring { return &keyring{max: limit, held: map[string]bool{}} }

// reserveKey reserves a key of the request's owner. release must be called when the turn has ended.
// An empty key is free for everybody.
func (k *keyring) reserveKey(req *chat.Request, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	// A copy, for the request's strings may be parts of its body. Only the last of these texts can
	// have a NUL in it.
	full := key + "\x00" + req.Principal.Tenant + "\x00" + req.Owner()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetOldest()
	if k.held[full] {
		return nil, &fault.Error{Type: fault.DuplicateRequest,
			Message: "A turn with this idempotency key runs or has run; it is not run again"}
	}
	k.held[full] = true
	return func() { k.endKey(full) }, nil
}

// endKey records that the turn of a key has ended: its memory begins to run out.
func (k *keyring) endKey(full string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, endedKey{full, time.Now().Add(keyMemory)})
}

// forgetOldest removes expired keys, and leaves room for one. All keys live equally long, so the oldest
// expires first. The caller must hold mu.
func (k *keyring) forgetOldest() {
	now := time.Now()
	for k.head < len(k.ended) {
		if oldest := k.ended[k.head]; now.Before(oldest.expires) && len(k.held) < k.max {
			break
		}
		delete(k.held, k.ended[k.head].key)
		k.ended[k.head] = endedKey{}
		k.head++
	}
	if k.head > len(k.ended)/2 {
		k.ended = append([]endedKey(nil), k.ended[k.head:]...)
		k.head = 0
	}
}
