package handlers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
	"sluice/internal/base/testnet"
)

// refusals are requests that are answered without a look at their body, up to the
// header that gives its length.
func refusals() map[string]string {
	const post = "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\n"
	return map[string]string{
		"200 healthz":   "GET /healthz HTTP/1.1\r\nHost: gateway\r\n",
		"200 readyz":    "GET /readyz HTTP/1.1\r\nHost: gateway\r\n",
		"200 metrics":   "GET /metrics HTTP/1.1\r\nHost: gateway\r\n",
		"200 tools":     "GET /tools HTTP/1.1\r\nHost: gateway\r\n",
		"204 lost":      post + jsonType + "\r\nLast-Event-ID: a:1\r\n",
		"204 lost GET":  "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\nLast-Event-ID: a:1\r\n",
		"204 preflight": "OPTIONS /chat/stream HTTP/1.1\r\nHost: gateway\r\nOrigin: http://ok.example\r\nAccess-Control-Request-Method: POST\r\n",
		"403 origin":    post + jsonType + "\r\nOrigin: http://evil.example\r\n",
		"404 path":      "POST /nowhere HTTP/1.1\r\nHost: gateway\r\n",
		"405 method":    "PUT /chat/stream HTTP/1.1\r\nHost: gateway\r\n",
		"415 type":      post,
	}
}

// wantClosed reads on until the server closes the connection, for which it has a
// second.
func wantClosed(t *testing.T, c net.Conn) {
	t.Helper()
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(time.Hour))
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("reading to the end of the connection: %v", err)
	}
	if elapsed := time.Since(began); elapsed > time.Second {
		t.Errorf("the connection was closed %v after the reply", elapsed)
	}
}

// A body that does not come, or not whole, is not waited for behind a reply that
// did not need it.
func TestUnreadBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	late := map[string]string{
		"408 POST": "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\n" + jsonType + "\r\n",
		"408 GET":  "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\n",
	}
	bodies := map[string]string{
		"no byte":               "Content-Length: 10\r\n\r\n",
		"half":                  "Content-Length: 10\r\n\r\n{\"inp",
		"half of a long one":    "Content-Length: 100000\r\n\r\n{\"inp",
		"no chunk":              "Transfer-Encoding: chunked\r\n\r\n",
		"half a chunk":          "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"",
		"one of more chunks":    "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n",
		"chunks without an end": "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n0\r\n",
		"only asked about":      "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n",
	}
	check := func(name, head string, body string, after time.Duration) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, l, stop := serveInBubble(handlers.Config{Origins: []string{"http://ok.example"}})
				defer stop()
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				write(c, head+body, nil)
				r := bufio.NewReader(c)
				if strings.Contains(body, "100-continue") && after > 0 { // the body is asked for
					if line, _ := r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
						t.Fatalf("the reply begins with %q", line)
					}
					_, _ = r.ReadString('\n')
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				if elapsed := time.Since(began); elapsed < after || elapsed > after+10*time.Millisecond {
					t.Errorf("the reply came after %v, want %v", elapsed, after)
				}
				if got := fmt.Sprint(resp.StatusCode); got != name[:3] || !resp.Close {
					t.Errorf("status %s, closes %v", got, resp.Close)
				}
				wantClosed(t, c)
			})
		})
	}
	for what, body := range bodies {
		for name, head := range refusals() {
			check(name+", "+what, head, body, 0)
		}
		for name, head := range late {
			check(name+", "+what, head, body, 10*time.Second)
		}
	}
}

// A client that continues sending does not hold its connection either.
func TestUnreadBodyThatKeepsComing(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"announced": "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nContent-Length: 99999999\r\n\r\n",
		"short":     "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nContent-Length: 200000\r\n\r\n",
		"one chunk": "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, l, stop := serveInBubble(handlers.Config{})
				defer stop()
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				write(c, head, &late{strings.NewReader(strings.Repeat(" ", 100)), 100 * time.Millisecond})
				if got := readReply(t, c); got.status != 404 || !got.closes {
					t.Errorf("status %d, closes %v", got.status, got.closes)
				}
				wantClosed(t, c)
			})
		})
	}
}

