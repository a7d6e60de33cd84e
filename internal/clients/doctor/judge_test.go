package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// brief is a finding without its advice: its verdict, its check, what was seen.
func brief(all ...Finding) (lines []string) {
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Verdict, f.Check, f.Seen))
	}
	return lines
}

// reply is a response with these headers, each a name and a value.
func reply(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: h, ProtoMajor: 1, ContentLength: -1, TransferEncoding: []string{"chunked"}}
}

// ticksAt are ticks that were sent every 200 ms, and came at these milliseconds.
func ticksAt(ms ...int) (all []tick) {
	for i, at := range ms {
		all = append(all, tick{N: i + 1, ElapsedMS: int64(i * 200), at: time.Duration(at) * time.Millisecond})
	}
	return all
}

// When ticks came, against when they were sent: only differences count, as the two clocks need
// not agree.
func TestTiming(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		at   []int
		trip time.Duration
		want timing
		live bool
	}{
		"none":                     {nil, 0, timing{}, true},
		"at once":                  {[]int{0, 200, 400}, 0, timing{pieces: 3, largest: 1}, true},
		"after the network's time": {[]int{50, 250, 450}, 50 * ms, timing{pieces: 3, largest: 1}, true},
		"quicker than the network": {[]int{10, 210}, 50 * ms, timing{pieces: 2, largest: 1}, true},
		"all later":                {[]int{350, 550, 750}, 100 * ms, timing{delay: 250 * ms, pieces: 3, largest: 1}, false},
		"just in time":             {[]int{349, 549}, 100 * ms, timing{delay: 249 * ms, pieces: 2, largest: 1}, true},
		"one later":                {[]int{0, 449, 450}, 0, timing{held: 249 * ms, pieces: 2, largest: 2}, true},
		"one too late":             {[]int{0, 450, 650}, 0, timing{held: 250 * ms, pieces: 3, largest: 1}, false},
		"in one piece":             {[]int{600, 600, 601, 602}, 0, timing{held: 598 * ms, delay: 2 * ms, pieces: 1, largest: 4}, false},
		"in two":                   {[]int{200, 200, 600, 600}, 0, timing{held: 200 * ms, pieces: 2, largest: 2}, true},
		"a quarter apart":          {[]int{0, 50, 101}, 0, timing{held: 299 * ms, pieces: 2, largest: 2}, false}, // a piece still, and more is not
	} {
		v := &viewing{ticks: ticksAt(tt.at...)}
		got := v.measureTiming(tt.trip)
		if got != tt.want || got.isLive() != tt.live {
			t.Errorf("%s: got %+v, live %t, want %+v, %t", name, got, got.isLive(), tt.want, tt.live)
		}
	}
}

// The longest silence counts from the first tick to the last, comments or none in between.
func TestLongestGap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ticks, comments []int
		want            time.Duration
	}{
		{[]int{100, 1100}, nil, time.Second},
		{[]int{100, 1100}, []int{400, 900}, 500 * time.Millisecond},
		{[]int{100, 1100}, []int{200}, 900 * time.Millisecond},
		{[]int{100, 1100}, []int{1000}, 900 * time.Millisecond},
		{[]int{100}, nil, 0},
	} {
		v := &viewing{ticks: ticksAt(tt.ticks...)}
		for _, k := range ticksAt(tt.comments...) {
			v.comments.at = append(v.comments.at, k.at)
		}
		if got := v.longestGap(); got != tt.want {
			t.Errorf("%v, %v: got %v, want %v", tt.ticks, tt.comments, got, tt.want)
		}
	}
}

// A comment is a line that begins with a colon, however the stream is cut into pieces.
func TestComments(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]int{
		"": 0, ": a\n\n": 1, ":\n:\n": 2, "a: b\n": 0, "data: :\n": 0, ": a: b\n": 1, "a\r: b\r\n: c\n": 2, "::\n": 1, "data: x\n\n: ping\n\n": 1,
	} {
		for _, size := range []int{1, 2, 100} {
			c := comments{clock: func() time.Duration { return 7 }}
			for rest := []byte(stream); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := c.Write(rest[:n]); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if len(c.at) != want || want > 0 && c.at[0] != 7 {
				t.Errorf("%q by %d: got %v, want %d", stream, size, c.at, want)
			}
		}
	}
}

