package gemini

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tmaxmax/go-sse"
)

// readEvents returns the data of all events in body, and how the stream ended.
func readEvents(body io.Reader) (data []string, err error) {
	r := eventReader{}
	r.reset(body)
	for {
		b, err := r.next()
		if err != nil {
			return data, err
		}
		data = append(data, string(b))
	}
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*largeWindow)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"LF", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"no space", "data:a\n\n", []string{"a"}},
		{"two spaces", "data:  a\n\n", []string{" a"}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"a\n\nb"}},
		{"comments and fields", ": c\n\nevent: x\nid: 1\nretry: 5\ndatax: no\ndata: a\nfoo\n\n", []string{"a"}},
		{"blank lines", "\n\n\r\ndata: a\n\n\n\n", []string{"a"}},
		{"no blank line at the end", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no line end at the end", "data: a\r\n\r\ndata: b", []string{"a", "b"}},
		{"a long line", "data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		{"a long comment", ": " + long + "\ndata: b\n\n", []string{"b"}},
		{"empty data", "data:\n\n", []string{""}},
	}
	for _, tt := range tests {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, err := readEvents(r)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != io.EOF {
				t.Errorf("%s, %s (-want +got):\n%s%v", tt.name, how, diff, err)
			}
		}
	}
}

func TestEventReaderErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: half"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || err != broken {
		t.Errorf("cut (-want +got):\n%s%v", diff, err)
	}
	for name, body := range map[string]string{
		"line": "data: " + strings.Repeat("x", maxChunk+100), "lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxChunk/1000+2),
		"comment": ":" + strings.Repeat("x", maxChunk+1000) + "\n",
	} {
		if _, err := readEvents(strings.NewReader(body)); err != errTooLarge {
			t.Errorf("%s: %v, want errTooLarge", name, err)
		}
	}
	if got, err := readEvents(strings.NewReader("data: " + strings.Repeat("x", maxChunk) + "\n\n")); len(got) != 1 || err != io.EOF {
		t.Errorf("a chunk of the largest size: %d, %v", len(got), err)
	}
}

func TestBareErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		events   int
		want     string // of the error's text
	}{
		{"alone", "{\n \"error\": {\n  \"code\": 503,\n  \"status\": \"UNAVAILABLE\", \"message\": \"high demand\"}}", 0, "upstream answered 503 UNAVAILABLE: high demand"},
		{"indented", "  {\"error\":{\"code\":400}}", 0, "upstream answered 400"},
		{"behind an event", "data: {}\n\n{\"error\":{\"code\":500}}\n", 1, "upstream answered 500"},
		{"behind an open event", "data: {}\n{\"error\":{\"code\":500}}\n", 1, "upstream answered 500"},
		{"in an array", "[{\n\"error\":{\"code\":500}}\n]", 0, "upstream answered 500"},
		{"behind chunks in an array", "[{\"candidates\":[]}\n,\r\n{\"error\":{\"code\":500}}]", 0, "upstream answered 500"},
		{"the rest of an array", "data: {}\n\n,{\"error\":{\"code\":500}}]", 1, "upstream answered 500"},
		{"null", "{\"error\":null}", 0, "upstream answered 0"},
		{"no error", "{\"a\":1}", 0, errUnreadable.Error()},
		{"cut", "{\"error\":{\"code\":5", 0, errUnreadable.Error()},
		{"huge", "{\"a\":\"" + strings.Repeat("x", 1<<17) + "\",\"error\":{}}", 0, errTooLarge.Error()},
		{"many lines", "{\n" + strings.Repeat("\"a\":1,\n", 1<<17) + "\"error\":{}}", 0, errUnreadable.Error()},
	}
	for _, tt := range tests {
		got, err := readEvents(strings.NewReader(tt.in))
		if err.Error() != tt.want || len(got) != tt.events {
			t.Errorf("%s: %d events, %v, want %d, %s", tt.name, len(got), err, tt.events, tt.want)
		}
	}
}

func TestBuffered(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]bool{
		"": false, "data: b": false, "data: b\n": false, "data: b\n\n": true, "data: b\r\n\r": false, "data: b\r\n\r\n": true,
		"\ndata: b\ndata: c\n\n": true, ": ping\n\n": false, ": ping\n\ndata: b\n\n": false, "event: x\ndata: b\n\n": false,
	} {
		r := eventReader{}
		r.reset(strings.NewReader("data: a\n\n" + rest))
		r.next()
		if got := r.buffered(); got != want {
			t.Errorf("%q: %t, want %t", rest, got, want)
		}
	}
}