// A body of at most 4 KiB that came with its header costs the connection nothing,
// whatever the reply is, and what follows it is the next request.
func TestShortUnreadBodyKeepsTheConnection(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 4096)
	bodies := map[string]string{
		"a byte":      "Content-Length: 1\r\n\r\nx",
		"4 KiB":       "Content-Length: 4096\r\n\r\n" + text,
		"a chunk":     "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n",
		"4 KiB chunk": "Transfer-Encoding: chunked\r\n\r\n1000\r\n" + text + "\r\n0\r\n\r\n",
		"a trailer":   "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\nX: y\r\n\r\n",
		"a request":   "Content-Length: 41\r\n\r\nGET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n1",
	}
	for name, head := range refusals() {
		for what, body := range bodies {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					_, l, stop := serveInBubble(handlers.Config{Runner: slow(time.Minute), Origins: []string{"http://ok.example"}})
					defer stop()
					c, err := l.Dial(t.Context(), "", "")
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					// The turn takes longer than any deadline that a request before it had.
					const turn = "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\n" + jsonType + "\r\nContent-Length: 14\r\n\r\n{\"input\":\"hi\"}"
					write(c, head+body+head+body+turn, nil)
					r := bufio.NewReader(c)
					for range 2 {
						resp, err := http.ReadResponse(r, nil)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						if got := fmt.Sprint(resp.StatusCode); got != name[:3] || resp.Close {
							t.Errorf("status %s, closes %v", got, resp.Close)
						}
					}
					resp, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Fatal(err)
					}
					stream, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatal(err)
					}
					judge(t, string(stream))
				})
			})
		}
	}
}

// A client that leaves is noticed on a connection that was kept.
func TestClientLeavesAKeptConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes, when := make(chan error, 1), time.Time{}
		_, l, stop := serveInBubble(handlers.Config{Runner: ended(causes, &when)})
		defer stop()
		c, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		write(c, "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nContent-Length: 3\r\n\r\nabc", nil)
		readReply(t, c)
		time.Sleep(30 * time.Second)
		write(c, "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\n\r\n", nil)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		time.Sleep(30 * time.Second)
		left := time.Now()
		_ = c.Close()
		if cause := <-causes; cause == nil || !when.Equal(left) {
			t.Errorf("the turn ended %v after the client left, by %v", when.Sub(left), cause)
		}
	})
}

// A client that does not read a reply does not hold its connection for ever.
func TestReplyThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/nowhere", "/healthz"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, l, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{WriteTimeout: 5 * time.Second}})
				defer stop()
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				write(c, "GET "+path+" HTTP/1.1\r\nHost: gateway\r\n\r\n", nil)
				time.Sleep(6 * time.Second)
				if _, err := c.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection is open after 6 s: %v", err)
				}
			})
		})
	}
}

// What needs no body is decided before it, in this order: draining, origin, headers,
// a free place.
func TestDecidedBeforeTheBody(t *testing.T) {
	t.Parallel()
	const (
		post    = "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\n"
		foreign = "Origin: http://evil.example\r\n"
		json    = jsonType + "\r\n"
		body    = "Content-Length: 100\r\n\r\n"
	)
	for _, tt := range []struct {
		name           string
		draining, full bool
		head           string
		status         int
	}{
		{"draining, foreign, no JSON, full", true, true, post + foreign, 503},
		{"draining", true, false, post + json, 503},
		{"draining GET", true, false, "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\n", 503},
		{"foreign, no JSON, full", false, true, post + foreign, 403},
		{"no JSON, full", false, true, post, 415},
		{"lost, full", false, true, post + "Last-Event-ID: a:1\r\n", 204},
		{"full", false, true, post + json, 503},
		{"full GET", false, true, "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\n", 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, l, stop := serveInBubble(handlers.Config{Runner: waits, Limits: handlers.Limits{MaxStreams: 1}})
				defer stop()
				if tt.full {
					resp, err := g.send(t.Context(), "GET", "/chat/stream?input=hi", nil)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
				}
				if tt.draining {
					g.Drain()
				}
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				write(c, tt.head+body, nil)
				got := readReply(t, c)
				if elapsed := time.Since(began); got.status != tt.status || elapsed > 10*time.Millisecond {
					t.Errorf("status %d after %v, want %d at once", got.status, elapsed, tt.status)
				}
				wantClosed(t, c)
			})
		})
	}
}

