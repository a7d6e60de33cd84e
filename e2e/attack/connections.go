// This file has the attacks on connections: bodies that never come, connections that are half
// closed, methods and paths that monitors use. They write bytes without an HTTP client, because a
// client would not send the bytes of an attacker.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/e2e/scenario"
)

// link is a connection for arbitrary bytes.
//
// Its deadline is that of the scenario.
type link struct {
	*net.TCPConn
	in *bufio.Reader
}

// dial connects. The connection is closed when the scenario ends, and all reads and
// writes fail then.
func (r *run) dial(g *gateway) *link {
	var d net.Dialer
	conn, err := d.DialContext(r.Ctx, "tcp", g.addr)
	r.Must(plainError(err))
	r.AtEnd(func() { _ = conn.Close() })
	deadline, _ := r.Ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	return newLink(conn)
}

// newLink returns the link of a connection of TCP.
func newLink(conn net.Conn) *link {
	return &link{conn.(*net.TCPConn), bufio.NewReaderSize(conn, 1<<10)}
}

// close closes the connection; l may be nil.
func (l *link) close() {
	if l != nil {
		_ = l.Close()
	}
}

// exchange sends a whole request and reads a whole reply.
//
// closing says that the connection cannot be used again.
func (l *link) exchange(request string) (got reply, closing bool) {
	if _, err := io.WriteString(l, request); err != nil {
		return reply{err: plainError(err)}, true
	}
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return reply{err: plainError(err)}, true
	}
	body, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, body: string(body), err: plainError(err)}, resp.Close
}

// statusOf sends a request and returns the reply's status, or 0 without a reply. The body of the
// reply may last.
func (l *link) statusOf(request string) int {
	_, _ = io.WriteString(l, request)
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0
	}
	return resp.StatusCode
}

// rawTurn returns a turn as bytes on the wire.
func rawTurn(input string) string {
	body := fmt.Sprintf(`{"input":%q,"accumulated":false}`, input)
	return fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// openConnections opens n connections that send what request says, and nothing more. open is
// how many the gateway has not closed.
//
// The readers end when the connections are closed, at the end of the scenario.
func (r *run) openConnections(g *gateway, n int, request func(i int) string) (open *atomic.Int64) {
	open = new(atomic.Int64)
	var readers sync.WaitGroup
	r.AtEnd(readers.Wait)
	for i := range n {
		l := r.dial(g)
		_, _ = io.WriteString(l, request(i)) // it may be closed already, as it should be
		open.Add(1)
		readers.Go(func() {
			_, _ = l.in.WriteTo(io.Discard)
			open.Add(-1)
		})
	}
	return open
}

// announcedRequests returns requests that announce a body which never comes. All but the last get a
// reply without it.
//
// The last one is a turn, whose body the gateway waits for.
func announcedRequests() (all []string) {
	const turn = "POST /chat/stream|Content-Type: application/json"
	for _, line := range []string{
		"GET /healthz", "GET /metrics", "GET /", "GET /tools", "GET /nowhere", "DELETE /chat/stream", "OPTIONS /chat/stream|Origin: http://evil.test",
		"POST /chat/stream|Content-Type: text/plain", turn + "|Origin: http://evil.test", turn + "|Last-Event-ID: a:1", turn,
	} {
		line = strings.Replace(line+"|", "|", " HTTP/1.1|Host: x|Content-Length: 10|", 1)
		all = append(all, strings.ReplaceAll(line, "|", "\r\n")+"\r\n")
	}
	return all
}

// unreadBody announces bodies and does not send them.
func unreadBody(r *run) {
	const crowded, many, gone = 1500, 9000, 15 * time.Second
	requests := announcedRequests()
	each := func(i int) string { return requests[i%len(requests)] }
	small := r.mustStart(options{files: 1024})
	r.openConnections(small, crowded, each)
	r.checkHealth("/healthz beside 1,500 at 1,024 descriptors", small)
	r.checkTurn("a turn beside them", small.runTurn("hi", 5*time.Second), 2*time.Second, "stop")
	if !r.canOpen(many + crowded + 500) {
		return
	}
	large := r.mustStart(options{})
	var slowest time.Duration
	for _, request := range requests[:len(requests)-1] {
		slowest = max(slowest, r.untilClosed(large, request))
	}
	r.checkWithin("from such a reply to the close, slowest", slowest, 2*time.Second)
	open := r.openConnections(large, many, each)
	r.Pause(gone)
	r.Exactly("left of 9,000 after 15 s", int(open.Load()), 0)
}

// untilClosed returns how long a connection stays open after its reply, at most 3 s.
func (r *run) untilClosed(g *gateway, request string) time.Duration {
	l := r.dial(g)
	got, _ := l.exchange(request)
	r.Must(got.err)
	begin := time.Now()
	_ = l.SetReadDeadline(begin.Add(3 * time.Second))
	if b, err := l.in.ReadByte(); err == nil {
		r.Must(fmt.Errorf("byte %q after the reply to %q", b, request))
	}
	return time.Since(begin)
}

// halfBodies sends bodies without their end. They must not pile up in memory.
func halfBodies(r *run) {
	const crowded, announced, sent = 4000, 131_072, 131_009
	if !r.canOpen(crowded + 500) {
		return
	}
	g := r.mustStart(options{env: []string{"SLUICE_MAX_STREAMS=10"}})
	half := fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", announced) +
		`{"input":"` + strings.Repeat("a", sent-len(`{"input":"`))
	r.openConnections(g, crowded, func(int) string { return half })
	r.checkTurn("a turn beside 4,000 of them", g.runTurn("hi", 10*time.Second), 5*time.Second, "stop")
	r.Pause(2 * time.Second)
	r.checkCost(g, usage{}, 0, 150)
}

// halfClose leaves as nc -N and some load balancers do: it sends no more, but reads.
func halfClose(r *run) {
	asked, left := make(chan struct{}, 2), make(chan time.Time, 2)
	g := r.mustStart(options{model: func(q question, say func(string)) {
		say(partialAnswer(`[{"text":"Fi"}]`))
		asked <- struct{}{}
		_ = scenario.Pause(q.Context(), 3*time.Second)
		left <- time.Now()
		say(textAnswer("ne."))
	}})
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		l := r.dial(g)
		_, err := io.WriteString(l, strings.Replace(rawTurn("hi"), "HTTP/1.1", version, 1))
		r.Must(err)
		select {
		case <-asked:
		case <-r.Ctx.Done():
			r.Must(errors.New("the model was not asked"))
		}
		begin := time.Now()
		r.Must(l.CloseWrite())
		got, err := io.ReadAll(l.in)
		end := "broken off"
		switch {
		case strings.Contains(string(got), "event: done"):
			end = "done"
		case errors.Is(err, os.ErrDeadlineExceeded):
			end = "none"
		case err == nil && (version == "HTTP/1.0" || strings.HasSuffix(string(got), "0\r\n\r\n")):
			end = "clean, without done"
		}
		r.Check("the end over "+version, end == "broken off" || end == "done", "broken off or done", "%s", end)
		r.checkWithin("until the model is left", (<-left).Sub(begin), 500*time.Millisecond)
	}
}

