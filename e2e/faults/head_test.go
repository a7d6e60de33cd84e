package faults

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestC16Methods(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, method := range []string{"PUT", "DELETE", "HEAD", "TRACE", "PATCH", "BREW"} {
		got, _ := g.say(t, request(method, "/chat/stream?input=hello", ""))
		if got.status != 405 || got.header.Get("Allow") != "OPTIONS, GET, POST" {
			t.Errorf("%s: %d, Allow: %s", method, got.status, got.header.Get("Allow"))
		}
		if method != "HEAD" {
			got.refused(t, 405, "method_not_allowed", "")
		}
	}
	g.untouched(t)
}

// Clients send odd Accept headers. Events come whatever they say.
func TestC17Accept(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, accept := range []string{"application/json", "text/html", "*/*;q=0", "", "nonsense"} {
		got := g.post(t, aTurn, "Accept: "+accept)
		got.finished(t)
		if kind := got.header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("Accept: %s: %s", accept, kind)
		}
	}
}

// own is the form of a request id that the gateway has made.
var own = regexp.MustCompile(`^req_[0-9a-f]{12}$`)

// No line end in a request id gets into a reply.
func TestC29LineEndsInRequestID(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	got, closed := g.say(t, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-ID: a\rX-Evil: b\r\n\r\n")
	if got.status != 400 || !closed {
		t.Errorf("CR: %d, closed: %v", got.status, closed)
	}
	got, _ = g.say(t, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-ID: abc\nX-Evil: b\r\n\r\n")
	if ids := got.header.Values("X-Request-ID"); got.status != 200 || len(ids) != 1 || ids[0] != "abc" || got.header.Get("X-Evil") != "" {
		t.Errorf("LF: %d %v", got.status, got.header)
	}
	got, _ = g.say(t, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-ID: a%0d%0aX-Evil: b\r\n\r\n")
	if id := got.header.Get("X-Request-ID"); !own.MatchString(id) {
		t.Errorf("escaped: %q", id)
	}
}

// A request id that is not a plain one is replaced, and none of it is logged.
func TestC30OddRequestIDs(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, odd := range []string{strings.Repeat("a", 8<<10), strings.Repeat("a", 65), "<script>alert(1)</script>", "a\u202eb", "a b", "ü", "one\r\nX-Request-ID: two"} {
		got := g.post(t, aTurn, "X-Request-ID: "+odd)
		got.finished(t)
		if ids := got.header.Values("X-Request-ID"); len(ids) != 1 || !own.MatchString(ids[0]) {
			t.Errorf("%.20q: %.60q", odd, ids)
		}
		for _, e := range events(t, got.body) {
			if e.data["request_id"] != got.header.Get("X-Request-ID") {
				t.Errorf("%.20q: an event of %.60v", odd, e.data["request_id"])
			}
		}
	}
	plain := strings.Repeat("a", 60) + "._-Z"
	got := g.post(t, aTurn, "X-Request-ID: "+plain)
	if id := got.header.Get("X-Request-ID"); id != plain {
		t.Errorf("a good one becomes %s", id)
	}
	for _, l := range g.Logged("") {
		if l.RequestID != "" && l.RequestID != plain && !own.MatchString(l.RequestID) || strings.Contains(l.Raw, "alert") {
			t.Errorf("logged: %.200s", l.Raw)
		}
	}
}

// Headers have a bound in bytes, above what 5,000 characters in an address need.
func TestC31LongHeaders(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	many := func(n, length int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%d: %s\r\n", i, strings.Repeat("a", length))
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		header string
		status int
	}{
		"80 KiB":               {many(1, 80<<10), 200},
		"128 KiB":              {many(1, 128<<10), 431},
		"1,000 short ones":     {many(1000, 10), 200},
		"1,000 of 120 bytes":   {many(1000, 120), 431},
		"no end":               {many(1, 4<<20), 431},
		"a name without end":   {strings.Repeat("a", 256<<10) + ": b\r\n", 431},
		"an address of 256 KB": {"", 431},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "/healthz"
			if tt.header == "" {
				path += "?" + strings.Repeat("a", 256<<10)
			}
			got, closed := g.say(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\n"+tt.header+"\r\n")
			if got.status != tt.status || closed != (tt.status == 431) {
				t.Errorf("got %d, want %d; closed: %v", got.status, tt.status, closed)
			}
		})
	}
}

// Where a body ends is read in one way only. Of two lengths none counts, and chunks count over a
// length, so that what follows them is another request, whatever the length says.
func TestC32AmbiguousLengths(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	const head = "POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, rest := range map[string]string{
		"two lengths":       "Content-Length: 17\r\nContent-Length: 16\r\n\r\n" + aTurn,
		"a list of lengths": "Content-Length: 17, 16\r\n\r\n" + aTurn,
		"a negative length": "Content-Length: -17\r\n\r\n" + aTurn,
		"a length with +":   "Content-Length: +17\r\n\r\n" + aTurn,
		"a hexadecimal one": "Content-Length: 0x11\r\n\r\n" + aTurn,
		"chunked twice":     "Transfer-Encoding: chunked, chunked\r\n\r\n11\r\n" + aTurn + "\r\n0\r\n\r\n",
		"a negative chunk":  "Transfer-Encoding: chunked\r\n\r\n-11\r\n" + aTurn + "\r\n0\r\n\r\n",
		"identity":          "Transfer-Encoding: identity\r\nContent-Length: 17\r\n\r\n" + aTurn,
	} {
		got, closed := g.say(t, head+rest)
		if name == "a negative chunk" {
			got.refused(t, 422, "validation_error", "")
		} else if got.status != 400 && got.status != 501 || !closed {
			t.Errorf("%s: %d, closed: %v", name, got.status, closed)
		}
	}
	g.untouched(t)

	c := g.dial(t)
	hidden := "GET /tools HTTP/1.1\r\nHost: x\r\n\r\n"
	body := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(aTurn), aTurn)
	go func() {
		_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s%s", head, len(body)+len(hidden), body, hidden)
	}()
	r := bufio.NewReader(c)
	read(t, r, "POST").finished(t)
	if rest, err := http1(r); err == nil && !strings.HasPrefix(rest, "HTTP/1.1 200") {
		t.Errorf("after chunks with a length: %q", rest)
	}
}

