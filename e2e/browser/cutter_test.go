package browser

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// cut is where a stream breaks. Its zero value is before the headers.
type cut struct {
	headers bool // they pass
	events  int  // so many whole events pass
	half    bool // half of the next one passes, too
	clean   bool // what is broken looks like a clean end, as some proxies make it
}

// breaks distinguishes a connection that breaks from one that seems to end well. What a client
// has not yet read when it breaks may be lost to it, though it was sent.
func (c cut) breaks() bool { return !c.clean && c.events < uncut }

// uncut is more events than a stream has.
const uncut = 1 << 30

// cutter stands between a client and the gateway. It cuts the first stream, and all
// that run when somebody asks for /cut; everything else passes.
type cutter struct {
	url     string
	cut     cut
	gateway *url.URL
	others  http.Handler // what is not a stream
	now     context.Context
	cutNow  func()

	mu       sync.Mutex // guards the field below
	requests []request  // for a stream, in order
}

type request struct {
	lastEventID string
	status      int
}

func startCutter(t testing.TB, g *gateway, c cut) *cutter {
	t.Helper()
	base, err := url.Parse(g.base)
	if err != nil {
		t.Fatal(err)
	}
	// The client's Host stays: the gateway knows by it that the page is its own.
	others := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base); r.Out.Host = r.In.Host }}
	proxy := &cutter{cut: c, gateway: base, others: others}
	proxy.now, proxy.cutNow = context.WithCancel(t.Context())
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	proxy.url = s.URL
	return proxy
}

func (c *cutter) seen() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/cut":
		c.cutNow()
	case r.URL.Path == "/chat/stream" && r.Method != http.MethodOptions:
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(c.now, cancel)()
		c.stream(w, r.WithContext(ctx))
	default:
		c.others.ServeHTTP(w, r)
	}
}

func (c *cutter) stream(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // all of it, for it cannot be read once the reply has begun
	if err != nil {
		panic(http.ErrAbortHandler) // the client has left
	}
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", c.gateway.Scheme, c.gateway.Host
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	at := c.note(request{r.Header.Get("Last-Event-ID"), resp.StatusCode})
	if !at.headers {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if at.pass(w, resp.Body) && !at.clean || c.now.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// note notes a request and returns where its stream is cut.
func (c *cutter) note(r request) cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if len(c.requests) == 1 {
		return c.cut
	}
	return cut{headers: true, events: uncut}
}

// pass lets events pass up to the cut, and says whether there was one.
func (c cut) pass(w http.ResponseWriter, body io.Reader) bool {
	flush := func() { _ = http.NewResponseController(w).Flush() }
	flush()
	stream := bufio.NewReader(body)
	for range c.events {
		event := readEvent(stream)
		if event == "" {
			return false
		}
		_, _ = io.WriteString(w, event)
		flush()
	}
	if c.half {
		event := readEvent(stream)
		_, _ = io.WriteString(w, event[:len(event)/2])
		flush()
	}
	return true
}

// readEvent returns the next event with the blank line at its end, or what is left
// of the stream. The gateway asks clients to come back after a day; here it is said to be a
// moment, or no test would live to see it.
func readEvent(r *bufio.Reader) string {
	var event strings.Builder
	for {
		line, err := r.ReadString('\n')
		event.WriteString(line)
		if err != nil || line == "\n" {
			return strings.Replace(event.String(), "retry: 86400000\n", "retry: 100\n", 1)
		}
	}
}
