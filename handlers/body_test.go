package handlers_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
)

// unsized hides a reader's length, so that the client sends chunks.
type unsized struct{ io.Reader }

func TestBodySize(t *testing.T) {
	t.Parallel()
	const limit, withHistory = 131072, 1 << 20
	const question, history, faulty = `{"input":"hi"}`, `{"input":"hi","history":[{"role":"user","content":"x"}]}`, `{"input":"hi","history":7}`
	for _, tt := range []struct {
		name   string
		text   string
		size   int
		status int
	}{
		{"exact", question, limit, 200}, {"one more", question, limit + 1, 413}, {"ten times", question, 10 * limit, 413},
		{"one more with a history", history, limit + 1, 200}, {"exact with a history", history, withHistory, 200},
		{"more with a history", history, withHistory + 1, 413},
		{"a history that is none", faulty, limit + 1, 422}, {"an empty history", `{"input":"hi","history":null}`, limit + 1, 200},
		{"a history elsewhere", `{"input":"hi","x":{"history":[]}}`, limit + 1, 413},
		{"broken behind a history", `{"history":[],`, limit + 1, 422}, {"broken before it", `{"input":,"history":[]}`, limit + 1, 413},
	} {
		for _, chunked := range []bool{false, true} {
			g := serve(t, handlers.Config{})
			var body io.Reader = strings.NewReader(tt.text + strings.Repeat(" ", tt.size-len(tt.text)))
			if chunked {
				body = unsized{body}
			}
			resp, err := g.send(t.Context(), "POST", "/chat/stream", body, jsonType)
			if err != nil {
				t.Fatalf("%s, chunked %v: %v", tt.name, chunked, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != tt.status || (g.runs.Load() == 1) != (tt.status == 200) {
				t.Errorf("%s, chunked %v: status %d, want %d; %d runs", tt.name, chunked, resp.StatusCode, tt.status, g.runs.Load())
			}
		}
	}
}

// write sends raw bytes in the background; a pipe takes none that are not read.
func write(c net.Conn, head string, body io.Reader) {
	go func() {
		if _, err := io.WriteString(c, head); err == nil && body != nil {
			_, _ = io.Copy(c, body)
		}
	}()
}

func readReply(t *testing.T, c net.Conn) reply {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, resp.Close, string(b)}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The reply to a body that is too large or too slow is there in time, and the
// connection then closes, whatever the client still sends.
func TestReplyBeforeTheBodyEnds(t *testing.T) {
	t.Parallel()
	const post = "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, head string
		body       io.Reader
		status     int
		errorType  string
		after      time.Duration
	}{
		{"announced too large, not sent", post + "Content-Length: 1048577\r\n\r\n", nil, 413, "payload_too_large", 0},
		{"announced too large, being sent", post + "Content-Length: 99999999\r\n\r\n", endless{}, 413, "payload_too_large", 0},
		{"too large in one chunk", post + "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", endless{}, 413, "payload_too_large", 0},
		{"wrong type, being sent", "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\nContent-Length: 99999999\r\n\r\n", endless{}, 415, "unsupported_media_type", 0},
		{"never sent", post + "Content-Length: 20\r\n\r\n", nil, 408, "request_timeout", 10 * time.Second},
		{"stalls", post + "Content-Length: 20\r\n\r\n{\"input\":", nil, 408, "request_timeout", 10 * time.Second},
		{"stalls in chunks", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n", nil, 408, "request_timeout", 10 * time.Second},
		{"GET that announces a body", "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\nContent-Length: 20\r\n\r\n", nil, 408, "request_timeout", 10 * time.Second},
		{"GET that announces a long one", "GET /diag/sse HTTP/1.1\r\nHost: gateway\r\nContent-Length: 131073\r\n\r\n", nil, 413, "payload_too_large", 0},
		{"broken chunks", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", nil, 422, "validation_error", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, l, stop := serveInBubble(handlers.Config{})
				defer stop()
				conn, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now()
				write(conn, tt.head, tt.body)
				got := readReply(t, conn)
				if elapsed := time.Since(began); elapsed != tt.after {
					t.Errorf("the reply came after %v, want %v", elapsed, tt.after)
				}
				if got.status != tt.status || !strings.Contains(got.body, `"error_type":"`+tt.errorType+`"`) || !got.closes {
					t.Errorf("status %d, closes %v: %s", got.status, got.closes, got.body)
				}
				if g.runs.Load() != 0 {
					t.Error("a turn was run")
				}
			})
		})
	}
}

// late is a body that takes its time.
type late struct {
	io.Reader
	time.Duration
}

func (l *late) Read(p []byte) (int, error) {
	time.Sleep(l.Duration)
	l.Duration = 0
	return l.Reader.Read(p)
}

// The body's deadline is the body's alone and does not cut the stream, whose
// timings count from the request's first byte.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(time.Minute)})
		defer stop()
		resp, err := g.send(t.Context(), "POST", "/chat/stream", &late{strings.NewReader(`{"input":"hi"}`), 9 * time.Second}, jsonType)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		events := judge(t, string(body))
		if ms := events[len(events)-1].data["timings"].(map[string]any)["first_event_ms"]; ms != 9000.0 {
			t.Errorf("first_event_ms %v, want 9000", ms)
		}
	})
}

// A client that sends half a body and then only listens still learns what is wrong.
func TestHalfABody(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /chat/stream HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"input\":")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got := readReply(t, conn)
	if got.status != 422 || !strings.Contains(got.body, "the body could not be read to its end") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}