// headRequests asks as monitors do.
func headRequests(r *run) {
	g := r.mustStart(options{})
	paths := []string{"/healthz", "/readyz", "/metrics", "/tools", "/openapi.yaml", "/"}
	answered := 0
	for _, path := range paths {
		if got := g.fetch(5*time.Second, http.MethodHead, path, ""); got.err == nil && got.status == http.StatusOK {
			answered++
		}
	}
	r.Exactly("HEAD answered where GET has no effect", answered, len(paths))
	r.Exactly("status of HEAD /chat/stream", g.fetch(5*time.Second, http.MethodHead, "/chat/stream", "").status, http.StatusMethodNotAllowed)
}

// diagStream checks that /diag/sse obeys the rules of a turn.
func diagStream(r *run) {
	const long = "GET /diag/sse?ticks=2&interval_ms=300000 HTTP/1.1\r\nHost: x\r\n"
	g := r.mustStart(options{env: []string{"SLUICE_MAX_STREAMS=1", "SLUICE_DRAIN_TIMEOUT=6s"}})
	foreign := r.dial(g)
	r.Exactly("status for a foreign page", foreign.statusOf(long+"Origin: http://evil.test\r\nSec-Fetch-Site: cross-site\r\n\r\n"), http.StatusForbidden)
	_ = foreign.Close()
	r.Pause(200 * time.Millisecond) // until its place is free again, if it had one
	r.Exactly("status for curl", r.dial(g).statusOf(long+"\r\n"), http.StatusOK)
	r.checkTurn("a turn beside it, SLUICE_MAX_STREAMS=1", g.runTurn("hi", 5*time.Second), 2*time.Second, "stop")
	begin := time.Now()
	r.Must(g.terminate())
	r.checkWithin("from SIGTERM to the end beside it", time.Since(begin), 3*time.Second)
}