// A stream is whole with its done event, and what came is counted: a tick that is lost, changed
// or out of order is a change on the way.
func TestReadingTicks(t *testing.T) {
	t.Parallel()
	const first, second, done = "event: tick\ndata: {\"n\":1,\"elapsed_ms\":0}\n\n", "event: tick\ndata: {\"n\":2,\"elapsed_ms\":200}\n\n", "event: done\ndata: {\"ticks\":2}\n\n"
	for name, tt := range map[string]struct {
		body, want string // the error; empty: it is whole
		ticks      int
	}{
		"whole":          {first + second + done, "", 2},
		"more behind":    {first + second + done + first, "", 2},
		"with comments":  {": a\n\n" + first + ": b\n\n" + second + done, "", 2},
		"no end":         {first + second, "EOF", 2},
		"nothing":        {"", "EOF", 0},
		"a tick too few": {first + done, `the stream was changed on its way: event "done" after 1 tick`, 1},
		"the first lost": {second, `the stream was changed on its way: event "tick" after 0 ticks`, 0},
		"one twice":      {first + first, `the stream was changed on its way: event "tick" after 1 tick`, 1},
		"another event":  {first + "event: ad\ndata: {\"n\":2}\n\n", `the stream was changed on its way: event "ad" after 1 tick`, 1},
		"no JSON":        {first + "event: tick\ndata: x\n\n", `the stream was changed on its way: event "tick" after 1 tick`, 1},
		"done at once":   {"event: done\ndata: {\"ticks\":0}\n\n", `the stream was changed on its way: event "done" after 0 ticks`, 0},
	} {
		for _, packed := range []bool{false, true} {
			resp := reply(200, "Content-Type", "text/event-stream")
			body := bytes.NewBufferString(tt.body)
			if packed {
				resp.Header.Set("Content-Encoding", "gzip")
				body = new(bytes.Buffer)
				z := gzip.NewWriter(body)
				_, _ = io.WriteString(z, tt.body)
				_ = z.Close()
			}
			resp.Body = io.NopCloser(body)
			v := &viewing{resp: resp, began: time.Now(), comments: comments{clock: func() time.Duration { return 0 }}}
			got := ""
			if err := v.readTicks(); err != nil {
				got = err.Error()
			}
			if got != tt.want || v.done != (tt.want == "") || len(v.ticks) != tt.ticks {
				t.Errorf("%s, packed %t: got %q, done %t, %d ticks, want %q, %d", name, packed, got, v.done, len(v.ticks), tt.want, tt.ticks)
			}
		}
	}
	resp := reply(200, "Content-Encoding", "br")
	resp.Body = io.NopCloser(strings.NewReader(first))
	if v := (&viewing{resp: resp}); v.readTicks() == nil || v.done {
		t.Error("what cannot be unpacked is whole")
	}
}

// Why nothing answers is said by the error that its connection had, and what to change with it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err         error
		seen, means string
	}{
		{&net.DNSError{Err: "no such host", Name: "a"}, "lookup a: no such host", "The name leads nowhere."},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.Expired}}, "tls: failed", "Clients refuse the certificate."},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "tls: failed", "Clients refuse the certificate."},
		{tls.RecordHeaderError{Msg: "no TLS"}, "tls: no TLS", "The program that listens there does not speak TLS."},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "dial", "Nobody listens there."},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "no answer within 2.0 s", "Something drops the packets"},
		{errors.New("odd"), "odd", ""},
	} {
		f := connectFinding(tt.err, 2*time.Second)
		if !strings.HasPrefix(f.Seen, tt.seen) || !strings.HasPrefix(f.Means, tt.means) || (f.Means == "") != (tt.means == "") || (len(f.Change) == 0) != (tt.means == "") || f.Verdict != Problem || f.Check != "connect" {
			t.Errorf("%v: got %+v", tt.err, f)
		}
	}
	expired := tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.Expired}}
	if f := connectFinding(&expired, 0); f.Change[0] != "Renew the certificate" {
		t.Errorf("an expired one: %+v", f)
	}
}

// Who answered in place of the gateway is known by the status, and named by its headers.
func TestStranger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		resp        *http.Response
		seen, means string
	}{
		{reply(200), "200 OK with no content type", "Something other than the gateway"},
		{reply(404, "Content-Type", "text/html", "Server", "nginx", "Via", "1.1 a"), "404 Not Found with text/html (Server: nginx, Via: 1.1 a)", "Something other than the gateway"},
		{reply(307, "Location", "https://b/"), "307 Temporary Redirect to https://b/", "A redirect loses"},
		{reply(401), "401 Unauthorized with no content type", "A proxy in between"},
		{reply(403, "CF-Ray", "1"), "403 Forbidden with no content type (CF-Ray: 1)", "A proxy in between"},
		{reply(502), "502 Bad Gateway with no content type", "A proxy answers"},
		{reply(503), "503 Service Unavailable with no content type", "A proxy answers"},
		{reply(504), "504 Gateway Timeout with no content type", "A proxy answers"},
	} {
		for where, f := range map[string]Finding{"x": strangerFinding("x", tt.resp), "stream": notAStream(tt.resp)} {
			if f.Seen != tt.seen || !strings.HasPrefix(f.Means, tt.means) || f.Verdict != Problem || f.Check != where || len(f.Change) == 0 {
				t.Errorf("%s: got %+v, want %s, %s", where, f, tt.seen, tt.means)
			}
		}
	}
	for status, means := range map[int]string{503: "The gateway refuses probes now", 403: "The gateway is not to serve", 404: "The gateway does not know", 200: "The content type was changed", 500: "Something other"} {
		if f := notAStream(reply(status, "X-Request-ID", "req_1")); !strings.HasPrefix(f.Means, means) {
			t.Errorf("%d with the gateway's own header: %+v", status, f)
		}
	}
}

