package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unsafe"

	"sluice/handlers"
)

// stackBelow is how much stack our frames may take when net/http sends the head of a
// stream's reply. With some 50 bytes more, its own frames below do not fit into 8 KB any
// more, and the stack of every open stream is 16 KB (docs/performance.md).
const stackBelow = 1600

// headProbe notes where the stack is when the head is sent.
type headProbe struct {
	*httptest.ResponseRecorder
	at uintptr
}

func (p *headProbe) FlushError() error {
	if p.at == 0 {
		p.at = stackPointer()
	}
	return nil
}

func (*headProbe) SetWriteDeadline(time.Time) error { return nil }

func TestFramesOfAnOpenStreamAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes frames larger")
	}
	s := handlers.NewServer(handlers.Config{Runner: hello, Dialects: withOwn(nil), Limits: handlers.Limits{WriteTimeout: time.Second}})
	used := uintptr(1 << 20)
	for range 5 { // a stack that was moved in between gives any figure
		r := httptest.NewRequest(http.MethodPost, "/chat/stream", strings.NewReader(`{"input":"hi"}`))
		r.Header.Set("Content-Type", "application/json")
		p := &headProbe{ResponseRecorder: httptest.NewRecorder()}
		growStack()
		top := stackPointer()
		if s.ServeHTTP(p, r); p.at == 0 {
			t.Fatalf("no head was sent: %d %s", p.Code, p.Body)
		}
		used = min(used, top-p.at)
	}
	t.Logf("%d bytes", used)
	if used > stackBelow {
		t.Errorf("the frames above the head of a reply take %d bytes of stack, want at most %d", used, stackBelow)
	}
}

//go:noinline
func stackPointer() uintptr {
	var here byte
	return uintptr(unsafe.Pointer(&here))
}

// growStack makes room, so that the stack is not moved soon.
//
//go:noinline
func growStack() byte {
	var room [64 << 10]byte
	return room[len(room)-int(stackPointer()&1)-1]
}
