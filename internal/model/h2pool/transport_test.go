package h2pool_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TestBurst opens as many connections as the requests fill, and no more when it
// comes again.
func TestBurst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ limit, requests, want int }{
		{1, 40, 40}, {10, 200, 20}, {100, 450, 5}, {250, 450, 2}, {1000, 450, 1},
	} {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int64
				gate := make(chan struct{})
				tr, n := serve(t, tt.limit, func(w http.ResponseWriter, r *http.Request) {
					running.Add(1)
					defer running.Add(-1)
					<-gate
					echo(w, r)
				})
				for range 2 {
					wait := burst(t, tr, tt.requests)
					time.Sleep(time.Second)
					if got := running.Load(); got != int64(tt.requests) {
						t.Errorf("%d requests run at once, want %d", got, tt.requests)
					}
					for range tt.requests {
						gate <- struct{}{}
					}
					if failed := wait(); len(failed) > 0 {
						t.Errorf("%d failed: %v", len(failed), failed[0])
					}
				}
				if got := n.dialed.Load(); got != int64(tt.want) {
					t.Errorf("%d connections for %d requests, want %d", got, tt.requests, tt.want)
				}
			})
		})
	}
}

// TestHTTP1HasNoLimit: behind TLS too, each request has its own connection.
func TestHTTP1HasNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requests = 50
		gate := make(chan struct{})
		tr, n := serve(t, 0, func(w http.ResponseWriter, r *http.Request) { gate <- struct{}{}; echo(w, r) })
		for range 2 { // the second time over the same connections
			wait := burst(t, tr, requests)
			time.Sleep(time.Second)
			if got := n.dialed.Load(); got != requests+1 { // one to find out
				t.Errorf("%d connections for %d requests", got, requests)
			}
			for range requests {
				<-gate
			}
			if failed := wait(); len(failed) > 0 {
				t.Errorf("%d failed: %v", len(failed), failed[0])
			}
		}
	})
}

// TestNoStreamsForAWhile: a server that allows no streams yet is waited for, over
// one connection.
func TestNoStreamsForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, n := serveRaw(t, &rawServer{
			open: func(c *rawConn, _ int) {
				c.allow(0)
				time.AfterFunc(3*time.Second, func() { c.allow(100) })
			},
			request: func(c *rawConn, stream uint32, body []byte) {
				if time.Now().Second() < 3 {
					c.reset(stream, codeRefused)
					return
				}
				c.answer(stream, body)
			},
		})
		began := time.Now()
		if failed := burst(t, tr, 50)(); len(failed) > 0 {
			t.Errorf("%d failed: %v", len(failed), failed[0])
		}
		if d := time.Since(began); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("took %v", d)
		}
		if got := n.dialed.Load(); got != 1 {
			t.Errorf("%d connections", got)
		}
	})
}

// TestLimitChanges: new connections follow what the server announces last.
func TestLimitChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 10
		var first *rawConn
		var mu sync.Mutex
		tr, n := serveRaw(t, &rawServer{
			open: func(c *rawConn, nth int) {
				if nth == 1 {
					first = c
					c.allow(100)
				} else {
					c.allow(limit)
				}
			},
			request: func(c *rawConn, stream uint32, body []byte) {
				mu.Lock()
				defer mu.Unlock()
				time.AfterFunc(time.Second, func() { c.answer(stream, body) })
			},
		})
		if failed := burst(t, tr, 60)(); len(failed) > 0 || n.dialed.Load() != 1 {
			t.Fatalf("%d failed, %d connections", len(failed), n.dialed.Load())
		}
		first.allow(limit)
		synctest.Wait()
		if failed := burst(t, tr, 20)(); len(failed) > 0 {
			t.Errorf("%d failed: %v", len(failed), failed[0])
		}
		if got := n.dialed.Load(); got != 2 {
			t.Errorf("%d connections, want another one for 20 requests", got)
		}
		first.allow(100)
		synctest.Wait()
		if failed := burst(t, tr, 110)(); len(failed) > 0 || n.dialed.Load() != 2 {
			t.Errorf("%d failed, %d connections", len(failed), n.dialed.Load())
		}
	})
}

// TestDrain: a connection that was in use and is drained takes no request with it.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, n := serveRaw(t, &rawServer{
			open: func(c *rawConn, _ int) { c.allow(100) },
			request: func(c *rawConn, stream uint32, body []byte) {
				if c.nth > 1 || c.requests <= 20 {
					time.AfterFunc(time.Second, func() { c.answer(stream, body) })
				}
				if c.nth == 1 && c.requests == 30 {
					c.goAway(2*20 - 1)
				}
			},
		})
		for range 3 {
			if failed := burst(t, tr, 10)(); len(failed) > 0 {
				t.Errorf("%d failed: %v", len(failed), failed[0])
			}
		}
		if got := n.dialed.Load(); got != 2 {
			t.Errorf("%d connections", got)
		}
	})
}

// TestEachNewConnectionIsDrained ends the requests, instead of dialling in a loop.
func TestEachNewConnectionIsDrained(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"at once": "open", "with the first request": "request"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, n := serveRaw(t, &rawServer{
					open: func(c *rawConn, _ int) {
						c.allow(100)
						if at == "open" {
							c.goAway(0)
						}
					},
					request: func(c *rawConn, stream uint32, body []byte) { c.goAway(0) },
				})
				if failed := burst(t, tr, 100)(); len(failed) != 100 {
					t.Errorf("%d failed", len(failed))
				}
				if got := n.dialed.Load(); got != 1 {
					t.Errorf("%d connections", got)
				}
				if failed := burst(t, tr, 1)(); len(failed) != 1 || n.dialed.Load() != 2 {
					t.Errorf("%d failed, %d connections", len(failed), n.dialed.Load())
				}
			})
		})
	}
}

