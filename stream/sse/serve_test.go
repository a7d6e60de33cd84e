package sse_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

// serve runs a server for handler, HTTP/1.1 or h2 alone, until the test ends.
func serve(t *testing.T, handler http.HandlerFunc, h2 bool) *testnet.Listener {
	l := testnet.Listen()
	srv := &http.Server{Handler: handler, Protocols: protocols(h2)}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
	})
	return l
}

func protocols(h2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!h2)
	p.SetUnencryptedHTTP2(h2)
	return p
}

// get asks l for a stream, whose header has come when it returns.
func get(t *testing.T, l *testnet.Listener, h2 bool) *http.Response {
	t.Helper()
	tr := &http.Transport{DialContext: l.Dial, Protocols: protocols(h2)}
	resp, err := (&http.Client{Transport: tr}).Get("http://gateway/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close(); tr.CloseIdleConnections() })
	return resp
}

// dialAndAsk sends a request over a bare connection and reads nothing.
func dialAndAsk(t *testing.T, l *testnet.Listener) net.Conn {
	t.Helper()
	conn, err := l.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// response reads the header of the reply on conn.
func response(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// arrivals reads lines to the end and notes when each that is not empty came,
// since began: "15s : ping".
func arrivals(r io.Reader, began time.Time) (list []string, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if sc.Text() != "" {
			list = append(list, time.Since(began).String()+" "+sc.Text())
		}
	}
	return list, sc.Err()
}

// only keeps the arrivals that contain part.
func only(list []string, part string) (kept []string) {
	for _, s := range list {
		if strings.Contains(s, part) {
			kept = append(kept, s)
		}
	}
	return kept
}

// tape is a server's writer that records what is done to it, and when.
type tape struct {
	header http.Header
	began  time.Time
	list   []string
	slow   time.Duration // what each Write takes
	err    error         // of Flush
}

func newTape() *tape { return &tape{header: http.Header{}, began: time.Now()} }

func (p *tape) note(what string) { p.list = append(p.list, time.Since(p.began).String()+" "+what) }

func (p *tape) Header() http.Header { return p.header }
func (p *tape) WriteHeader(int)     { p.note("header") }

func (p *tape) Write(b []byte) (int, error) {
	time.Sleep(p.slow)
	first, _, _ := strings.Cut(string(b), "\n")
	p.note("write " + first)
	return len(b), nil
}

func (p *tape) FlushError() error { p.note("flush"); return p.err }

func (p *tape) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		p.note("deadline none")
	} else {
		p.note("deadline " + at.Sub(p.began).String())
	}
	return nil
}
