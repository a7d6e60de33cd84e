package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection on which a scenario writes what it likes.
type link struct {
	net.Conn
	in *bufio.Reader
}

// dial connects. All reads and writes fail when ctx does.
func (g *gateway) dial(ctx context.Context) (*link, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", g.addr)
	if err != nil {
		return nil, plainly(err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	return &link{conn, bufio.NewReader(conn)}, nil
}

// exchange sends a whole request and reads a whole reply.
func (l *link) exchange(request string) (r reply, closing bool, err error) {
	if _, err := io.WriteString(l, request); err != nil {
		return reply{}, true, plainly(err)
	}
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return reply{}, true, plainly(err)
	}
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(body)}, resp.Close, plainly(err)
}

// post is a turn as bytes on the wire.
func post(input string) string {
	body := fmt.Sprintf(`{"input":%q,"accumulated":false}`, input)
	return fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// crowd is many connections that have sent the same and wait.
type crowd struct {
	conns []net.Conn
	wg    sync.WaitGroup
	open  atomic.Int64
}

// gather opens n connections that send what request says, and nothing more.
func (r *run) gather(ctx context.Context, g *gateway, n int, request func(i int) string) (*crowd, error) {
	c := &crowd{}
	r.atEnd(c.leave)
	for i := range n {
		l, err := g.dial(ctx)
		if err != nil {
			return c, fmt.Errorf("connection %d: %w", i, err)
		}
		c.conns = append(c.conns, l.Conn)
		c.open.Add(1)
		_, _ = io.WriteString(l, request(i)) // it may be closed already, as it should be
		c.wg.Go(func() {
			_, _ = io.Copy(io.Discard, l.in)
			c.open.Add(-1)
		})
	}
	return c, nil
}

func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.wg.Wait()
	c.conns = nil
}

// announced are requests that announce a body which never comes. All but the last
// get a reply without it.
func announced() []string {
	var all []string
	for _, line := range []string{
		"GET /healthz", "GET /metrics", "GET /", "GET /tools", "GET /nowhere", "DELETE /chat/stream",
		"POST /chat/stream|Content-Type: text/plain", "POST /chat/stream|Content-Type: application/json|Origin: http://evil.test",
		"POST /chat/stream|Content-Type: application/json|Last-Event-ID: a:1", "OPTIONS /chat/stream|Origin: http://evil.test",
		"POST /chat/stream|Content-Type: application/json",
	} {
		request, header, _ := strings.Cut(line, "|")
		if header != "" {
			header = strings.ReplaceAll(header, "|", "\r\n") + "\r\n"
		}
		all = append(all, request+" HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n"+header+"\r\n")
	}
	return all
}

func unreadBody(ctx context.Context, r *run) error {
	const crowded, many, gone = 1500, 9000, 15 * time.Second
	small, err := r.start(ctx, options{files: 1024})
	if err != nil {
		return err
	}
	requests := announced()
	each := func(i int) string { return requests[i%len(requests)] }
	if _, err := r.gather(ctx, small, crowded, each); err != nil {
		return err
	}
	took, err := small.health(ctx, 3*time.Second)
	r.within("/healthz beside 1,500 at 1,024 descriptors", took, time.Second, err)
	r.turn("a turn beside them", small.ask(ctx, "hi", 5*time.Second), 2*time.Second, "stop")
	if !r.descriptors(many + crowded + 500) {
		return nil
	}
	large, err := r.start(ctx, options{})
	if err != nil {
		return err
	}
	took, err = slowestClose(ctx, large, requests[:len(requests)-1])
	r.within("from such a reply to the close, slowest", took, 2*time.Second, err)
	c, err := r.gather(ctx, large, many, each)
	if err != nil {
		return err
	}
	if err := pause(ctx, gone); err != nil {
		return err
	}
	r.note("left of 9,000 after 15 s", c.open.Load() == 0, "0", "%d", c.open.Load())
	return nil
}

// slowestClose sends each request on a connection of its own and returns how long the
// slowest stays open after its reply.
func slowestClose(ctx context.Context, g *gateway, requests []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var slowest time.Duration
	for _, request := range requests {
		l, err := g.dial(ctx)
		if err != nil {
			return 0, err
		}
		defer l.Close()
		if _, _, err := l.exchange(request); err != nil {
			return 0, err
		}
		begin := time.Now()
		if _, err := l.in.ReadByte(); errors.Is(plainly(err), err) == false {
			line, _, _ := strings.Cut(request, " HTTP")
			return 0, fmt.Errorf("%s: open after %s", line, short(time.Since(begin)))
		}
		slowest = max(slowest, time.Since(begin))
	}
	return slowest, nil
}