// TestRefusedStreams are sent again, but not for ever.
func TestRefusedStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, good atomic.Int64
		tr, n := serveRaw(t, &rawServer{
			open: func(c *rawConn, _ int) { c.allow(100) },
			request: func(c *rawConn, stream uint32, body []byte) {
				if asked.Add(1) < good.Load() {
					c.reset(stream, codeRefused)
					return
				}
				c.answer(stream, body)
			},
		})
		for _, tt := range []struct{ good, want, failed int64 }{{good: 3, want: 3}, {good: 100, want: 3, failed: 1}} {
			asked.Store(0)
			good.Store(tt.good)
			if failed := burst(t, tr, 1)(); int64(len(failed)) != tt.failed || asked.Load() != tt.want {
				t.Errorf("sent %d times, %v; want %+v", asked.Load(), failed, tt)
			}
		}
		if got := n.dialed.Load(); got != 1 {
			t.Errorf("%d connections", got)
		}
	})
}

// TestFailedDial is the error of all that waited for it.
func TestFailedDial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, n := serve(t, 100, echo)
		refused := errors.New("refused")
		n.fail.Store(&refused)
		failed := burst(t, tr, 50)()
		if len(failed) != 50 || !errors.Is(failed[0], refused) {
			t.Errorf("%d failed: %v", len(failed), failed)
		}
		if got := n.dialed.Load(); got != 1 {
			t.Errorf("%d dials", got)
		}
		n.fail.Store(nil)
		if failed := burst(t, tr, 50)(); len(failed) > 0 {
			t.Errorf("%d failed: %v", len(failed), failed[0])
		}
	})
}

// TestCancelWhileWaiting ends the one request, at once, and takes no stream along.
func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 2
		var running atomic.Int64
		gate := make(chan struct{})
		tr, n := serve(t, limit, func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Add(-1)
			<-gate
			echo(w, r)
		})
		full := func() (wait func() []error) {
			wait = burst(t, tr, limit)
			time.Sleep(time.Second)
			if got := running.Load(); got != limit {
				t.Errorf("%d requests run at once, want %d", got, limit)
			}
			return wait
		}
		release := func(wait func() []error) {
			for range limit {
				gate <- struct{}{}
			}
			if failed := wait(); len(failed) > 0 {
				t.Errorf("%d failed: %v", len(failed), failed[0])
			}
		}
		wait := full()
		down := errors.New("down")
		n.fail.Store(&down) // after a second
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second/2, gone)
		defer cancel()
		began := time.Now()
		if _, err := get(ctx, tr, ""); err != gone || time.Since(began) != time.Second/2 {
			t.Errorf("error = %v after %v", err, time.Since(began))
		}
		release(wait)
		release(full())
		if got := n.dialed.Load(); got != 2 {
			t.Errorf("%d dials", got)
		}
	})
}

// TestStreamThatFalls free goes to the request that waits, though the dial for it
// takes long.
func TestStreamThatFallsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		tr, n := serve(t, 1, func(w http.ResponseWriter, r *http.Request) { <-gate; echo(w, r) })
		first := burst(t, tr, 1)
		time.Sleep(time.Second)
		down := errors.New("down")
		n.fail.Store(&down) // after a second
		second := burst(t, tr, 1)
		time.Sleep(time.Millisecond)
		close(gate)
		if failed := append(first(), second()...); len(failed) > 0 {
			t.Error(failed)
		}
	})
}

// TestDeadConnection is left, and found by its pings.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *rawServer
		s = &rawServer{
			open: func(c *rawConn, _ int) { c.allow(100) },
			request: func(c *rawConn, stream uint32, body []byte) {
				if !s.mute.Load() || c.nth > 1 {
					c.answer(stream, body)
				}
			},
		}
		tr, n := serveRaw(t, s)
		if failed := burst(t, tr, 1)(); len(failed) > 0 {
			t.Fatal(failed)
		}
		s.mute.Store(true)
		began := time.Now()
		if failed := burst(t, tr, 1)(); len(failed) != 1 || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %v", failed, time.Since(began))
		}
		if failed := burst(t, tr, 1)(); len(failed) > 0 || n.dialed.Load() != 2 {
			t.Errorf("%v, %d connections", failed, n.dialed.Load())
		}
	})
}

// TestIdleConnections are closed after their time, or when that is asked for.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, n := serve(t, 100, echo)
		for want, before := range []func(){
			func() {},
			tr.CloseIdleConnections,
			func() { time.Sleep(91 * time.Second) },
		} {
			before()
			for range 2 {
				if failed := burst(t, tr, 1)(); len(failed) > 0 {
					t.Error(failed)
				}
			}
			if got := n.dialed.Load(); got != int64(want+1) {
				t.Errorf("%d connections, want %d", got, want+1)
			}
		}
	})
}

// A connection that never answers holds on to nothing of the requests that were given up.
func TestGivenUpRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, n := serve(t, 250, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		type key struct{}
		const requests = 50
		var values []weak.Pointer[[1 << 10]byte]
		for range requests {
			value := new([1 << 10]byte)
			values = append(values, weak.Make(value))
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, value), time.Second)
			if _, err := get(ctx, tr, "x"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			cancel()
		}
		synctest.Wait()
		runtime.GC()
		runtime.GC()
		held := 0
		for _, v := range values {
			if v.Value() != nil {
				held++
			}
		}
		if dials := n.dialed.Load(); held > 3 || dials != 1 {
			t.Errorf("%d of %d requests are held by %d connections", held, requests, dials)
		}
	})
}