// FuzzEventReader compares with a reader that we did not write.
func FuzzEventReader(f *testing.F) {
	f.Add("data: a\ndata: b\n\n: c\r\nevent: x\r\ndata:y\r\n\r\ndata")
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(strings.ReplaceAll(in, "\r\n", ""), "\r") || strings.HasPrefix(in, "\ufeff") {
			return // lone CRs and a byte order mark are not for us
		}
		for line := range strings.Lines(in) {
			if isJSON([]byte(strings.TrimSpace(line))) {
				return // an extension of ours
			}
		}
		in = strings.TrimRight(in, "\r\n") + "\n\n" // the end of input is one, too
		var want []string
		for e, err := range sse.Read(strings.NewReader(in), nil) {
			if err != nil {
				return
			}
			want = append(want, e.Data)
		}
		got, err := readEvents(strings.NewReader(in))
		if err != io.EOF {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nonEmpty(want), nonEmpty(got)); diff != "" {
			t.Errorf("events of %q (-theirs +ours):\n%s", in, diff)
		}
	})
}

// nonEmpty leaves out events without data, about which readers differ.
func nonEmpty(list []string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func TestParseError(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", `{"code":503,"message":"busy","status":"UNAVAILABLE"}`, "upstream answered 503 UNAVAILABLE: busy"},
		{"reason", `{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}`, "upstream answered 400 INVALID_ARGUMENT API_KEY_INVALID"},
		{"status only", `{"status":"NOT_FOUND"}`, "upstream answered 404 NOT_FOUND"},
		{"odd types", `{"code":"x","message":{},"status":7,"details":{"a":1}}`, "upstream answered 0"},
		{"odd details", `{"code":500,"details":[1,null,{"@type":7,"reason":7}]}`, "upstream answered 500"},
		{"odd status", `{"code":500,"status":"model said: hello"}`, "upstream answered 500"},
		{"Google's key", `{"code":400,"message":"key AIzaSyA-b_c1234567890 is bad"}`, "upstream answered 400: key [redacted] is bad"},
		{"announced key", `{"code":400,"message":"Invalid API key: key1234, api_key=abcdef&x token:\"tok12345\" Bearer ya29.abc"}`,
			`upstream answered 400: Invalid API key: [redacted], api_key=[redacted] token:"[redacted]" Bearer [redacted]`},
		{"long word", `{"code":400,"message":"for 0123456789abcdefABCDEF0123456789abcdef of generate_content_free_tier_requests_x"}`, "upstream answered 400: for [redacted] of generate_content_free_tier_requests_x"},
		{"no key", `{"code":400,"message":"API key not valid. Please pass a valid API key."}`, "upstream answered 400: API key not valid. Please pass a valid API key."},
		{"long", `{"code":400,"message":"` + strings.Repeat("é ", 500) + `"}`, "upstream answered 400: " + strings.Repeat("é ", 66) + "é…"},
	}
	for _, tt := range tests {
		if got := parseError([]byte(tt.in)).Error(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	info := func(d string) string {
		return `{"code":429,"message":"Please retry in 9s.","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + d + `"}]}`
	}
	for in, want := range map[string]time.Duration{
		info("27s"): 27 * time.Second, info("34.074824224s"): 34074824224 * time.Nanosecond, info("x"): 9 * time.Second, info("-5s"): 9 * time.Second,
		info("999999h"): maxRetryDelay, `{"message":"Please retry in 48.9s."}`: 48900 * time.Millisecond,
		`{"message":"Please retry in 345.5ms."}`: 345500 * time.Microsecond, `{"message":"retry in a while"}`: 0, `{"message":"retry in s"}`: 0,
		`{"message":"retry in 99999999999999999999s"}`: 0,
	} {
		if got := parseError([]byte(in)).retryAfter; got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]time.Duration{
		"7": 7 * time.Second, "": 0, "-1": 0, "soon": 0, "99999999": maxRetryDelay, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		if got := retryAfterHeader(http.Header{"Retry-After": {in}}); got != want {
			t.Errorf("Retry-After: %s: %v, want %v", in, got, want)
		}
	}
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfterHeader(http.Header{"Retry-After": {in}}); got < 59*time.Minute || got > time.Hour {
		t.Errorf("a date in an hour: %v", got)
	}
}

func FuzzParseError(f *testing.F) {
	f.Add(`{"code":429,"message":"retry in 3s","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}`)
	f.Add(`[{"error":{"code":"x"}}]`)
	f.Fuzz(func(t *testing.T, in string) {
		findError([]byte(in))
		e := parseError([]byte(in))
		if e.retryAfter < 0 || e.retryAfter > maxRetryDelay {
			t.Errorf("retry after %v", e.retryAfter)
		}
		if len(e.Error()) > maxMessage+200 {
			t.Errorf("text of %d bytes", len(e.Error()))
		}
	})
}