// Bodies that are being read share 16 MiB. Beyond it those that are read for the
// longest time are closed, and the others are not disturbed.
func TestBodiesShareABound(t *testing.T) {
	t.Parallel()
	t.Run("short", func(t *testing.T) { t.Parallel(); bodiesShareABound(t, 131072, 140, `{"input":"hi"}`) })
	t.Run("with a history", func(t *testing.T) { t.Parallel(); bodiesShareABound(t, 1<<20, 24, `{"input":"hi","history":[]}`) })
}

// bodiesShareABound sends bodies of a length, all but their last bytes.
func bodiesShareABound(t *testing.T, length, all int, text string) {
	synctest.Test(t, func(t *testing.T) {
		size := length - 63
		fit := (16 << 20) / size
		g, l, stop := serveInBubble(handlers.Config{})
		defer stop()
		conns := make([]net.Conn, all)
		sent := make(chan struct{}, all)
		for i := range conns {
			c, err := l.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			conns[i] = c
			go func() {
				_, _ = io.WriteString(c, "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\n"+jsonType+"\r\nContent-Length: "+strconv.Itoa(length)+"\r\n\r\n"+
					text+strings.Repeat(" ", size-len(text)))
				sent <- struct{}{}
			}()
			<-sent
			time.Sleep(time.Millisecond)
		}
		for i, c := range conns[:all-fit] {
			began := time.Now()
			got := readReply(t, c)
			if elapsed := time.Since(began); got.status != 408 || !strings.Contains(got.body, "request_timeout") || !got.closes || elapsed > 0 {
				t.Errorf("body %d: status %d after %v: %s", i, got.status, elapsed, got.body)
			}
			wantClosed(t, c)
		}
		for i, c := range conns[all-fit:] {
			go func() { _, _ = io.WriteString(c, strings.Repeat(" ", length-size)) }()
			if got := readReply(t, c); got.status != 200 {
				t.Errorf("body %d: status %d: %s", all-fit+i, got.status, got.body)
			}
		}
		if n := int(g.runs.Load()); n != fit {
			t.Errorf("%d turns were run, want %d", n, fit)
		}
	})
}

// A client that is still sending when the reply comes gets the reply: a connection
// that was closed over what it sent would be reset.
func TestReplyOutlivesWhatIsStillSent(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"length": "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nContent-Length: 4000\r\n\r\n",
		"chunks": "POST /nowhere HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &gateway{}
				g.prepare(handlers.Config{})
				l := testnet.Listen()
				g.net = &http.Server{Handler: g.Server, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
					return handlers.WithConn(ctx, handlers.Conn{Conn: c})
				}}
				go func() { _ = g.net.Serve(l) }()
				defer time.Sleep(time.Second)
				defer g.net.Close()
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				write(c, head+"begun", nil)
				if got := readReply(t, c); got.status != 404 || !got.closes {
					t.Errorf("status %d, closes %v", got.status, got.closes)
				}
				time.Sleep(200 * time.Millisecond)
				if _, err := io.WriteString(c, "more"); err != nil {
					t.Errorf("what comes shortly after the reply is not taken: %v", err)
				}
				wantClosed(t, c)
			})
		})
	}
}

// A client that writes its whole body before it reads gets the refusal and no reset, up to 4 MiB.
func TestRefusalReachesAClientThatStillWrites(t *testing.T) {
	t.Parallel()
	for name, framing := range map[string]string{
		"announced": "Content-Length: 1200000\r\n\r\n",
		"one chunk": "Transfer-Encoding: chunked\r\n\r\n124f80\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &gateway{}
				g.prepare(handlers.Config{})
				l := testnet.Listen()
				g.net = &http.Server{Handler: g.Server, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
					return handlers.WithConn(ctx, handlers.Conn{Conn: c})
				}}
				go func() { _ = g.net.Serve(l) }()
				defer time.Sleep(time.Second)
				defer g.net.Close()
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				got := make(chan bool, 1)
				go func() {
					if _, err := c.Write([]byte("POST /nowhere HTTP/1.1\r\nHost: gateway\r\n" + framing + strings.Repeat("x", 1_200_000))); err != nil {
						t.Errorf("the body: %v", err)
					}
					got <- true
				}()
				if reply := readReply(t, c); reply.status != 404 || !reply.closes {
					t.Errorf("status %d, closes %v", reply.status, reply.closes)
				}
				wantClosed(t, c)
				<-got
			})
		})
	}
}
