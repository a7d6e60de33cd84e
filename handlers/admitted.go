package handlers

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sluice/internal/turn/chat"
)

// Some libraries send a request again by themselves when its connection is lost, without a key
// (dialect.Route.Repeats). Only a count in a header distinguishes that from a second wish of a
// person, so recently admitted turns are remembered.

// repeatMemory is how long a turn is noted from its admission on.
const repeatMemory = keyMemory

// admittedTurns notes the contents of turns that were admitted. Its memory is bounded: when it is
// full, the oldest note goes.
type admittedTurns struct {
	max int

	mu    sync.Mutex // guards the fields below
	last  map[[32]byte]*admittedTurn
	order []*admittedTurn // oldest first, from head on; with those that a later one has replaced
	head  int
}

// admittedTurn is the content of a turn, and when it was admitted.
type admittedTurn struct {
	content [32]byte
	at      time.Time
}

func newAdmittedTurns(limit int) *admittedTurns {
	return &admittedTurns{max: limit, last: map[[32]byte]*admittedTurn{}}
}

// addTurn notes a turn, and reports whether there was a note of its content. A repetition of a
// remembered content does not get a note of its own.
func (a *admittedTurns) addTurn(content [32]byte, repetition bool) (mine *admittedTurn, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.forgetOldest(now)
	if known = a.last[content] != nil; known && repetition {
		return nil, known
	}
	mine = &admittedTurn{content, now}
	a.last[content] = mine
	a.order = append(a.order, mine)
	return mine, known
}

// removeNote removes a note, unless a later turn has replaced it.
func (a *admittedTurns) removeNote(n *admittedTurn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last[n.content] == n {
		delete(a.last, n.content)
	}
}

// forgetOldest removes old notes, so that there is room for one. The caller must hold mu.
func (a *admittedTurns) forgetOldest(now time.Time) {
	for a.head < len(a.order) {
		oldest := a.order[a.head]
		if now.Sub(oldest.at) < repeatMemory && len(a.order)-a.head < a.max {
			break
		}
		if a.last[oldest.content] == oldest {
			delete(a.last, oldest.content)
		}
		a.order[a.head] = nil
		a.head++
	}
	if a.head > len(a.order)/2 {
		a.order = append([]*admittedTurn(nil), a.order[a.head:]...)
		a.head = 0
	}
}

// contentOf returns a hash that is equal for equal requests for a turn: of path, body and sender.
func contentOf(r *http.Request, body []byte, req *chat.Request) *[32]byte {
	h := sha256.New()
	sender := req.Owner()
	if req.Principal.ID == "" { // the key that a client sends distinguishes it from others
		sender += r.Header.Get("Authorization")
	}
	for _, text := range []string{r.URL.Path, req.Principal.Tenant, sender} {
		_, _ = h.Write([]byte(strconv.Quote(text)))
	}
	_, _ = h.Write(body)
	return (*[32]byte)(h.Sum(nil))
}