// examined is an examination that asks the given transport.
func examined(ask func(*http.Request) (*http.Response, error)) *examination {
	u := &url.URL{Scheme: "http", Host: "gateway.test"}
	return &examination{cfg: Config{URL: u, Timeout: time.Minute}, client: &http.Client{Transport: transport(ask)}}
}

// transport is a function that answers requests.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// What became of the headers of a stream is listed, each by itself.
func TestHeadersOfAStream(t *testing.T) {
	t.Parallel()
	sent := []string{"Cache-Control", "no-cache, no-transform", "X-Request-ID", "req_1", "X-Accel-Buffering", "no"}
	for name, tt := range map[string]struct {
		header   []string
		comments int
		elapsed  time.Duration
		want     []string
	}{
		"as sent":         {nil, 0, time.Second, []string{"ok headers: as they were sent"}},
		"fresh":           {[]string{"Age", "0"}, 0, time.Second, []string{"ok headers: as they were sent"}},
		"no mark":         {[]string{"X-Accel-Buffering", ""}, 0, time.Second, []string{"ok headers: as they were sent, but for X-Accel-Buffering, which nginx keeps to itself"}},
		"cached":          {[]string{"Age", "1"}, 0, time.Second, []string{"problem headers: Age: 1"}},
		"packed":          {[]string{"Content-Encoding", "br"}, 0, time.Second, []string{"note headers: Content-Encoding: br"}},
		"other":           {[]string{"Cache-Control", "no-cache", "X-Request-ID", ""}, 0, time.Second, []string{`note headers: Cache-Control is "no-cache"; "no-cache, no-transform" was sent`, "note headers: X-Request-ID is missing"}},
		"comments":        {nil, 2, 9 * time.Second, []string{"note headers: 2 comments that the gateway did not send"}},
		"comments, later": {nil, 2, 10 * time.Second, []string{"ok headers: as they were sent"}},
	} {
		d := examined(nil)
		d.checkHeaders(&viewing{resp: reply(200, append(append([]string{}, sent...), tt.header...)...), elapsed: tt.elapsed, comments: comments{at: make([]time.Duration, tt.comments)}})
		if diff := cmp.Diff(tt.want, brief(d.findings...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An end of the way that speaks HTTP/1.0, or sends without chunks, hides streams that break off.
func TestHops(t *testing.T) {
	t.Parallel()
	const old, bare = "problem protocol: the gateway was asked in HTTP/1.0", "problem protocol: the stream comes without chunks"
	for name, tt := range map[string]struct {
		major, length int
		chunked       bool
		asked, want   string
	}{
		"chunks":           {1, -1, true, "HTTP/1.1", ""},
		"a length":         {1, 100, false, "HTTP/1.1", ""},
		"neither":          {1, -1, false, "HTTP/1.1", bare},
		"neither, in 2":    {2, -1, false, "HTTP/1.1", ""},
		"an old far end":   {2, -1, false, "HTTP/1.0", old},
		"an old one, both": {1, -1, false, "HTTP/1.0", old},
		"no ticks":         {1, -1, false, "", bare},
	} {
		v := &viewing{resp: reply(200)}
		v.resp.ProtoMajor, v.resp.ContentLength = tt.major, int64(tt.length)
		if !tt.chunked {
			v.resp.TransferEncoding = nil
		}
		if tt.asked != "" {
			v.ticks = []tick{{Protocol: tt.asked}}
		}
		d := examined(nil)
		d.checkHops(v)
		if got := strings.Join(brief(d.findings...), "; "); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// How a stream broke off says what did it: an end in order, none at all, or an error.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err         error
		seen, means string
	}{
		{io.EOF, "cut after 2 ticks, 1.5 s into the stream: it ended as if it were whole", "Something cuts streams and hides it"},
		{io.ErrUnexpectedEOF, "cut after 2 ticks, 1.5 s into the stream: unexpected EOF", "Something cuts or changes streams."},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "stuck after 2 ticks: nothing came for 60.0 s longer than it should", "Something holds the rest"},
	} {
		f := examined(nil).cutFinding("x", &viewing{ticks: ticksAt(0, 200), err: tt.err, elapsed: 1500 * time.Millisecond})
		if f.Seen != tt.seen || !strings.HasPrefix(f.Means, tt.means) || f.Verdict != Problem || f.Check != "x" || len(f.Change) < 3 {
			t.Errorf("%v: got %+v", tt.err, f)
		}
	}
}

// Posts are judged by who refuses them: the gateway itself is the proof that they come through.
func TestPosts(t *testing.T) {
	t.Parallel()
	const refused, origin = `{"error_type":"validation_error"}`, `{"error_type":"origin_refused"}`
	for name, tt := range map[string]struct {
		small, large string // status and body; empty: no reply
		want         []string
	}{
		"both":         {"400 " + refused, "400 " + refused, []string{"ok post: POST comes through, and so does Host", "ok large body: 100 KiB come through"}},
		"no reply":     {"", "", []string{"problem post: no reply to POST /chat/stream: broken"}},
		"a firewall":   {"403 <html>", "", []string{"problem post: POST /chat/stream is answered with 403 on the way"}},
		"another name": {"403 " + origin, "400 " + refused, []string{"problem post: the gateway refuses pages of http://gateway.test", "ok large body: 100 KiB come through"}},
		"a limit":      {"400 " + refused, "413 <html>", []string{"ok post: POST comes through, and so does Host", "problem large body: a body of 100 KiB is answered with 413 on the way"}},
		"cut":          {"400 " + refused, "", []string{"ok post: POST comes through, and so does Host", "problem large body: a body of 100 KiB: broken"}},
	} {
		d := examined(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			answer := tt.small
			if len(body) > longestBody {
				answer = tt.large
			} else if got := r.Header.Get("Origin"); got != "http://gateway.test" {
				t.Errorf("%s: Origin is %q", name, got)
			}
			if answer == "" {
				return nil, errors.New("broken")
			}
			resp := reply(0)
			_, content, _ := strings.Cut(answer, " ")
			_, _ = fmt.Sscan(answer, &resp.StatusCode)
			resp.Body = io.NopCloser(strings.NewReader(content))
			return resp, nil
		})
		d.checkPosts(t.Context())
		if diff := cmp.Diff(tt.want, brief(d.findings...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The longest query that comes through is searched by halves.
func TestLongURL(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{
		1 << 20: "ok long URL: 60,000 bytes of query come through",
		59_999:  "note long URL: 30,000 bytes of query come through, 60,000 do not (414 Request URI Too Long)",
		3_750:   "note long URL: 3,750 bytes of query come through, 7,500 do not (414 Request URI Too Long)",
		3_749:   "problem long URL: not even 3,000 bytes of query come through (414 Request URI Too Long)",
		-1:      "problem long URL: not even 3,000 bytes of query come through (broken)",
	} {
		d := examined(func(r *http.Request) (*http.Response, error) {
			if most < 0 {
				return nil, errors.New("broken")
			}
			resp := reply(200)
			if len(r.URL.Query().Get("filler")) > most {
				resp = reply(414)
			}
			resp.Body = http.NoBody
			return resp, nil
		})
		d.longURL(t.Context())
		if got := strings.Join(brief(d.findings...), "; "); got != want {
			t.Errorf("%d: got %q, want %q", most, got, want)
		}
	}
}

// Figures are written as a person reads them.
func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		formatTime(0): "0.0 ms", formatTime(1500 * time.Microsecond): "1.5 ms", formatTime(10 * time.Millisecond): "10 ms", formatTime(999 * time.Millisecond): "999 ms", formatTime(time.Second): "1.0 s", formatTime(90 * time.Second): "90.0 s",
		formatBytes(999): "999", formatBytes(1000): "1,000", formatBytes(60_007): "60,007",
		formatCount(0, "tick"): "0 ticks", formatCount(1, "tick"): "1 tick", formatCount(2, "tick"): "2 ticks", formatCount(1, "address"): "1 address", formatCount(2, "address"): "2 addresses",
		joinParts("", "a", "", "b"): "a, b", joinParts("", ""): "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s := stages{addresses: 2, resolved: time.Millisecond, reached: 3 * time.Millisecond, safe: 33 * time.Millisecond}
	s.recordConnect("10.0.0.1:1", errors.New("refused"), time.Hour)
	s.recordConnect("10.0.0.2:443", nil, 13*time.Millisecond)
	if got, want := s.String(), "DNS 1.0 ms (2 addresses), TCP 12 ms to 10.0.0.2:443, TLS 20 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&stages{reached: time.Millisecond, peer: "a:1"}).String(); got != "TCP 1.0 ms to a:1" {
		t.Errorf("without a name and TLS: %q", got)
	}
}
