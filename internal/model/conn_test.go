package model

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// recorded is a connection that notes what is written, write by write.
type recorded struct {
	net.Conn
	mu     sync.Mutex // guards writes
	writes []string
	err    error // of each write
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, string(p))
	if r.err != nil {
		return 0, r.err
	}
	return len(p), nil
}

// sizes returns how long each write was.
func (r *recorded) sizes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sizes []int
	for _, w := range r.writes {
		sizes = append(sizes, len(w))
	}
	return sizes
}

const postHead = "POST /v1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nAccept: b\r\n\r\n"

func TestHeadLeavesWithItsBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", keepBuffer+1)
	for name, tt := range map[string]struct {
		written []string // by Write
		body    string   // by ReadFrom; empty: not called
		want    []string
	}{
		"head and body":                  {[]string{postHead}, "hello", []string{postHead + "hello"}},
		"a body that is written":         {[]string{postHead, "hello"}, "", []string{postHead + "hello"}},
		"two requests":                   {[]string{postHead, "hello", postHead}, "again", []string{postHead + "hello", postHead + "again"}},
		"a long body":                    {[]string{postHead}, long, []string{postHead + long[1:], "x"}},
		"a body of just the buffer":      {[]string{postHead}, long[1:], []string{postHead + long[1:]}},
		"a body alone":                   {nil, "hello", []string{"hello"}},
		"no body":                        {[]string{"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"}, "", []string{"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"}},
		"a body of unknown length":       {[]string{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"}, "", []string{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"}},
		"another method":                 {[]string{"CONNECT a HTTP/1.1\r\nContent-Length: 5\r\n\r\n"}, "", []string{"CONNECT a HTTP/1.1\r\nContent-Length: 5\r\n\r\n"}},
		"the beginning of a long head":   {[]string{postHead[:50], "x: y\r\n\r\n"}, "hello", []string{postHead[:50], "x: y\r\n\r\n", "hello"}},
		"a record of TLS":                {[]string{"\x16\x03\x01\r\n\r\n"}, "", []string{"\x16\x03\x01\r\n\r\n"}},
		"a body that looks like a head":  {[]string{postHead, postHead}, "", []string{postHead + postHead}},
		"a request after such a request": {[]string{postHead, postHead, postHead}, "hello", []string{postHead + postHead, postHead + "hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			under := &recorded{}
			c := &conn{Conn: under}
			for _, text := range tt.written {
				if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if tt.body != "" {
				if n, err := c.ReadFrom(iotest.OneByteReader(strings.NewReader(tt.body))); n != int64(len(tt.body)) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if diff := cmp.Diff(tt.want, under.writes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A body that cannot be read ends the request: nothing of it is sent.
func TestBodyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	under, broken := &recorded{}, errors.New("broken")
	c := &conn{Conn: under}
	_, _ = c.Write([]byte(postHead))
	if _, err := c.ReadFrom(iotest.ErrReader(broken)); err != broken || len(under.writes) > 0 {
		t.Errorf("%v, %q was sent", err, under.writes)
	}
	under.err = io.ErrClosedPipe
	if n, err := c.ReadFrom(strings.NewReader(strings.Repeat("x", 2*keepBuffer))); err != under.err || len(under.writes) != 1 || n != keepBuffer {
		t.Errorf("%d, %v, %d writes on a connection that is closed", n, err, len(under.writes))
	}
}

// net/http writes a head by itself. Over a transport of ours a call is one write.
func TestRequestIsOneWrite(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	under := &passing{recorded{Conn: ours}}
	tr := NewTransport(nil)
	tr.DialContext = dialConn(func(context.Context, string, string) (net.Conn, error) { return under, nil })
	defer tr.CloseIdleConnections()
	var wg sync.WaitGroup
	wg.Go(func() {
		r := bufio.NewReader(theirs)
		for range 2 {
			req, err := http.ReadRequest(r)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := io.ReadAll(req.Body)
			if want := bytes.Repeat([]byte("x"), 3000); !bytes.Equal(got, want) || err != nil {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n")
		}
	})
	s, err := NewHTTP(Target{URL: "http://model.test", Transport: tr}, PolicyGemini, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		events, err := s.Send(t.Context(), &Body{data: bytes.Repeat([]byte("x"), 3000)})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = events.Next()
		if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		events.Close()
	}
	wg.Wait()
	if n := under.sizes(); len(n) != 2 || n[0] <= 3000 {
		t.Errorf("writes of %d bytes, want one a request", n)
	}
}

// passing is a recorded connection whose writes arrive.
type passing struct{ recorded }

func (p *passing) Write(b []byte) (int, error) {
	_, _ = p.recorded.Write(b)
	return p.Conn.Write(b)
}
