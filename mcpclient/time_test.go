package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

func hang(w http.ResponseWriter, r *http.Request, _ fakeRequest) { <-r.Context().Done() }

func hangInStream(w http.ResponseWriter, r *http.Request, _ fakeRequest) {
	event(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	<-r.Context().Done()
}

func slow(d time.Duration) callHandler {
	return func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
		time.Sleep(d)
		sendText(w, req, "ok")
	}
}

func TestServerDeadAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		c := newClient(t, inBubble(b))
		began := time.Now()
		set := c.Tools(t.Context())
		if len(set.Specs) != 0 || len(set.Unavailable) != 1 {
			t.Fatalf("got %d tools and %d unavailable servers, want 0 and 1", len(set.Specs), len(set.Unavailable))
		}
		f, _ := errors.AsType[*fault.Error](set.Unavailable[0].Err)
		wantFault(t, f, fault.MCPUnavailable, false)
		if elapsed := time.Since(began); elapsed > time.Second {
			t.Errorf("it took %v", elapsed)
		}
		if again := c.Tools(t.Context()); again != set {
			t.Error("nothing changed, but the set did")
		}
		want := []health.Status{health.Session{Server: "s"}}
		if diff := cmp.Diff(want, sessions(c)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// The first turn after a server's start works, although the background would try
// again only later.
func TestFirstTurnAfterTheServerStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		c := newClient(t, inBubble(b))
		time.Sleep(10 * time.Minute)
		if s := state(c); s != breaker.Closed {
			t.Fatalf("the breaker is %s without any turn", s)
		}
		f := newFake()
		b.start(f)
		began := time.Now()
		mustCall(t, c, "write", "ok")
		if elapsed := time.Since(began); elapsed != 0 {
			t.Errorf("it took %v", elapsed)
		}
	})
}

func TestBackgroundConnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		began := time.Now()
		var at []time.Duration
		b.net.onDial = func() { at = append(at, time.Since(began)) }
		c := newClient(t, inBubble(b))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		last := time.Duration(0)
		for i, d := range at[1:] {
			wait := min(time.Second<<i, 30*time.Second)
			if i >= 5 {
				wait = 30 * time.Second
			}
			if gap := d - last; gap < wait/2 || gap > wait {
				t.Errorf("attempt %d came after %v, want between %v and %v", i+2, gap, wait/2, wait)
			}
			last = d
		}
		if len(at) < 10 {
			t.Errorf("%d attempts in 5 minutes", len(at))
		}
		b.start(newFake())
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if !sessions(c)[0].OK() {
			t.Error("the server is up, but not connected")
		}
	})
}

// Five turns against a dead server open the breaker: each counts once.
func TestTurnsOpenTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		c := unstarted(t, inBubble(b))
		for i := range 5 {
			if n := failures(c); n != uint32(i) {
				t.Errorf("%d failures after %d turns", n, i)
			}
			c.Tools(t.Context())
		}
		if s := state(c); s != breaker.Open {
			t.Fatalf("the breaker is %s", s)
		}
		dials := b.net.dialed()
		set := c.Tools(t.Context())
		f, _ := errors.AsType[*fault.Error](set.Unavailable[0].Err)
		wantFault(t, f, fault.MCPUnavailable, false)
		if f.RetryAfter != 30*time.Second {
			t.Errorf("RetryAfter is %v, want 30s", f.RetryAfter)
		}
		if n := b.net.dialed() - dials; n != 0 {
			t.Errorf("%d connections were tried with the breaker open", n)
		}
		time.Sleep(31 * time.Second)
		b.start(newFake())
		mustCall(t, c, "write", "ok")
	})
}

// A hundred turns at once share one attempt, and it counts once.
func TestConnectIsSingleFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		b.net.onDial = func() { time.Sleep(100 * time.Millisecond) }
		c := unstarted(t, inBubble(b))
		for range 100 {
			go c.Tools(t.Context())
		}
		time.Sleep(time.Second)
		if n := b.net.dialed(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
		if n := failures(c); n != 1 {
			t.Errorf("%d failures, want 1", n)
		}
	})
}

func TestConnectThatHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onAny = func(w http.ResponseWriter, r *http.Request, req fakeRequest) bool {
			<-r.Context().Done()
			return true
		}
		b := newBubble(t, f)
		c := newClient(t, inBubble(b))
		began := time.Now()
		if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
			t.Error("a server that is not connected has tools")
		}
		if elapsed := time.Since(began); elapsed != time.Second {
			t.Errorf("Tools took %v, want ConnectWait", elapsed)
		}
		time.Sleep(connectTimeout)
		if n := failures(c); n != 1 {
			t.Errorf("%d failures, want 1", n)
		}
	})
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]callHandler{"M9BeforeHeaders": hang, "M9InStream": hangInStream, "M16TooSlow": slow(15 * time.Second)} {
		for called, unknown := range map[string]bool{"write": true, "read": false} {
			t.Run(name+"/"+called, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFake()
					f.onCall = h
					c := newClient(t, inBubble(newBubble(t, f)))
					c.Tools(t.Context())
					began := time.Now()
					_, err := call(t.Context(), c, called)
					wantFault(t, err, fault.Timeout, unknown)
					if elapsed := time.Since(began); elapsed != 10*time.Second {
						t.Errorf("it took %v, want 10s", elapsed)
					}
					if n := f.counts("tools/call"); n != 1 {
						t.Errorf("the server got %d calls, want 1", n)
					}
					if n := failures(c); n != 1 {
						t.Errorf("the breaker counts %d failures, want 1", n)
					}
					time.Sleep(time.Minute) // the fake's handlers end
				})
			})
		}
	}
}

func TestThreeTimeoutsRenewTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = hang
		c := newClient(t, inBubble(newBubble(t, f)))
		for range silentLimit {
			call(t.Context(), c, "write")
		}
		f.setOnCall(nil)
		mustCall(t, c, "write", "ok")
		if n := f.counts("initialize"); n != 2 {
			t.Errorf("%d sessions, want 2", n)
		}
	})
}

func TestSlowTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = slow(8 * time.Second)
		c := newClient(t, inBubble(newBubble(t, f)))
		mustCall(t, c, "write", "ok")
	})
}

// A server may answer and leave the stream open. The answer is not held back for
// it.
func TestAnswerInAStreamThatStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, req.ID))
			<-r.Context().Done()
		}
		c := newClient(t, inBubble(newBubble(t, f)))
		c.Tools(t.Context())
		began := time.Now()
		mustCall(t, c, "write", "ok")
		if elapsed := time.Since(began); elapsed != wire.TailWait {
			t.Errorf("it took %v, want %v", elapsed, wire.TailWait)
		}
	})
}

// A session that is replaced is ended when its last call has its answer, not
// before and not much later.
func TestOldSessionEndsAfterItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			switch {
			case req.Params.Name == "write":
				slow(5*time.Second)(w, r, req)
			case r.Header.Get("Mcp-Session-Id") == "session-1":
				status(404, "text/plain", "")(w, r, req)
			default:
				sendText(w, req, "ok")
			}
		}
		c := newClient(t, inBubble(newBubble(t, f)))
		c.Tools(t.Context())
		done := make(chan *fault.Error)
		go func() {
			_, err := call(t.Context(), c, "write")
			done <- err
		}()
		time.Sleep(time.Second)
		mustCall(t, c, "read", "ok")
		synctest.Wait()
		if inits, deletes := f.counts("initialize"), f.counts("DELETE"); inits != 2 || deletes != 0 {
			t.Errorf("%d sessions begun and %d ended, want 2 and 0", inits, deletes)
		}
		if err := <-done; err != nil {
			t.Errorf("the call on the old session: %v", err)
		}
		synctest.Wait()
		if n := f.counts("DELETE"); n != 1 {
			t.Errorf("%d sessions ended, want 1", n)
		}
	})
}

// FastMCP ends an SSE reply in a packet of its own. Without reading to that end,
// each call would cost a connection.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, req.ID))
			time.Sleep(time.Millisecond)
		}
		b := newBubble(t, f)
		c := newClient(t, inBubble(b))
		for range 50 {
			mustCall(t, c, "read", "ok")
		}
		if n := b.net.dialed(); n != 1 {
			t.Errorf("%d connections for 50 calls, want 1", n)
		}
	})
}