func halfBodies(ctx context.Context, r *run) error {
	const crowded = 4000
	if !r.descriptors(crowded + 500) {
		return nil
	}
	g, err := r.start(ctx, options{env: []string{"SLUICE_MAX_STREAMS=10"}})
	if err != nil {
		return err
	}
	half := "POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 131072\r\n\r\n" +
		`{"input":"` + strings.Repeat("a", 131009-len(`{"input":"`))
	if _, err := r.gather(ctx, g, crowded, func(int) string { return half }); err != nil {
		return err
	}
	r.turn("a turn beside 4,000 half bodies", g.ask(ctx, "hi", 10*time.Second), 3*time.Second, "stop")
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	r.peak("memory at most", g, 150)
	return nil
}

// halfClose leaves as nc -N and some load balancers do: no more is sent, but read.
func halfClose(ctx context.Context, r *run) error {
	asked, left := make(chan struct{}, 2), make(chan time.Time, 2)
	g, err := r.start(ctx, options{model: func(q question, say func(string)) {
		say(part(`[{"text":"Fi"}]`))
		asked <- struct{}{}
		select {
		case <-q.Context().Done():
		case <-time.After(3 * time.Second):
		}
		left <- time.Now()
		say(text("ne."))
	}})
	if err != nil {
		return err
	}
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		l, err := g.dial(ctx)
		if err != nil {
			return err
		}
		defer l.Close()
		if _, err := io.WriteString(l, strings.Replace(post("hi"), "HTTP/1.1", version, 1)); err != nil {
			return err
		}
		<-asked
		if err := l.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			return err
		}
		begin := time.Now()
		got, readErr := io.ReadAll(l.in)
		clean := readErr == nil && (version == "HTTP/1.0" || strings.HasSuffix(string(got), "0\r\n\r\n"))
		whole := strings.Contains(string(got), "event: done")
		r.note("the reply over "+version, whole || !clean, "broken or with done", "%s", ending(clean, whole))
		r.within("until the model is left, "+version, (<-left).Sub(begin), 500*time.Millisecond, nil)
	}
	return nil
}

func ending(clean, whole bool) string {
	switch {
	case whole:
		return "done"
	case clean:
		return "clean end without done"
	}
	return "broken off"
}

func head(ctx context.Context, r *run) error {
	g, err := r.start(ctx, options{})
	if err != nil {
		return err
	}
	paths := []string{"/healthz", "/readyz", "/metrics", "/tools", "/openapi.yaml", "/"}
	var bad []string
	for _, path := range paths {
		got, _, err := g.fetch(ctx, http.MethodHead, path, "")
		if err != nil || got.status != http.StatusOK || got.body != "" {
			bad = append(bad, fmt.Sprint(path, " ", got.status))
		}
	}
	r.note("HEAD where GET has no effect", bad == nil, "200", "%d of %d: %s", len(paths)-len(bad), len(paths), strings.Join(bad, ", "))
	got, _, err := g.fetch(ctx, http.MethodHead, "/chat/stream", "")
	r.note("HEAD of a turn", err == nil && got.status == http.StatusMethodNotAllowed, "405", "%d", got.status)
	return err
}

// diag holds /diag/sse to what holds for a turn.
func diag(ctx context.Context, r *run) error {
	g, err := r.start(ctx, options{env: []string{"SLUICE_MAX_STREAMS=1", "SLUICE_DRAIN_TIMEOUT=6s"}})
	if err != nil {
		return err
	}
	const long = "GET /diag/sse?ticks=2&interval_ms=300000 HTTP/1.1\r\nHost: x\r\n"
	foreign, err := g.dial(ctx)
	if err != nil {
		return err
	}
	defer foreign.Close()
	status := firstStatus(foreign, long+"Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n\r\n")
	r.note("opened by a foreign page", status == http.StatusForbidden, "403", "%d", status)
	_ = foreign.Close()
	own, err := g.dial(ctx)
	if err != nil {
		return err
	}
	defer own.Close()
	if err := pause(ctx, 200*time.Millisecond); err != nil { // the foreign one's place is free again
		return err
	}
	if status := firstStatus(own, long+"\r\n"); status != http.StatusOK {
		return fmt.Errorf("/diag/sse: status %d", status)
	}
	r.turn("a turn beside one, SLUICE_MAX_STREAMS=1", g.ask(ctx, "hi", 5*time.Second), 2*time.Second, "stop")
	took, err := g.terminate(ctx)
	r.within("SIGTERM with one open", took, 3*time.Second, err)
	return nil
}

// firstStatus returns the status of a reply whose body may last, 0 if there is none.
func firstStatus(l *link, request string) int {
	_, _ = io.WriteString(l, request)
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0
	}
	return resp.StatusCode
}
