package process

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
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

// While a gateway stops, clients that open a connection for each request are answered, or see that nobody
// listens any more. Without the filter of lastCall each stop closes 6 to 32 connections of clients that wait for an
// answer; with it a stop on a machine with too much to do closes one now and then.
func TestStopAnswersWhoIsConnected(t *testing.T) {
	t.Parallel()
	const clients, stops = 32, 5
	var cut atomic.Int64
	for range stops {
		ln, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Serve(t.Context(), ln, ServerConfig{
			Handler: http.NotFoundHandler(), Turns: new(crowd), DrainTimeout: time.Second, WriteTimeout: time.Second,
			ConnContext: func(ctx context.Context, _ net.Conn, _ Place) context.Context { return ctx },
			Flush:       func(time.Duration) {}, Log: OwnLogger(NewLogger(io.Discard, "info")),
		})
		if err != nil {
			t.Fatal(err)
		}
		var stopped atomic.Bool
		var answered atomic.Int64
		var ended sync.WaitGroup
		for range clients {
			ended.Go(func() {
				for !stopped.Load() {
					switch connected, err := ask(ln.Addr().String()); {
					case err == nil:
						answered.Add(1)
					case connected:
						cut.Add(1)
					}
				}
			})
		}
		signals := make(chan os.Signal, 1)
		time.AfterFunc(50*time.Millisecond, func() { signals <- syscall.SIGTERM })
		err = s.Run(t.Context(), signals)
		stopped.Store(true)
		ended.Wait()
		s.Close()
		if err != nil || answered.Load() == 0 {
			t.Errorf("%v; %d requests were answered", err, answered.Load())
		}
	}
	if n := cut.Load(); n > stops*clients/8 {
		t.Errorf("%d connections were closed without an answer in %d stops", n, stops)
	}
	t.Logf("%d connections were closed without an answer", cut.Load())
}

// ask sends a request over a connection of its own. It says whether there was one.
func ask(addr string) (connected bool, err error) {
	c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
	if err != nil {
		return false, err
	}
	defer c.Close()
	if _, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err == nil {
		_, err = bufio.NewReader(c).ReadString('\n')
	}
	return true, err
}
