package process

import (
	"net"
	"testing"
	"time"
)

// Connections that were open when a gateway stops letting any in are accepted, and no
// other one joins them. A balancer would take their reset for a turn that may have run.
func TestQueueEmptiesWhenNoMoreAreLetIn(t *testing.T) {
	t.Parallel()
	const waiting = 5
	ln, err := listenConfig().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for range waiting {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	lastCall(ln)
	if n := queued(ln); n != waiting {
		t.Errorf("%d connections wait, want %d", n, waiting)
	}
	for range waiting {
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if n := queued(ln); n != 0 {
		t.Errorf("%d connections wait after all were accepted, want none", n)
	}
	// The kernel would answer within microseconds.
	if c, err := net.DialTimeout("tcp", ln.Addr().String(), 100*time.Millisecond); err == nil {
		c.Close()
		t.Error("a connection was let in after the last call")
	}
}