// Progress that is reported in detail does not count as part of the answer.
func TestManyNotificationsBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"` + strings.Repeat("x", 10_000) + `"}}`
			for range 2 * wire.MaxReply / len(note) {
				event(w, note)
			}
			event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, req.ID))
		}
		c := newClient(t, inBubble(newBubble(t, f)))
		mustCall(t, c, "write", "ok")
	})
}

func TestTurnEnds(t *testing.T) {
	t.Parallel()
	drain := &fault.Error{Type: fault.ShuttingDown, Message: "going"}
	over := &fault.Error{Type: fault.Timeout, Message: "too long"}
	tests := map[string]struct {
		cause error
		typ   fault.Type
	}{
		"client gone": {fault.ErrClientGone, fault.ToolFailed},
		"no cause":    {context.Canceled, fault.ToolFailed},
		"drain":       {drain, fault.ToolFailed},
		"turn's time": {over, fault.Timeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onCall = hang
				c := newClient(t, inBubble(newBubble(t, f)))
				c.Tools(t.Context())
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(time.Second, func() { cancel(tt.cause) })
				_, err := call(ctx, c, "write")
				wantFault(t, err, tt.typ, true)
				if !errors.Is(err, tt.cause) {
					t.Errorf("%v does not wrap the cause", err)
				}
				if elapsed := time.Since(began); elapsed != time.Second {
					t.Errorf("Call came back after %v, want at once after 1s", elapsed)
				}
				if n := failures(c); n != 0 {
					t.Errorf("the breaker counts %d failures, want 0", n)
				}
			})
		})
	}
}

func TestTurnEndedBeforeTheCall(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	c.Tools(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Call(ctx, tool.Call{Name: "write", Arguments: jsontext.Value(`{}`)})
	got, _ := errors.AsType[*fault.Error](err)
	wantFault(t, got, fault.ToolFailed, false)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not wrap the cause", err)
	}
	if n := f.counts("tools/call"); n != 0 {
		t.Errorf("the server got %d calls, want 0", n)
	}
}

func TestBreakerOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = status(500, "text/plain", "")
		c := newClient(t, inBubble(newBubble(t, f)))
		for range 5 {
			call(t.Context(), c, "write")
		}
		if s := state(c); s != breaker.Open {
			t.Fatalf("the breaker is %s", s)
		}
		set := c.Tools(t.Context())
		if len(set.Specs) != 0 || len(set.Unavailable) != 1 {
			t.Errorf("%d tools are offered with the breaker open", len(set.Specs))
		}
		before := f.counts("tools/call")
		time.Sleep(10 * time.Second)
		_, err := call(t.Context(), c, "write")
		wantFault(t, err, fault.MCPUnavailable, false)
		if err.RetryAfter != 20*time.Second {
			t.Errorf("RetryAfter is %v, want 20s", err.RetryAfter)
		}
		if n := f.counts("tools/call") - before; n != 0 {
			t.Errorf("%d calls were sent with the breaker open", n)
		}
		f.setOnCall(nil)
		time.Sleep(21 * time.Second)
		for range 3 {
			mustCall(t, c, "write", "ok")
		}
		if s := state(c); s != breaker.Closed {
			t.Errorf("the breaker is %s after three successes", s)
		}
	})
}

// A server that makes a session whenever asked, and breaks every call, must not
// look sound because of the sessions.
func TestBreakerOpensAlthoughEverySessionWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = cutInPipe
		c := newClient(t, inBubble(newBubble(t, f)))
		for range 5 {
			call(t.Context(), c, "write")
		}
		if s := state(c); s != breaker.Open {
			t.Errorf("the breaker is %s", s)
		}
	})
}

func cutInPipe(w http.ResponseWriter, _ *http.Request, _ fakeRequest) { panic(http.ErrAbortHandler) }

func TestRefreshFindsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, inBubble(newBubble(t, f)))
		set := c.Tools(t.Context())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if c.Tools(t.Context()) != set {
			t.Error("nothing changed, but the set did")
		}
		if n := f.counts("tools/list"); n < 10 || n > 12 {
			t.Errorf("the list was read %d times in 10 minutes", n)
		}
		f.setTools(toolRead)
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"read"}, names(c.Tools(t.Context()))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		_, err := call(t.Context(), c, "write")
		wantFault(t, err, fault.ToolFailed, false)
	})
}

func TestUnknownToolRefreshesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onCall = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
			sendError(w, req, 200, -32602, "Unknown tool: write")
		}
		c := newClient(t, inBubble(newBubble(t, f)))
		c.Tools(t.Context())
		f.setTools(toolRead)
		_, err := call(t.Context(), c, "write")
		wantFault(t, err, fault.ToolFailed, false)
		synctest.Wait()
		if diff := cmp.Diff([]string{"read"}, names(c.Tools(t.Context()))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// The session's end is noticed by a refresh, too, and made good in the background.
func TestRefreshNoticesAnExpiredSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, inBubble(newBubble(t, f)))
		c.Tools(t.Context())
		f.forget()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := f.counts("initialize"); n != 2 || !sessions(c)[0].OK() {
			t.Errorf("%d sessions, connected: %v", n, sessions(c)[0].OK())
		}
	})
}