// http1 returns the first line of another reply, or io.EOF if the connection has ended.
func http1(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if line == "" && err != nil {
		return "", io.EOF
	}
	return line, nil
}

// EventSource connects again after every end. What it had asked is not run again.
func TestC34EventSourceReconnects(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, id := range []string{"5", "req_0123456789ab:3", strings.Repeat("x", 1000)} {
		got, _ := g.say(t, request("GET", "/chat/stream?input=hello", "", "Accept: text/event-stream", "Last-Event-ID: "+id))
		if got.status != 204 || got.body != "" {
			t.Errorf("%.20s: %d %s", id, got.status, got.body)
		}
		if got := g.post(t, aTurn, "Last-Event-ID: "+id); got.status != 204 {
			t.Errorf("%.20s, posted: %d", id, got.status)
		}
	}
	g.untouched(t)
	got, _ := g.say(t, request("GET", "/chat/stream?input=hello", "", "Accept: text/event-stream"))
	got.finished(t)
}

// What a foreign page can make a browser send runs nothing.
func TestC35ForeignPages(t *testing.T) {
	t.Parallel()
	g := start(t, echo, "SLUICE_CORS_ORIGINS", "https://friend.test")
	const browser = "User-Agent: Mozilla/5.0"
	get := func(header ...string) string { return request("GET", "/chat/stream?input=hello", "", header...) }
	post := func(header ...string) string {
		return request("POST", "/chat/stream", aTurn, append(header, "Content-Type: application/json")...)
	}
	for name, say := range map[string]string{
		"GET of another site":    get("Origin: https://evil.test", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
		"POST of another site":   post("Origin: https://evil.test", "Sec-Fetch-Site: cross-site"),
		"GET without an origin":  get("Origin: null"),
		"POST without an origin": post("Origin: null"),
		"a name that begins so":  post("Origin: https://friend.test.evil.test"),
		"a name that ends so":    post("Origin: https://notfriend.test"),
		"another scheme":         post("Origin: http://friend.test"),
		"an image":               get(browser, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
		"an image of our own":    get(browser, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: image"),
		"a link":                 get(browser, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
		"a browser in the clear": get(browser),
		"a foreign referrer":     get(browser, "Referer: http://evil.test/gateway.test"),
	} {
		got, _ := g.say(t, say)
		if got.refused(t, 403, "origin_refused", ""); t.Failed() {
			t.Fatalf("%s: %d", name, got.status)
		}
		if got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", name, got.header)
		}
	}
	g.untouched(t)
	for name, say := range map[string]string{
		"a friend":       post("Origin: https://friend.test", "Sec-Fetch-Site: cross-site"),
		"our own page":   get(browser, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty"),
		"our own, clear": get(browser, "Referer: http://gateway.test/"),
		"a program":      get(),
	} {
		got, _ := g.say(t, say)
		if got.finished(t); t.Failed() {
			t.Fatal(name)
		}
	}
}
