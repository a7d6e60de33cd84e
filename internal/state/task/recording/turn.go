package recording

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// maxPending bounds the memory for a request before it runs a turn.
const maxPending = 8 << 20

// Turn is the recording of one turn. Its methods are safe for concurrent use, and none of
// them waits for the disk. They work on nil, where nothing is recorded.
type Turn struct {
	recorder *Recorder
	began    time.Time
	lost     atomic.Bool // it will not be whole

	mu      sync.Mutex // guards the fields below
	head    Head
	body    []byte // of the request, as far as it was read
	begun   bool   // a turn is run, so the lines are written
	ended   bool
	pending []Entry // before that
	size    int     // bytes of them

	exchanges, calls int
	sets             map[any]int // by the pointer of the tool.Set
}

// turnKey is the key of a Turn in a context.
type turnKey struct{}

// From returns the Turn of a request, nil if it is not recorded.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Begin says that the request runs a turn. continues names the state that the turn continues with
// and that the recording lacks, or is empty. It may be called again, with something more.
func (t *Turn) Begin(continues string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	if t.begun {
		t.noteContinues(continues)
		return
	}
	t.begun, t.head.Continues = true, continues
	t.head.Request.Body = t.body
	line, err := json.Marshal(t.head)
	if err != nil {
		t.lost.Store(true)
		return
	}
	t.sendLocked(line)
	for _, e := range t.pending {
		t.lineLocked(e)
	}
	t.pending, t.body = nil, nil
}

// noteContinues adds continues behind the head, which is written by now.
func (t *Turn) noteContinues(continues string) {
	if continues != "" && t.head.Continues == "" {
		t.head.Continues = continues
		t.addLocked(Entry{Kind: kindNote, Lost: continues})
	}
}

// addEntry records an entry that happens now.
func (t *Turn) addEntry(e Entry) {
	if t == nil || t.lost.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(e)
}

func (t *Turn) addLocked(e Entry) {
	if t.ended {
		return
	}
	e.At = time.Since(t.began).Microseconds()
	if t.begun {
		t.lineLocked(e)
		return
	}
	if e.Data != nil {
		t.size += len(*e.Data)
	}
	if t.pending = append(t.pending, e); t.size+len(t.body) > maxPending {
		t.lost.Store(true)
		t.pending = nil
	}
}

// lineLocked queues an entry.
func (t *Turn) lineLocked(e Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		t.lost.Store(true)
		return
	}
	t.sendLocked(line)
}

func (t *Turn) sendLocked(line []byte) {
	if !t.lost.Load() && !t.recorder.queueItem(item{t, append(line, '\n')}) {
		t.lost.Store(true)
		t.recorder.logFailure(errSlow)
	}
}

// sealTurn seals the recording, if a turn was run.
func (t *Turn) sealTurn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun && !t.ended && !t.recorder.queueItem(item{turn: t}) {
		t.lost.Store(true)
	}
	t.ended = true
}

// nextNumber returns the next number of a counter of t's.
func (t *Turn) nextNumber(counter *int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	*counter++
	return *counter
}

// copyText returns a copy of bytes that their owner may use again.
func copyText(b []byte) *Text {
	t := Text(append([]byte(nil), b...))
	return &t
}
